# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python that fail: what is told, what stops, and what can be done with the module then."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes.emit import emit
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin.compile import PipelineOptions
from passpilot.plugin.errors import CompilationError, InputError, PassError
from passpilot.plugin.ir import Function, IRBuilder
from passpilot.plugin.module import Module
from tests.command import PASSPILOT, files_in, passpilot, program, started
from tests.passes.python.passes import LOOPS, cold, define, loops, recorder
from tests.plugin.test_process_end import check, interrupt, long_program, stream
from tests.stock import MANY_CALLS, clang

EMPTY: Final[dict[str, bool]] = {}
EACH: Final = PipelineOptions(verify_each=True)

pytestmark = pytest.mark.usefixtures("restored_registries")


@pytest.mark.parametrize("answer", [None, 0, 1, "yes", [True]])
def test_other_answers_are_refused(answer: object) -> None:
    name = define("function", lambda _: answer)
    shown = "None" if answer is None else type(answer).__name__
    with pytest.raises(PassError) as caught:
        optimize(loops(), name)
    told = "expected True, False or PreservedAnalyses of run()"
    assert str(caught.value).startswith(f"pass {name} at function leaf: {told}, got {shown}; return")


class OddError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


@pytest.mark.parametrize(
    ("level", "unit"),
    [
        ("module", f"module {LOOPS}"),
        ("cgscc", "SCC (leaf)"),
        ("function", "function leaf"),
        ("loop", "loop loop in function sum"),
    ],
)
def test_what_a_pass_raises_ends_the_compilation(level: str, unit: str) -> None:
    seen: list[str] = []

    def run(_: object) -> bool:
        return EMPTY["key"]

    name = define(level, run)
    after = define("module", recorder(seen), "test-after")
    line = run.__code__.co_firstlineno + 1
    with pytest.raises(PassError) as caught:
        optimize(loops(), f"{name},{after}" if level == "module" else f"module({name},{after})")
    assert str(caught.value) == f"pass {name} at {unit}: KeyError: 'key' ({__file__}:{line})"
    assert isinstance(caught.value.__cause__, KeyError)
    assert seen == []


def test_an_exception_without_text() -> None:
    def run(_: object) -> bool:
        raise OddError

    with pytest.raises(PassError, match=r"OddError: .its text cannot be read: RuntimeError"):
        optimize(loops(), define("function", run))


def test_errors_of_ours_keep_their_class() -> None:
    def run(_: object) -> bool:
        raise InputError("model: expected a file, got none")

    with pytest.raises(
        InputError, match=r"^pass test-function at function leaf: InputError: model: expected"
    ):
        optimize(loops(), define("function", run))


def test_ctrl_c_passes_through() -> None:
    def run(_: object) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimize(loops(), define("function", run))


def test_an_exit_is_an_error_with_its_place() -> None:
    def run(_: object) -> bool:
        raise SystemExit

    with pytest.raises(PassError, match=r"SystemExit \(.*test_failures\.py:\d+\)"):
        optimize(loops(), define("function", run))


def test_after_a_failure_the_module_can_be_compiled_again() -> None:
    def run(function: Function) -> bool:
        cold(function)
        raise ValueError("late")

    module = loops()
    with pytest.raises(PassError, match="late"):
        optimize(module, f"cgscc({define('cgscc', lambda fs: run(fs[0]))})")
    optimize(module, "default<O2>")
    assert "cold" in str(module)


def test_a_failure_in_the_middle_of_the_inliners_walk(tmp_path: Path) -> None:
    source = clang(MANY_CALLS, tmp_path / "in.bc")
    calls = 0

    def run(function: Function) -> bool:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise ValueError("fifth")
        return cold(function)

    module = Module.read(source)
    with pytest.raises(PassError, match="fifth"):
        optimize(module, "default<O2>", at={"scalar-optimizer-late": define("function", run)})
    module.verify()
    assert calls == 5


def test_two_threads_fail_apart() -> None:
    barrier = threading.Barrier(2, timeout=60)
    told: dict[str, str] = {}

    def run(name: str, function: Function) -> bool:
        if function.name == "sum":
            raise ValueError(name)
        barrier.wait()
        return False

    def compile_with(names: list[str]) -> None:
        for name in names:
            with pytest.raises(PassError) as caught:
                optimize(loops(), name)
            told[name] = str(caught.value)

    names = [f"test-{i}" for i in range(16)]
    for name in names:
        define("function", partial(run, name), name)
    threads = [threading.Thread(target=compile_with, args=(names[i::2],)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(told) == sorted(names)
    for name, text in told.items():
        assert text.startswith(f"pass {name} at function sum: ValueError: {name} ({__file__}:")


BROKEN = """
define i32 @fine(i32 %x) {
  ret i32 %x
}
define i32 @bad(i32 %x) {
  %b = add i32 %a, 2
  %a = add i32 %x, 1
  ret i32 %b
}
"""
"""The view lets no pass write this; the verifier is for what it does not foresee."""


def broken() -> Module:
    return Module.read(BROKEN.encode(), name="in.ll", verify=False)


@pytest.mark.parametrize("level", ["module", "cgscc", "function"])
def test_the_verifier_names_pass_and_function(level: str) -> None:
    module = broken()
    name = define(level, lambda _: True)
    with pytest.raises(PassError) as caught:
        optimize(module, name)
    told = str(caught.value)
    assert told.startswith(f"pass {name} at ")
    assert "expected valid IR after it, got in function bad: " in told
    assert "does not dominate" in told
    uses: list[Callable[[], object]] = [
        module.bitcode,
        lambda: optimize(module, "sroa"),
        lambda: emit(module),
    ]
    for use in uses:
        with pytest.raises(InputError, match=f"expected valid IR, got what the pass {name} left"):
            use()


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("level", ["module", "cgscc", "function"])
def test_verify_each_names_pass_and_unit(level: str, answer: bool, verify: bool) -> None:
    """LLVM's own ends the process."""
    module = broken()
    name = define(level, lambda _: answer)
    told = rf"^pass {name} at .*expected valid IR after it, got in function bad: "
    with pytest.raises(PassError, match=told):
        optimize(module, f"{name},instcombine", verify=verify, options=EACH)
    with pytest.raises(InputError, match=f"expected valid IR, got what the pass {name} left"):
        module.bitcode()


@pytest.mark.parametrize("level", ["cgscc", "function"])
def test_what_is_left_of_a_refused_call_is_not_used(level: str) -> None:
    """The call is there, but calls poison: LLVM's walk over the call graph cannot have the function in it."""
    module = Module.read(b"define void @a() {\n  ret void\n}\ndefine void @b() {\n  ret void\n}\n")

    def call(unit: Function | tuple[Function, ...]) -> bool:
        function = unit if isinstance(unit, Function) else unit[0]
        block, callee = function.entry_block, module.function("b")
        assert block
        assert callee
        IRBuilder(block.terminator).call(callee, [])
        return True

    name = define(level, call)
    with pytest.raises(PassError, match=r"outside those that a reaches .*, got one of b; run the pass out"):
        optimize(module, f"cgscc({name})" if level == "cgscc" else f"cgscc(function({name}))")
    with pytest.raises(InputError, match=f"expected valid IR, got what the pass {name} left"):
        module.bitcode()


def test_verify_each_names_a_pass_of_llvms() -> None:
    told = "^pass simplifycfg at function bad: expected valid IR after it, got in function bad: "
    with pytest.raises(CompilationError, match=told):
        optimize(broken(), "function(simplifycfg)", verify=False, options=EACH)
    with pytest.raises(PassError, match=told):
        optimize(broken(), f"function(simplifycfg,{define('function', cold)})", verify=False, options=EACH)


def test_verify_each_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(BROKEN)
    flags = ("-disable-verify", "-verify-each", "-passes=simplifycfg", "-o", "out.bc")
    done = passpilot("opt", "in.ll", *flags, cwd=tmp_path)
    assert done.code == 1
    assert done.err.startswith("passpilot: error: pass simplifycfg at function bad: expected valid IR after")
    assert files_in(tmp_path) == ["in.ll"]


def test_the_verifier_looks_only_at_changes() -> None:
    module = broken()
    with pytest.raises(CompilationError, match="expected a module that verifies"):
        optimize(module, define("function", lambda _: False))


def test_the_verifier_can_be_told_not_to() -> None:
    module = broken()
    optimize(module, define("function", lambda _: True), verify=False)
    with pytest.raises(InputError, match="does not dominate"):
        module.verify()


def test_a_failure_leaves_nothing_behind() -> None:
    class Word(str):
        __slots__ = ("__weakref__",)

    def run(_: object) -> bool:
        kept.append(weakref.ref(word := Word("gone")))
        raise ValueError(word)

    kept: list[weakref.ref[Word]] = []
    with pytest.raises(PassError, match="gone"):
        optimize(loops(), define("function", run))
    gc.collect()
    assert kept[0]() is None


def test_a_failure_beside_an_advisor(tmp_path: Path) -> None:
    source = clang(MANY_CALLS, tmp_path / "in.bc")
    log = tmp_path / "decisions.log"

    def run(_: object) -> bool:
        raise ValueError("stop")

    at = {"scalar-optimizer-late": define("function", run)}
    with pytest.raises(PassError, match="ValueError: stop"):
        optimize(Module.read(source), "default<O2>", [InlineAdvisor("const:1", log=str(log))], at=at)
    assert not log.exists()


WORKING: Final = """\
import sys
from dataclasses import dataclass
import passpilot

@passpilot.llvm.module_pass("mine")
@dataclass(frozen=True)
class Mine:
    def run(self, module):
        print("at work", file=sys.stderr, flush=True)
        {}
"""


def check_interrupted(folder: Path, text: str, work: str, *flags: str) -> None:
    """Ctrl-C ends the compilation of the text by a pass that is at this work."""
    (folder / "in.ll").write_text(text)
    (folder / "mine.py").write_text(WORKING.format(work))
    command = ("opt", "in.ll", "--load=mine.py", "-passes=mine", *flags, "-o", "out.bc")
    with started(PASSPILOT, *command, cwd=folder) as child:
        assert stream(child.stderr).readline() == b"at work\n"
        check(folder, interrupt(child), ["in.ll", "mine.py"])


@pytest.mark.parametrize("verify", [(), ("-disable-verify",)])
def test_a_long_pipeline_inside_a_pass_is_interrupted(tmp_path: Path, verify: tuple[str, ...]) -> None:
    flags = ("-print-after=callsite-splitting", *verify)
    check_interrupted(tmp_path, long_program(2000), 'return module.run("default<O3>")', *flags)


def test_an_endless_pass_is_interrupted(tmp_path: Path) -> None:
    check_interrupted(tmp_path, program(), "while True: pass")
