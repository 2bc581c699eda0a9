# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of llvmlite: optimized and compiled by LLVM 22 with advisors, run by llvmlite's JIT compilers."""

from __future__ import annotations

import ast
import ctypes
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from llvmlite import binding, ir

import passpilot
from passpilot.passes.llvmlite import module as module_source
from passpilot.plugin.errors import InputError, PolicyError
from passpilot.plugin.module import Module
from tests.command import GENEROUS
from tests.corpus.programs import programs

binding.initialize_native_target()
binding.initialize_native_asmprinter()
TRIPLE = binding.get_process_triple()
LAYOUT = str(binding.Target.from_triple(TRIPLE).create_target_machine().target_data)
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)


def built(name: str = "built") -> ir.Module:
    """f(x) = square(x) + 1."""
    module = ir.Module(name)
    module.triple, module.data_layout = TRIPLE, LAYOUT
    number = ir.IntType(64)
    square, f = (ir.Function(module, ir.FunctionType(number, [number]), each) for each in ("square", "f"))
    square.linkage = "internal"
    build = ir.IRBuilder(square.append_basic_block())
    build.ret(build.mul(square.args[0], square.args[0]))
    build = ir.IRBuilder(f.append_basic_block())
    build.ret(build.add(build.call(square, f.args), number(1)))
    return module


def parsed() -> binding.ModuleRef:
    """The same, as llvmlite's LLVM has it, in a context of its own."""
    module = binding.parse_assembly(str(built()), binding.create_context())
    module.name = "built"
    return module


def run_by_mcjit(code: bytes, argument: int) -> int:
    machine = binding.Target.from_triple(TRIPLE).create_target_machine()
    with binding.create_mcjit_compiler(binding.parse_assembly(""), machine) as engine:
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        return int(FUNCTION(engine.get_function_address("f"))(argument))


def run_by_orc(code: bytes, argument: int) -> int:
    jit = binding.create_lljit_compiler()
    library = binding.JITLibraryBuilder().add_object_img(code).export_symbol("f").link(jit, "made")
    return int(FUNCTION(library["f"])(argument))


@pytest.mark.parametrize("make", [built, parsed])
@pytest.mark.parametrize("inline", [True, False])
def test_a_policy_decides(make: Callable[[], ir.Module | binding.ModuleRef], *, inline: bool) -> None:
    asked = []

    def decide(obs: Any) -> bool:
        asked.append(obs.site.callee.name)
        return inline

    module = make()
    before = str(module)
    made = passpilot.llvmlite.optimize(module, "default<O2>", [passpilot.InlineAdvisor(decide)])
    assert asked == ["square"]
    assert isinstance(made, binding.ModuleRef)
    assert ("call" in str(made.get_function("f"))) != inline
    assert (made.name, made.triple, made.data_layout) == ("built", TRIPLE, LAYOUT)
    assert str(module) == before, "left as it is"


def test_the_result_stays_in_the_context_of_the_argument() -> None:
    """Modules of two contexts cannot be linked: llvmlite would crash."""
    module = parsed()
    made = passpilot.llvmlite.optimize(module)
    other = binding.parse_assembly("define i64 @other() {\n  ret i64 3\n}", module._context)
    made.link_in(other)
    made.verify()
    assert {each.name for each in made.functions} >= {"f", "other"}


def test_a_module_without_a_triple_keeps_none() -> None:
    module = ir.Module("bare")
    made = passpilot.llvmlite.optimize(module)
    assert (made.triple, made.data_layout) == ("unknown-unknown-unknown", "")


def test_a_pass_in_python_runs() -> None:
    seen: list[str] = []

    class Collect:
        def run(self, module: Module) -> bool:
            seen.extend(each.name for each in module.functions)
            return False

    passpilot.llvm.module_pass("collect-for-llvmlite")(dataclass(frozen=True)(Collect))
    try:
        passpilot.llvmlite.optimize(built(), "collect-for-llvmlite", at={})
    finally:
        passpilot.llvm.unregister("collect-for-llvmlite")
    assert seen == ["square", "f"]


@pytest.mark.parametrize("run", [run_by_mcjit, run_by_orc])
def test_an_object_with_advice_on_its_registers_runs(run: Callable[[bytes, int], int]) -> None:
    asked = []

    def decide(obs: passpilot.Observation) -> float:
        asked.append(obs.default())
        return float(len(asked))

    module = passpilot.llvmlite.optimize(built())
    before = str(module)
    with passpilot.PriorityAdvisor(decide) as advisor:
        code = passpilot.llvmlite.emit(module, advisors=[advisor])
    assert asked
    assert run(code, 7) == 50
    assert str(module) == before, "left as it is"


def test_a_module_without_a_triple_is_compiled_for_the_host() -> None:
    module = built()
    module.triple, module.data_layout = "unknown-unknown-unknown", ""
    assert run_by_orc(passpilot.llvmlite.emit(module), 3) == 10
    assert b"square" in passpilot.llvmlite.emit(module, "asm", opt_level=0)


@pytest.mark.parametrize(("mcpu", "mattr"), [("haswell", ""), ("", "+bmi2")])
def test_the_processor_chooses_the_instructions(mcpu: str, mattr: str) -> None:
    module = binding.parse_assembly("define i64 @f(i64 %x, i64 %n) {\n%y = shl i64 %x, %n\nret i64 %y\n}")
    module.triple = "x86_64-pc-linux-gnu"
    assert b"shlx" not in passpilot.llvmlite.emit(module, "asm")
    assert b"shlx" in passpilot.llvmlite.emit(module, "asm", mcpu=mcpu, mattr=mattr)


@pytest.mark.parametrize("function", ["optimize", "emit"])
def test_the_keywords_are_those_of_passpilot(function: str) -> None:
    """A keyword that comes to one comes to the other, for type checkers, too."""
    inner = inspect.signature(getattr(passpilot, function)).parameters.values()
    wanted = {each.name for each in inner if each.kind is each.KEYWORD_ONLY}
    tree = ast.parse(Path(module_source.__file__).read_text())
    kinds = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    declared = {
        field.target.id
        for kind in ("SharedKeywords", f"{function.capitalize()}Keywords")
        for field in kinds[kind].body
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
    }
    own = inspect.signature(getattr(passpilot.llvmlite, function)).parameters
    assert declared | (own.keys() & wanted) == wanted
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        getattr(passpilot.llvmlite, function)(built(), nonsense=1)


def test_every_keyword_counts(tmp_path: Path) -> None:
    def text(**keywords: Any) -> str:
        return str(passpilot.llvmlite.optimize(built(), "default<O1>", **keywords))

    assert '"target-cpu"' not in text()
    assert '"target-cpu"="haswell"' in text(mcpu="haswell")
    assert '"target-features"="+avx2"' in text(mattr="+avx2")
    assert "optsize" in text(options=passpilot.PipelineOptions(functions={"f": ["optsize"]}))
    text(remarks=passpilot.Remarks(str(tmp_path / "remarks.yaml")))
    assert "Inlined" in (tmp_path / "remarks.yaml").read_text()
    wrong: dict[str, dict[str, Any]] = {
        "expected a point among": {"at": {"nowhere": "sroa"}},
        "nowhere.decisions": {"decisions": "nowhere.decisions"},
        "no-such-policy": {"policy": "@no-such-policy"},
        "a deadline has no effect without isolated=True": {"deadline": 3.0},
        "expected a deadline of more than 0 seconds": {"isolated": True, "deadline": 0.0},
    }
    for told, keywords in wrong.items():
        with pytest.raises(passpilot.errors.Error, match=told):
            text(**keywords)


def test_every_keyword_of_emit_counts() -> None:
    text = "@g = internal global i64 3\ndefine ptr @f(i64 %x) {\n  %p = alloca i64\n  store i64 %x, ptr %p\n"
    module = binding.parse_assembly(f"{text}  %y = mul i64 %x, 5\n  store i64 %y, ptr @g\n  ret ptr @g\n}}")
    module.triple = "x86_64-pc-linux-gnu"

    def code(**keywords: Any) -> bytes:
        return passpilot.llvmlite.emit(module, "asm", **keywords)

    assert b"g(%rip)" in code()
    assert b"$g, %eax" in code(relocation_model="static")
    assert code(opt_level=0) != code() == code(opt_level=2)
    assert code(isolated=True, deadline=GENEROUS) == code()
    with pytest.raises(InputError, match="a deadline has no effect without isolated=True"):
        code(deadline=3.0)
    with pytest.raises(InputError, match="expected a deadline of more than 0 seconds"):
        code(isolated=True, deadline=0.0)


def test_what_is_no_module_of_llvmlite() -> None:
    with pytest.raises(InputError, match=r"llvmlite.optimize: expected an llvmlite.ir.Module .*, got bytes"):
        passpilot.llvmlite.optimize(b"BC")
    with pytest.raises(InputError, match=r"llvmlite.emit: expected .*, got Module"):
        passpilot.llvmlite.emit(Module.read(str(built()).encode()))
    module = parsed()
    module.close()
    with pytest.raises(InputError, match="the module has been closed"):
        passpilot.llvmlite.optimize(module)


def test_broken_modules() -> None:
    module = built()
    function = ir.Function(module, ir.FunctionType(ir.IntType(64), []), "broken")
    function.append_basic_block("entry")
    with pytest.raises(InputError, match="expected instruction opcode") as caught:
        passpilot.llvmlite.optimize(module)
    assert "\n" not in str(caught.value)
    text = "define i64 @f() {\n  %x = add i64 %y, 1\n  %y = add i64 1, 1\n  ret i64 %x\n}"
    with pytest.raises(InputError, match="Instruction does not dominate all uses"):
        passpilot.llvmlite.optimize(binding.parse_assembly(text))


def test_a_triple_that_llvm_does_not_know() -> None:
    module = built()
    module.triple = "frob-nix-what"
    for call in (passpilot.llvmlite.optimize, passpilot.llvmlite.emit):
        with pytest.raises(InputError, match="frob"):
            call(module)


def test_advisors_of_other_points() -> None:
    with pytest.raises(InputError, match="got evict; give it to emit"):
        passpilot.llvmlite.optimize(built(), advisors=[passpilot.EvictAdvisor("const:32")])
    with pytest.raises(InputError, match="got inline; give it to optimize"):
        passpilot.llvmlite.emit(built(), advisors=[passpilot.InlineAdvisor("const:1")])


def test_an_error_of_a_policy() -> None:
    def decide(obs: Any) -> bool:
        raise ValueError(f"no idea of {obs.site.callee.name}")

    with pytest.raises(PolicyError, match="ValueError: no idea of square"):
        passpilot.llvmlite.optimize(built(), advisors=[passpilot.InlineAdvisor(decide)])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("define i64 @f(i64 %x) {\n  retire i64 %x\n}", "expected instruction opcode in retire i64 %x"),
        ("define void @f() {\n  call void @llvm.no.such()\n  ret void\n}", "llvm.no.such' in call void"),
        ("define i64 @f() {\n  %x = add i64 %x, 1\n  ret i64 %x\n}", "Only PHI nodes may .* in %x = add"),
    ],
    ids=["instruction", "intrinsic", "verifier"],
)
def test_what_llvmlite_cannot_read_is_named(monkeypatch: pytest.MonkeyPatch, text: str, told: str) -> None:
    """As of an older llvmlite; `test_llvmlite_older.py` has a real one."""
    monkeypatch.setattr(binding, "llvm_version_info", (20, 1, 8))
    monkeypatch.setattr("passpilot.passes.llvmlite.downgrade.older", lambda _: text)
    expected = r"llvmlite.optimize at built: expected IR that llvmlite's LLVM 20.1.8 reads, got: .*"
    with pytest.raises(InputError, match=rf"^{expected}{told}.*; take a llvmlite of LLVM 22 \(.*\)$"):
        passpilot.llvmlite.optimize(built())


def test_a_llvmlite_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binding, "llvm_version_info", (15, 0, 7))
    with pytest.raises(InputError, match="LLVM 20 or newer, got one of LLVM 15; run: pip install"):
        passpilot.llvmlite.optimize(built())


def test_two_llvms_in_one_process() -> None:
    """passpilot's and llvmlite's, on several threads at once."""

    def both(number: int) -> int:
        module = built(f"built{number}")
        made = passpilot.llvmlite.optimize(module, "default<O3>", [passpilot.InlineAdvisor("const:1")])
        return run_by_orc(passpilot.llvmlite.emit(made), number)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(both, range(32))) == [number**2 + 1 for number in range(32)]


SMALL = ("libsvm",)


@pytest.mark.skipif(binding.llvm_version_info[0] < 22, reason="test_llvmlite_older.py has it")
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each in SMALL else pytest.mark.soak) for each in sorted(programs())],
)
def test_real_programs_cross_over(corpus: Callable[[str, str], Path], name: str) -> None:
    """What llvmlite has in the end is what passpilot has made, but for types that are named anew."""
    theirs = binding.parse_bitcode(corpus(name, "O2").read_bytes(), binding.create_context())
    theirs.name = name
    mine = Module.read(theirs)
    passpilot.optimize(mine, "default<O2>")
    made = passpilot.llvmlite.optimize(theirs)
    made.verify()
    assert renamed(str(made)) == renamed(str(mine.copy()))


def renamed(text: str) -> str:
    """The text without what a context or a reader numbers and orders: names of types, and comments."""
    plain = re.sub(r" *; preds = .*", "", text)
    plain = re.sub(r'(%"(?:struct|union|class)\.[^"]*?)(?:\.\d+)+"', r'\1"', plain)
    return re.sub(r"(%(?:struct|union|class)\.[\w.$-]*?)(?:\.\d+)+(?![\w.$-])", r"\1", plain)


def test_the_guide_prints_what_it_says() -> None:
    text = (Path(__file__).parents[3] / "docs" / "llvmlite.md").read_text()
    pieces = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(pieces) == 3
    command = [sys.executable, "-W", "error", "-c", "\n".join(pieces)]
    printed = subprocess.check_output(command, text=True, timeout=GENEROUS).splitlines()
    assert printed[:5] == [*["box calls area"] * 3, "11.0", "26.0"]
    assert "         1 accepted" in printed
