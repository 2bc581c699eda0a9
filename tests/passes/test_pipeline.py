# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python inside LLVM's pipelines: where they run, what they get, what their answers do."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from passpilot.passes import llvm, pipeline, registry
from passpilot.plugin import _core
from passpilot.plugin.errors import CompilationError, InputError, PassError, PasspilotWarning, PipelineError
from passpilot.plugin.ir import Function, IRBuilder, Loop
from passpilot.plugin.module import Module, emit, optimize
from tests.stock import MANY_CALLS, clang, opt

HERE = Path(__file__).name
LOOPS = Path(__file__).parents[2] / "lit_tests" / "passes" / "Inputs" / "loops.ll"
LEVELS = ("module", "cgscc", "function", "loop")

EMPTY: Final[dict[str, bool]] = {}

Run = Callable[..., object]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    before = dict(registry._PASSES)
    yield
    registry._PASSES.clear()
    registry._PASSES.update(before)


def define(level: str, run: Run, name: str = "") -> str:
    """Register a pass that calls `run`; its name."""

    @dataclass(frozen=True)
    class Made:
        limit: int = 3

        def run(self, unit: object) -> object:
            return run(unit)

    name = name or f"test-{level}"
    getattr(llvm, f"{level}_pass")(name)(Made)
    return name


def label(unit: object) -> str:
    if isinstance(unit, tuple):
        return "+".join(sorted(each.name for each in unit))
    if isinstance(unit, Loop):
        return f"{unit.header.name}"
    return unit.name if isinstance(unit, Function) else "module"


def recorder(seen: list[str]) -> Run:
    def run(unit: object) -> bool:
        seen.append(label(unit))
        return False

    return run


def loops() -> Module:
    return Module.read(LOOPS)


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("module", ["module"]),
        ("cgscc", ["leaf", "sum", "kept"]),
        ("function", ["leaf", "sum"]),
        ("loop", ["loop"]),
    ],
)
def test_each_level_gets_its_units(level: str, expected: list[str]) -> None:
    seen: list[str] = []
    optimize(loops(), define(level, recorder(seen)))
    assert [each for each in seen if each != "kept" or level == "cgscc"] == expected


@pytest.mark.parametrize(("point", "level"), _core.extension_points())
def test_extension_points_take_passes_of_their_level_and_below(point: str, level: str) -> None:
    text = "lto<O2>" if "link-time" in point else "default<O2>"
    for below in LEVELS[LEVELS.index(level) :]:
        seen: list[str] = []
        name = define(below, recorder(seen), f"test-{below}")
        if level in ("cgscc", "function") and below == "loop":
            name = f"loop({name})" if level == "function" else f"function(loop({name}))"
        if level == "cgscc" and below == "function":
            name = f"function({name})"
        optimize(loops(), text, at={point: name})
        assert seen, (point, below)
        llvm.unregister(f"test-{below}")


def test_a_pipeline_at_its_own_point_is_not_endless() -> None:
    seen: list[str] = []
    name = define("module", recorder(seen))
    optimize(loops(), "default<O1>", at={"pipeline-start": f"{name},default<O1>"})
    assert seen == ["module"]


def test_a_point_that_is_not_reached_is_told() -> None:
    with pytest.warns(PasspilotWarning, match="--at vectorizer-start: the pipeline sroa has no such point"):
        optimize(loops(), "sroa", at={"vectorizer-start": "instcombine"})
    with pytest.raises(InputError, match="--at nowhere: expected a point among pipeline-start, "):
        optimize(loops(), "sroa", at={"nowhere": "sroa"})


def test_native_passes_at_a_point() -> None:
    ours, theirs = loops(), loops()
    optimize(ours, "default<O0>", at={"optimizer-last": "globaldce,function(instcombine)"})
    optimize(theirs, "default<O0>")
    optimize(theirs, "globaldce,function(instcombine)")
    assert "attributes" in str(ours)
    assert ours.bitcode() == theirs.bitcode()


def test_passes_that_read_leave_the_bytes_alone(tmp_path: Path) -> None:
    source = clang(MANY_CALLS, tmp_path / "in.bc")
    seen: list[str] = []
    at = {
        "pipeline-start": define("module", recorder(seen)),
        "cgscc-optimizer-late": define("cgscc", recorder(seen)),
        "scalar-optimizer-late": define("function", recorder(seen)),
        "loop-optimizer-end": define("loop", recorder(seen)),
        "vectorizer-end": "test-function",
        "peephole": "test-function",
        "optimizer-last": "test-module,test-cgscc,test-function",
    }
    for level in ("default<O2>", "default<Oz>", "default<O3>"):
        module = Module.read(source)
        optimize(module, level, at=at)
        assert module.bitcode() == opt(source, level)[0]
    assert len(seen) > 100


def cold(function: Function) -> bool:
    function.add_attribute("cold")
    return True


@pytest.mark.parametrize("answer", ["True", "False", "all", "none", "cfg"])
def test_what_a_pass_changes_stays(answer: str) -> None:
    def run(function: Function) -> object:
        cold(function)
        preserved = getattr(llvm.PreservedAnalyses, answer, None)
        return preserved() if preserved else answer == "True"

    module = loops()
    optimize(module, define("function", run))
    assert str(module).count("; Function Attrs: cold") == 2


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


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_the_end_of_the_program_passes_through(kind: type[BaseException]) -> None:
    def run(_: object) -> bool:
        raise kind

    with pytest.raises(kind):
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


def test_a_pass_may_compile_another_module() -> None:
    seen: list[str] = []
    inner = define("function", recorder(seen), "test-inner")

    def run(module: Module) -> bool:
        other = module.copy()
        optimize(other, inner)
        with pytest.raises(InputError, match="expected it to be free, got one that is being compiled"):
            optimize(module, inner)
        return False

    optimize(loops(), define("module", run))
    assert seen == ["leaf", "sum"]


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


def test_the_verifier_looks_only_at_changes() -> None:
    module = broken()
    with pytest.raises(CompilationError, match="expected a module that verifies"):
        optimize(module, define("function", lambda _: False))


def test_the_verifier_can_be_told_not_to() -> None:
    module = broken()
    optimize(module, define("function", lambda _: True), verify=False)
    with pytest.raises(InputError, match="does not dominate"):
        module.verify()


def calling(module_of: Module, caller: Function, name: str) -> None:
    callee = module_of.function(name)
    assert callee is not None
    first = caller.instructions[0]
    IRBuilder(first).call(callee, list(caller.arguments)[: len(callee.arguments)])


CALLS = """
declare void @hook(i32)
define i32 @low(i32 %x) {
  ret i32 %x
}
define i32 @middle(i32 %x) {
  %y = call i32 @low(i32 %x)
  ret i32 %y
}
define i32 @high(i32 %x) {
  %y = call i32 @middle(i32 %x)
  ret i32 %y
}
"""


@pytest.mark.parametrize("text", ["cgscc({})", "cgscc(function({}))", "function({})"])
@pytest.mark.parametrize(("caller", "callee"), [("middle", "hook"), ("high", "low")])
def test_new_calls_within_the_walk(text: str, caller: str, callee: str) -> None:
    module = Module.read(CALLS.encode(), name="in.ll")

    def run(unit: Function | tuple[Function, ...]) -> bool:
        function = unit[0] if isinstance(unit, tuple) else unit
        if function.name == caller:
            calling(module, function, callee)
        return function.name == caller

    level = "cgscc" if text == "cgscc({})" else "function"
    optimize(module, text.format(define(level, run)) + ",cgscc(inline)")
    module.verify()


@pytest.mark.parametrize(("text", "level"), [("cgscc({})", "cgscc"), ("cgscc(function({}))", "function")])
def test_new_calls_against_the_walk_are_refused(text: str, level: str) -> None:
    module = Module.read(CALLS.encode(), name="in.ll")

    def run(unit: Function | tuple[Function, ...]) -> bool:
        function = unit[0] if isinstance(unit, tuple) else unit
        if function.name == "low":
            calling(module, function, "high")
        return True

    name = define(level, run)
    with pytest.raises(PassError, match=r"low reaches .* got one of high; run the pass outside cgscc"):
        optimize(module, text.format(name) + ",cgscc(inline)")
    module.verify()


def test_the_same_outside_the_walk_is_taken() -> None:
    module = Module.read(CALLS.encode(), name="in.ll")

    def run(function: Function) -> bool:
        if function.name == "low":
            calling(module, function, "high")
        return function.name == "low"

    optimize(module, f"cgscc(inline),function({define('function', run)}),cgscc(inline)")
    module.verify()


def test_a_loop_pass_that_changes_keeps_loops_in_form() -> None:
    def run(loop: Loop) -> bool:
        loop.set_metadata((..., ("llvm.loop.unroll.count", 4)))
        return True

    module = loops()
    optimize(module, f"function(loop({define('loop', run)},loop-unroll-full),loop-unroll)")
    assert str(module).count("load i32") >= 4
    with pytest.raises(PassError, match="expected no change inside loop-mssa"):
        optimize(loops(), "function(loop-mssa(test-loop))")


@pytest.mark.parametrize(
    ("text", "told", "excerpt"),
    [
        ("sroa,{}{{limit=x}}", "expected int for limit, got 'x'", "{}sroa,test-function{{limit=x}}\n{:26}^"),
        ("{}{{limit=1", "expected '}' before any of ',()'", None),
        ("{}{{limit=1}}x", "expected '}' before any of ',()'", None),
        ("{}{{limit={{3}}", "expected options in one pair of braces, got another '{'", None),
        ("function({}{{}},{}{{limit=1 limit=2}})", "expected one value for limit, got another", None),
    ],
)
def test_wrong_options_are_pipeline_errors(text: str, told: str, excerpt: str | None) -> None:
    name = define("function", lambda _: False)
    written = text.format(name, name)
    with pytest.raises(PipelineError) as caught:
        optimize(loops(), written)
    assert str(caught.value).startswith(f"-passes: pass {name}: {told}")
    shown, marks = caught.value.excerpt.splitlines()
    assert shown == written
    assert set(marks) == {" ", "^"} or set(marks) == {"^"}
    assert len(marks) <= len(written) + 1
    if excerpt:
        assert marks == " " * 25 + "^"


def test_options_that_the_class_refuses() -> None:
    @llvm.function_pass("test-strict")
    @dataclass(frozen=True)
    class Strict:
        limit: int = 3

        def __post_init__(self) -> None:
            if self.limit < 0:
                raise ValueError("limit is negative")

        def run(self, function: Function) -> bool:
            raise AssertionError(function)

    with pytest.raises(
        PipelineError, match="expected options that Strict takes, got ValueError: limit is neg"
    ):
        optimize(loops(), "test-strict{limit=-1}")


def test_a_handle_kept_from_a_pass_can_be_used_later() -> None:
    kept: list[Function] = []

    def run(function: Function) -> bool:
        kept.append(function)
        return False

    module = loops()
    optimize(module, define("function", run))
    assert [each.name for each in kept] == ["leaf", "sum"]
    del module
    gc.collect()
    assert kept[0].name == "leaf"


def test_texts_without_passes_in_python_cost_nothing() -> None:
    assert pipeline.bind("default<O2>,function(sroa,loop(licm))", {"optimizer-last": "globaldce"}) is None
