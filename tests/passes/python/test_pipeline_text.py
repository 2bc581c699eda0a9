# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python inside LLVM's pipelines: where they run, what they get, what they may change."""

from __future__ import annotations

import gc
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from passpilot.passes.optimize import optimize
from passpilot.passes.python import api as llvm
from passpilot.passes.python import pipeline_text
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, PassError, PasspilotWarning, PipelineError
from passpilot.plugin.ir import Function, IRBuilder, Loop
from passpilot.plugin.module import Module
from tests.corpus.build import bindir
from tests.passes.python.passes import LEVELS, cold, define, loops, recorder
from tests.stock import LEVELS as STOCK_LEVELS
from tests.stock import MANY_CALLS, clang, opt

pytestmark = pytest.mark.usefixtures("restored_registries")


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
    for level in (f"default<{each}>" for each in STOCK_LEVELS[1:]):
        module = Module.read(source)
        optimize(module, level, at=at)
        assert module.bitcode() == opt(source, level)[0]
    assert len(seen) > 100


def test_passes_that_change_everywhere_leave_sound_programs(tmp_path: Path) -> None:
    source = clang(MANY_CALLS, tmp_path / "in.bc")
    changed: list[str] = []

    def in_function(function: Function) -> bool:
        changed.append("function")
        for instruction in function.instructions[:-1]:
            if instruction.opcode == "add":
                left, right = instruction.operands
                new = IRBuilder(instruction).binary("add", left, right)
                instruction.replace_all_uses_with(new)
                instruction.erase()
        return True

    def in_scc(functions: tuple[Function, ...]) -> bool:
        changed.append("cgscc")
        for function in functions:
            cold(function)
        return True

    def in_loop(loop: Loop) -> bool:
        changed.append("loop")
        loop.set_metadata((..., ("llvm.loop.unroll.count", 2)))
        return True

    function, loop = define("function", in_function), define("loop", in_loop)
    points = ("peephole", "scalar-optimizer-late", "vectorizer-start", "vectorizer-end", "optimizer-last")
    at = {"cgscc-optimizer-late": define("cgscc", in_scc), "loop-optimizer-end": loop}
    module = Module.read(source)
    optimize(
        module, "default<O3>", at={**at, "late-loop-optimizations": loop, **dict.fromkeys(points, function)}
    )
    assert set(changed) == {"function", "cgscc", "loop"}
    (tmp_path / "out.bc").write_bytes(module.bitcode())
    results = [
        subprocess.run([str(bindir() / "lli"), str(file)], check=False).returncode
        for file in (source, tmp_path / "out.bc")
    ]
    assert results[0] == results[1]


@pytest.mark.parametrize("answer", ["True", "False", "all", "none", "cfg"])
def test_what_a_pass_changes_stays(answer: str) -> None:
    def run(function: Function) -> object:
        cold(function)
        preserved = getattr(llvm.PreservedAnalyses, answer, None)
        return preserved() if preserved else answer == "True"

    module = loops()
    optimize(module, define("function", run))
    assert str(module).count("; Function Attrs: cold") == 2


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
    optimize(module, text.format(define(level, run)))
    module.verify()
    called = re.search(rf"define i32 @{caller}\(.*?\n}}", module.assembly().decode(), re.DOTALL)
    assert called is not None
    assert re.search(rf"call \w+ @{callee}\(", called[0])
    optimize(module, "cgscc(inline)")
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
    with pytest.raises(InputError, match=f"expected valid IR, got what the pass {name} left"):
        optimize(module, "sroa")


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


def test_long_texts_are_shown_in_part() -> None:
    name = define("function", lambda _: False)
    with pytest.raises(PipelineError) as caught:
        optimize(loops(), f"{'sroa,' * 1000}{name}{{limit={'x' * 1000}}}")
    assert len(str(caught.value)) < 200
    shown, marks = caught.value.excerpt.splitlines()
    assert shown.endswith(f"sroa,{name}{{limit={'x' * 120}")
    assert marks == " " * 60 + "^" * 60


def test_a_wrong_option_names_the_text_that_has_it() -> None:
    wrong = f"{define('function', lambda _: False)}{{limit=x}}"
    for at, behind, where in (({"peephole": wrong}, "", "--at peephole"), ({}, wrong, "--policy")):
        with pytest.raises(PipelineError, match=f"^{where}: pass test-function: expected int for limit"):
            pipeline_text.bind("sroa", at, behind)


def test_a_text_of_several_lines_is_shown_as_one() -> None:
    name = define("function", lambda _: False)
    with pytest.raises(PipelineError) as caught:
        optimize(loops(), f"{name}{{limit=3\n\tlimit=4}}")
    assert caught.value.excerpt == f"{name}{{limit=3  limit=4}}\n{' ' * 23}^^^^^^^"


def test_texts_that_are_no_text() -> None:
    for at in ({"p\udcff": "sroa"}, {"peephole": "sr\udcff"}):
        with pytest.raises(InputError, match=r"expected a point among|unknown function pass"):
            optimize(loops(), "sroa", at=at)


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
    assert (
        pipeline_text.bind("default<O2>,function(sroa,loop(licm))", {"optimizer-last": "globaldce"}) is None
    )
