# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Module`: what is read, printed and written; `emit`; all of it against the stock tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import llvmlite.binding
import llvmlite.ir
import pytest

from passpilot.passes.emit import emit
from passpilot.passes.optimize import optimize
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.plugin.module import Module
from tests import stock

TEXT = """\
target triple = "x86_64-pc-linux-gnu"
@zero = internal constant i32 0
declare i32 @puts(ptr)
define i32 @add(i32 %a, i32 %b) {
  %s = add i32 %a, %b
  ret i32 %s
}
define i32 @main() {
  %r = call i32 @add(i32 3, i32 4)
  ret i32 %r
}
"""
BROKEN = "define i32 @f() {\n  %b = add i32 %a, 1\n  %a = add i32 1, 1\n  ret i32 %b\n}\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.ll"
    path.write_text(TEXT)
    return path


def llvmlite_module() -> llvmlite.ir.Module:
    module = llvmlite.ir.Module("built")
    number = llvmlite.ir.IntType(32)
    function = llvmlite.ir.Function(module, llvmlite.ir.FunctionType(number, [number]), "twice")
    builder = llvmlite.ir.IRBuilder(function.append_basic_block("entry"))
    builder.ret(builder.add(function.args[0], function.args[0]))
    return module


def test_reads_assembly_and_bitcode_from_paths(source: Path) -> None:
    bitcode = source.with_suffix(".bc")
    stock.run("opt", source, "-o", bitcode)
    for path in (source, str(source), bitcode, str(bitcode)):
        module = Module.read(path)
        assert module.name == str(path)
        assert module.triple == "x86_64-pc-linux-gnu"
        assert "define i32 @add(" in str(module)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_reads_assembly_and_bitcode_from_memory(source: Path, kind: type) -> None:
    for data in (source.read_bytes(), stock.run("opt", source, "-o", "-")):
        module = Module.read(kind(data))
        assert module.name == "<bytes>"
        assert "define i32 @add(" in str(module)
        assert Module.read(kind(data), name="mine").name == "mine"


def test_reads_modules_of_llvmlite() -> None:
    built = llvmlite_module()
    parsed = llvmlite.binding.parse_assembly(str(built))
    parsed.name = "parsed"
    for each, name in ((built, "built"), (parsed, "parsed")):
        module = Module.read(each)
        assert module.name == name
        optimize(module, "default<O2>")
        assert "shl i32 %" in str(module)


def test_reads_standard_input(source: Path) -> None:
    script = "import passpilot; m = passpilot.Module.read('-'); print(m.name, m.triple)"
    with source.open() as file:
        told = subprocess.check_output([sys.executable, "-c", script], stdin=file, text=True)
    assert told == "<stdin> x86_64-pc-linux-gnu\n"


@pytest.mark.parametrize("source", [3, None, 1.5, ["in.ll"]])
def test_other_sources_are_refused_by_type(source: object) -> None:
    with pytest.raises(InputError, match=f"bytes or a module of llvmlite, got {type(source).__name__}"):
        Module.read(source)


def test_unreadable_input_is_named(tmp_path: Path, source: Path) -> None:
    with pytest.raises(InputError, match=r"none\.bc: .*No such file"):
        Module.read(tmp_path / "none.bc")
    with pytest.raises(InputError, match=r"Is a directory|expected a module"):
        Module.read(tmp_path)
    with pytest.raises(InputError, match=r"<bytes>:1:1: expected LLVM IR"):
        Module.read(b"no module")
    whole = stock.run("opt", source, "-o", "-")
    for cut in (8, len(whole) // 2, len(whole) - 4):
        with pytest.raises(InputError, match="<bytes>"):
            Module.read(whole[:cut])


def test_handles_of_one_module_are_equal(source: Path) -> None:
    module, other = Module.read(source), Module.read(source)
    again = Module(module._core)
    assert module == again != other
    assert len({module, again, other}) == 2
    assert module != source
    assert repr(again) == f"<Module {str(source)!r} x86_64-pc-linux-gnu>"


def test_verify() -> None:
    with pytest.raises(
        InputError, match="expected a module that verifies, got: Instruction does not dominate"
    ):
        Module.read(BROKEN.encode())
    module = Module.read(BROKEN.encode(), name="broken", verify=False)
    with pytest.raises(InputError, match="broken: expected a module that verifies, got: Instruction"):
        module.verify()
    Module.read(TEXT.encode()).verify()


def test_overrides_of_target_and_layout(source: Path) -> None:
    module = Module.read(source, mtriple="aarch64-linux-gnu")
    assert module.triple == "aarch64-unknown-linux-gnu"
    plain = stock.run("opt", source, "-S", "-mtriple=aarch64-linux-gnu")
    assert module.assembly() == plain
    layout = "e-m:e-i64:64-n8:16:32:64"
    assert Module.read(source, data_layout=layout).data_layout == layout


def test_strip_debug(tmp_path: Path) -> None:
    bitcode = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", "-g")
    assert b"DILocation" in Module.read(bitcode).assembly()
    assert Module.read(bitcode, strip_debug=True).assembly() == stock.run(
        "opt", bitcode, "-S", "-strip-debug"
    )


def test_prints_and_writes_as_opt_does(source: Path, tmp_path: Path) -> None:
    module = Module.read(source)
    assert module.assembly() == stock.run("opt", "-S", source)
    assert str(module).encode() == module.assembly()
    assert module.bitcode() == stock.run("opt", source, "-o", "-")
    module.write(tmp_path / "out.ll")
    module.write(str(tmp_path / "out.bc"))
    assert (tmp_path / "out.ll").read_bytes() == module.assembly()
    assert (tmp_path / "out.bc").read_bytes() == module.bitcode()


def test_only_the_end_of_a_name_chooses_assembly(source: Path, tmp_path: Path) -> None:
    module = Module.read(source)
    for name in ("out.ll.bc", "out", "ll"):
        module.write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == module.bitcode()


def test_names_of_values_and_modules_may_be_absent() -> None:
    bitcode = Module.read(TEXT.encode()).bitcode()
    assert "@add(i32 %0, i32 %1)" in str(Module.read(bitcode, discard_value_names=True))
    assert "@add(i32 %a, i32 %b)" in str(Module.read(bitcode))
    assert Module.read(llvmlite.ir.Module()).name == "<llvmlite>"


def test_writes_whole_or_not_at_all(source: Path, tmp_path: Path) -> None:
    module = Module.read(source)
    module.write(source)  # what it was read from
    assert source.read_bytes() == module.assembly()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match=r"nowhere/out\.bc: expected a file to write, got: No such file"):
        module.write(tmp_path / "nowhere" / "out.bc")
    with pytest.raises(InputError, match="No space left"):
        module.write("/dev/full")
    assert sorted(tmp_path.iterdir()) == before


def test_emitted_object_runs(source: Path, tmp_path: Path) -> None:
    module = Module.read(source)
    optimize(module, "default<O2>")
    (tmp_path / "out.o").write_bytes(emit(module, relocation_model="pic"))
    stock.run("clang", tmp_path / "out.o", "-o", tmp_path / "out")
    assert subprocess.run([tmp_path / "out"], check=False).returncode == 7


@pytest.mark.parametrize("filetype", ["obj", "asm"])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
@pytest.mark.parametrize("model", ["", "pic"])
def test_emits_what_llc_emits(source: Path, filetype: str, level: int, model: str) -> None:
    flags = [f"-relocation-model={model}"] if model else []
    expected = stock.run("llc", f"-O{level}", f"-filetype={filetype}", *flags, source, "-o", "-")
    module = Module.read(source)
    emitted = emit(module, filetype, opt_level=level, relocation_model=model)  # type: ignore[arg-type]
    assert emitted == expected


def test_target_of_the_flags(tmp_path: Path) -> None:
    bitcode = tmp_path / "in.ll"
    bitcode.write_text(
        'target triple = "x86_64-pc-linux-gnu"\n'
        "define <8 x float> @f(<8 x float> %a, <8 x float> %b) {\n"
        "  %s = fadd <8 x float> %a, %b\n  ret <8 x float> %s\n}\n"
    )
    for flags, keywords in (
        (["-mcpu=znver4"], {"mcpu": "znver4"}),
        (["-mattr=+avx2"], {"mattr": "+avx2"}),
    ):
        module = Module.read(bitcode)
        optimize(module, "default<O2>", **keywords)  # type: ignore[arg-type]
        assert module.assembly() == stock.run("opt", "-S", "-passes=default<O2>", *flags, bitcode)
        assert b'"target-' in module.assembly()
        code = emit(Module.read(bitcode), "asm", **keywords)  # type: ignore[arg-type]
        assert code == stock.run("llc", "-O2", *flags, bitcode, "-o", "-")
        assert b"vaddps" in code


def test_target_of_the_module() -> None:
    text = TEXT.replace("@add(i32 %a, i32 %b) {", '@add(i32 %a, i32 %b) "target-cpu"="znver4" {')
    assert text != TEXT
    module = Module.read(text.encode())
    optimize(module, "default<O2>")
    assert '"target-cpu"="znver4"' in str(module)


def test_code_needs_a_known_target(source: Path) -> None:
    text = TEXT.replace("x86_64-pc-linux-gnu", "nonsense-none-none")
    module = Module.read(text.encode())
    with pytest.raises(InputError, match="expected a target triple that LLVM knows, got 'nonsense"):
        emit(module)
    with pytest.raises(InputError, match="'obj' or 'asm' or 'null', got 'elf'"):
        emit(Module.read(source), "elf")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected 0 to 3, got 9"):
        emit(Module.read(source), opt_level=9)
    with pytest.raises(InputError, match=r"relocation model: .*got 'elsewhere'"):
        emit(Module.read(source), relocation_model="elsewhere")


def test_a_target_that_optimize_does_not_know() -> None:
    text = TEXT.replace("x86_64-pc-linux-gnu", "nonsense-none-none")
    with pytest.raises((InputError, PasspilotWarning), match="nonsense"):
        optimize(Module.read(text.encode()), "default<O1>")
