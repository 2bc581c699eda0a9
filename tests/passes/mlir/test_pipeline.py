# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python in MLIR's pipelines: threads, failures, decisions, and the end of the process."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.features.log.reader import read_log
from passpilot.features.spec import TensorSpec
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir import api as mlir
from passpilot.passes.mlir.pipeline import Pipeline
from passpilot.plugin.errors import (
    AdviceError,
    CompilationError,
    InputError,
    PassError,
    PolicyError,
    StaleViewError,
)
from passpilot.plugin.mlir.diagnostics import Diagnostic
from tests.command import run
from tests.corpus.modules import MODULES, unpacked
from tests.passes.mlir.passes import SEVERAL, TEXT, define, many, parsed, symbol

pytestmark = pytest.mark.usefixtures("restored_registries")

COUNT: Final = 400


@pytest.mark.parametrize(
    "text", ["func.func(test-pass)", "func.func(cse,test-pass,canonicalize)", "any(test-pass)"]
)
def test_nested_in_several_threads(text: str) -> None:
    """Two of them wait for each other, so that it takes two threads, where there are two processors."""
    both = threading.Barrier(2 if SEVERAL else 1, timeout=60)
    seen: list[str] = []
    turn = itertools.count()

    def run(operation: Any) -> None:
        if next(turn) < 2:
            both.wait()
        seen.append(symbol(operation))

    define(run, "func.func")
    module = parsed(many(COUNT), threads=True)
    assert (module.context.get_num_threads() > 1) is SEVERAL
    mlir.run_pipeline(module, f"builtin.module({text},symbol-dce)")
    assert sorted(seen) == sorted(f"f{i}" for i in range(COUNT))


def test_threads_or_not_the_module_is_the_same() -> None:
    def run(operation: Any) -> None:
        operation.attributes["size"] = mlir.bindings().ir.StringAttr.get(
            str(len(list(operation.regions[0].blocks[0].operations))), operation.context
        )

    define(run, "func.func")
    modules = [parsed(many(COUNT), threads) for threads in (False, True)]
    for module in modules:
        mlir.run_pipeline(module, "builtin.module(func.func(cse,test-pass),any(canonicalize,test-pass))")
    assert 'size = "3"' in str(modules[0])
    assert str(modules[0]) == str(modules[1])


@pytest.mark.parametrize("name", MODULES)
def test_real_modules_become_what_the_bindings_make_of_them(name: str, tmp_path: Path) -> None:
    """Native passes in our pipelines, with passes in Python between them, threads or not."""
    seen: list[str] = []
    define(lambda operation: seen.append(symbol(operation)), "func.func")
    source = unpacked(name, tmp_path).text
    native = parsed(source)
    text = "builtin.module(func.func({0}canonicalize,cse),inline,any(cse{1}),symbol-dce)"
    manager = mlir.bindings().passmanager.PassManager
    manager.parse(text.format("", ""), native.context).run(native.operation)
    for threads in (False, True):
        module = parsed(source, threads)
        mlir.run_pipeline(module, text.format("test-pass,", ",test-pass"))
        assert str(module) == str(native)
    assert len(seen) > 2


def test_what_a_visitor_raises_is_said_without_a_traceback() -> None:
    def visit(_: object) -> object:
        raise KeyError("é")

    name = define(lambda operation: operation.walk(visit))
    module = parsed("module {}")
    place = rf"\(.*{Path(__file__).name}:\d+\)"
    with pytest.raises(PassError, match=rf"^pass {name} at -:\d+:\d+: KeyError: 'é' {place}$"):
        Pipeline(f"builtin.module({name})", module.context).run(module.operation)


@pytest.mark.parametrize("threads", [False, True])
@pytest.mark.parametrize("text", ["{}", "func.func({})", "func.func(cse,{},canonicalize)"])
def test_what_a_pass_raises_ends_the_run(threads: bool, text: str) -> None:
    after: list[object] = []
    told: list[Diagnostic] = []

    def fail(_: object) -> None:
        raise KeyError("é")

    name, last = define(fail), define(after.append, name="test-after")
    module = parsed(f"module attributes {{a.b}} {{ {many(COUNT)} }}", threads)
    pipeline = Pipeline(f"builtin.module({text.format(name)},{last})", module.context)
    with pytest.raises(
        PassError, match=rf"^pass {name} at -:\d+:\d+: KeyError: 'é' \(.*{Path(__file__).name}:\d+\)$"
    ) as e:
        pipeline.run(module.operation, tell=told.append)
    assert isinstance(e.value.__cause__, KeyError)
    assert after == []
    assert told
    assert {each.severity for each in told} == {"error"}
    assert all(each.message.startswith(f"pass {name}: KeyError: 'é' (") for each in told)
    mlir.run_pipeline(module, "builtin.module(func.func(cse))")  # it can be used again


def test_a_pipeline_runs_again_after_a_failure() -> None:
    fails = [True]

    def run(_: object) -> None:
        if fails.pop():
            raise ValueError

    define(run)
    module = parsed()
    pipeline = Pipeline("builtin.module(test-pass)", module.context)
    with pytest.raises(PassError):
        pipeline.run(module.operation)
    fails += [False]
    pipeline.run(module.operation)


def test_signal_pass_failure() -> None:
    def run(operation: Any) -> None:
        operation.location.emit_error("too small")
        mlir.signal_pass_failure()
        seen.append(symbol(operation))

    seen: list[str] = []
    define(run, "func.func")
    with pytest.raises(PassError, match=r"^pass test-pass at -:1:1: too small$"):
        mlir.run_pipeline(parsed(), "builtin.module(func.func(test-pass),inline)")
    assert seen == ["small"]
    define(lambda _: mlir.signal_pass_failure(), name="test-mute")
    with pytest.raises(PassError, match=r"^pass test-mute: it signalled a failure$"):
        mlir.run_pipeline(parsed(), "builtin.module(test-mute)")
    with pytest.raises(InputError, match="signal_pass_failure: no pass runs"):
        mlir.signal_pass_failure()


@pytest.mark.parametrize("answer", [True, False, 0, "yes"])
def test_answers_are_refused(answer: object) -> None:
    define(lambda _: answer)
    with pytest.raises(
        PassError, match=rf"expected None of run\(\), got {type(answer).__name__}; return nothing"
    ):
        mlir.run_pipeline(parsed(), "builtin.module(test-pass)")


def test_ctrl_c_passes_through() -> None:
    def run(_: object) -> None:
        raise KeyboardInterrupt

    define(run)
    with pytest.raises(KeyboardInterrupt):
        mlir.run_pipeline(parsed(), "builtin.module(test-pass)")


def test_an_exit_is_an_error_with_its_place() -> None:
    def run(_: object) -> None:
        raise SystemExit("enough")

    define(run)
    with pytest.raises(PassError, match=r"SystemExit: enough \(.*test_pipeline\.py:\d+\)"):
        mlir.run_pipeline(parsed(), "builtin.module(test-pass)")


def test_errors_of_ours_keep_their_class() -> None:
    def run(_: object) -> None:
        raise InputError("model: expected a file, got none")

    define(run)
    with pytest.raises(InputError, match=r"^pass test-pass: InputError: model: expected"):
        mlir.run_pipeline(parsed(), "builtin.module(test-pass)")


ERASING: Final = """\
from tests.passes.mlir.passes import define, many, parsed
from passpilot.passes.mlir import api as mlir

define(lambda operation: operation.erase(), "func.func")
mlir.run_pipeline(parsed(many(20), threads=%s), "builtin.module(func.func(test-pass))")
"""


@pytest.mark.parametrize("threads", [False, True])
def test_a_pass_that_erases_what_it_runs_on_ends_the_process(threads: bool) -> None:
    done = run(sys.executable, "-c", ERASING % threads, cwd=Path(__file__).parents[3])
    told = "the pass has erased the operation that it runs on; erase it in a pass around it"
    assert done.code == 1
    assert set(done.err.splitlines()) <= {
        f"passpilot: error: pass test-pass at -:{i}:1: {told}" for i in range(21)
    }
    assert done.err


def test_what_has_been_erased_is_no_site_and_has_no_pipeline(point: DecisionPoint[bool]) -> None:
    def run(function: Any) -> None:
        first = function.regions[0].blocks[0].operations[0].operation
        first.erase()
        stale.append(first)
        point.ask({"operands": 2}, first)

    stale: list[Any] = []
    define(run, "func.func")
    text = "func.func @f(%x: i32) { %y = arith.addi %x, %x : i32 return }"
    with pytest.raises(StaleViewError, match="the operation has been erased"):
        mlir.run_pipeline(parsed(text), "builtin.module(func.func(test-pass))", [point.advisor("const:1")])
    with pytest.raises(StaleViewError, match="the operation has been erased"):
        mlir.run_pipeline(stale[0], "any(cse)")


def test_a_pass_may_erase_what_is_inside() -> None:
    def run(module: Any) -> None:
        for function in list(module.regions[0].blocks[0].operations):
            if symbol(function) == "f1":
                function.operation.erase()

    seen: list[str] = []
    define(run, "builtin.module")
    define(lambda operation: seen.append(symbol(operation)), "func.func", name="test-after")
    mlir.run_pipeline(parsed(many(3)), "builtin.module(test-pass,func.func(test-after))")
    assert seen == ["f0", "f2"]


def test_a_pass_that_leaves_wrong_ir() -> None:
    def run(operation: Any) -> None:
        list(operation.regions[0].blocks[0].operations)[-1].operation.erase()

    define(run, "func.func")
    told = r"^pass test-pass at -:1:1: expected run\(\) at .*passes\.py:\d+ to leave valid MLIR, got .*2:8\)$"
    with pytest.raises(PassError, match=told):
        mlir.run_pipeline(parsed(), "builtin.module(func.func(test-pass))")


def test_a_pipeline_for_another_operation() -> None:
    told = r"expected a pipeline for builtin.module, got one for func.func; write 'builtin.module\(func"
    with pytest.raises(InputError, match=told):
        mlir.run_pipeline(parsed(), "func.func(cse)")


def test_a_pass_of_llvm_is_said_to_be_one() -> None:
    with pytest.raises(InputError, match="got one of LLVM's IR, which `passpilot opt` runs"):
        mlir.run_pipeline(parsed(), "builtin.module(advised-slp)")


def test_a_misspelt_pass_of_mlir_has_a_hint() -> None:
    with pytest.raises(InputError, match=r"; did you mean 'canonicalize'\?$"):
        mlir.run_pipeline(parsed(), "builtin.module(canonicalise)")


def test_what_native_passes_refuse() -> None:
    text = "builtin.module(func.func(inline))"
    told = r"'func.func' op  was scheduled to run under the inliner, .*-:1:1"
    with pytest.raises(
        CompilationError, match=f"^--pass-pipeline: expected passes that succeed, got: {told}"
    ):
        mlir.run_pipeline(parsed(), text)


def test_a_pass_may_run_another_pipeline() -> None:
    define(lambda module: mlir.run_pipeline(module, "builtin.module(inline)"), "builtin.module")
    module = parsed(threads=True)
    mlir.run_pipeline(module, "builtin.module(test-pass)")
    assert "call" not in str(module)


@pytest.fixture
def point() -> DecisionPoint[bool]:
    """Asked about each operation of a function by the pass test-ask, which marks those that it is told to."""
    asked = DecisionPoint[bool](
        "test-mark",
        features=[TensorSpec("operands", "int64", (1,))],
        advice=TensorSpec("mark", "int64", (1,)),
        default=lambda values: values["operands"] == 2,
    )

    def run(function: Any) -> None:
        for each in list(function.regions[0].blocks[0].operations):
            if asked.ask({"operands": len(each.operands)}, each):
                each.attributes["marked"] = mlir.bindings().ir.UnitAttr.get(function.context)

    define(run, "func.func", name="test-ask")
    return asked


ASK: Final = "builtin.module(func.func(test-ask))"


def test_points_have_their_default(point: DecisionPoint[bool]) -> None:
    assert point.name
    module = parsed(threads=True)
    mlir.run_pipeline(module, ASK)
    assert str(module).count("{marked}") == 1


def test_points_are_advised_logged_and_replayed(point: DecisionPoint[bool], tmp_path: Path) -> None:
    seen: list[str] = []

    def decide(obs: Any) -> bool:
        seen.append(obs.site.name)
        return bool(obs["operands"] == 1)

    modules = [parsed(threads=True) for _ in range(2)]
    log = str(tmp_path / "a.log")
    mlir.run_pipeline(modules[0], ASK, [point.advisor(decide, log=log)])
    assert seen == ["arith.addi", "func.return", "func.call", "func.return"]
    assert str(modules[0]).count("marked") == 3
    assert (modules[0].context.get_num_threads() > 1) is SEVERAL  # again
    assert [(each.context, each.location) for each in read_log(log)] == [
        ("small", "-:2:8"),
        ("small", "-:3:3"),
        ("big", "-:6:8"),
        ("big", "-:7:3"),
    ]
    mlir.run_pipeline(modules[1], ASK, [point.advisor(f"replay:{log}")])
    assert str(modules[1]) == str(modules[0])


def test_advisors_that_fail(point: DecisionPoint[bool]) -> None:
    def fail(_: object) -> bool:
        raise ValueError("no luck")

    with pytest.raises(PolicyError, match=r"test-mark advisor at decision 0 \(function small.*no luck"):
        mlir.run_pipeline(parsed(), ASK, [point.advisor(fail)])
    with pytest.raises(AdviceError, match="expected True, False, 0 or 1, got int 7"):
        mlir.run_pipeline(parsed(), ASK, [point.advisor(lambda _: 7)])
    module = parsed()
    with pytest.warns(match="test-mark advisor: 4 of 4 decisions fell back to the default"):
        mlir.run_pipeline(module, ASK, [point.advisor(fail, on_error="default")])
    assert str(module).count("marked") == 1


def test_with_an_advisor_mlir_has_one_thread_for_the_run(point: DecisionPoint[bool]) -> None:
    module, seen = parsed(threads=True), list[int]()
    before = module.context.get_num_threads()
    define(lambda function: seen.append(function.context.get_num_threads()), "func.func")
    mlir.run_pipeline(module, "builtin.module(func.func(test-pass,test-ask))", [point.advisor("const:1")])
    assert seen == [1, 1]
    assert module.context.get_num_threads() == before


def test_advisors_in_a_pass_of_several_threads(point: DecisionPoint[bool]) -> None:
    advisor = point.advisor("const:1")
    define(lambda function: mlir.run_pipeline(function, "func.func(test-ask)", [advisor]), "func.func")
    if SEVERAL:
        expected = "a pass on one of MLIR's threads cannot start it"
        with pytest.raises(InputError, match=expected):
            mlir.run_pipeline(parsed(threads=True), "builtin.module(func.func(test-pass))")
    mlir.run_pipeline(parsed(), "builtin.module(func.func(test-pass))")
    assert advisor.stats.decisions == 4


def test_advisors_in_a_pass_on_one_processor(point: DecisionPoint[bool]) -> None:
    """MLIR's only thread runs the pass, and cannot be ended from inside it."""
    advisor = point.advisor("const:1")
    define(lambda function: mlir.run_pipeline(function, "func.func(test-ask)", [advisor]), "func.func")
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        module = parsed(threads=True)
        assert module.context.get_num_threads() == 1
        mlir.run_pipeline(module, "builtin.module(func.func(test-pass))")
    finally:
        os.sched_setaffinity(0, processors)
    assert advisor.stats.decisions == 4


KEPT: Final = f"""\
from dataclasses import dataclass
from passpilot.passes.mlir import api as mlir
from passpilot.passes.mlir.pipeline import Pipeline

@mlir.pass_("kept")
@dataclass(frozen=True)
class Kept:
    def run(self, operation):
        HANDLES.append(operation)
        HANDLES.extend(operation.regions[0].blocks[0].operations)

HANDLES = []
CONTEXT = mlir.bindings().ir.Context()
CONTEXT.enable_multithreading(True)
MODULE = mlir.bindings().ir.Module.parse({TEXT!r}, CONTEXT)
PIPELINE = Pipeline("builtin.module(kept,inline,symbol-dce,kept)", CONTEXT)
PIPELINE.run(MODULE.operation)
print(len(HANDLES))
"""


def test_pipelines_and_handles_to_the_end_of_the_process(tmp_path: Path) -> None:
    done = run(sys.executable, "-c", KEPT, cwd=tmp_path)
    assert (done.code, done.out, done.err) == (0, b"5\n", "")
