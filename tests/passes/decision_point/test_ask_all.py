# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`DecisionPoint.ask_all` answers, counts, logs and fails as `ask` for one row after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pytest
from numpy.typing import NDArray

from passpilot.features import custom
from passpilot.features.llvm.unroll import observe
from passpilot.features.point import find_point
from passpilot.passes.advisor import OnError
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.optimize import optimize
from passpilot.passes.shipped.size import SIZE
from passpilot.passes.shipped.unroll import UNROLL
from passpilot.plugin.errors import AdviceError, Error, FeatureError, ModelError, PasspilotWarning, PeerError
from passpilot.plugin.ir import Function
from passpilot.plugin.module import Module
from passpilot.runners.base import Runner
from passpilot.runners.python import Observation
from passpilot.runners.spec import RunnerLike
from tests.passes.decision_point.example import MAP, NAME, ROWS, asked, declared, identity, perceptron, row
from tests.passes.python.passes import define

pytestmark = pytest.mark.usefixtures("restored_registries")

ADVISED: Final = Path(__file__).parents[3] / "lit_tests" / "passes" / "Inputs" / "advised.ll"


class Together(Runner):
    """Answers with a legal column, several questions at once; keeps how many they were."""

    fault = ""

    def __init__(self) -> None:
        point = find_point(NAME)
        self.inputs = point.select(["mask", "size"])
        self.output = point.advice
        self.counts: list[int] = []

    def evaluate(self) -> object:
        self.counts.append(1)
        if self.fault == "raises" and self.tensors["size"][0] == 7:
            raise ValueError("seven")
        if self.fault == "column" and self.tensors["size"][0] == 7:
            return 9
        return int(self.tensors["mask"].reshape(-1).argmax())

    def evaluate_batch(self, frames: NDArray[np.uint8]) -> Sequence[object]:
        self.counts.append(len(frames))
        if self.fault == "short":
            return [0]
        if self.fault == "fatal":
            raise PeerError("gone")
        rows = frames.view(np.int64)
        if self.fault == "raises" and 7 in rows[:, 4]:
            raise ValueError("seven")
        return [9 if self.fault == "column" and each[4] == 7 else int(each[:4].argmax()) for each in rows]


class PerContext(Together):
    def switch_context(self, name: str) -> None:
        self.context = name


def decide(obs: Observation) -> object:
    return int(obs["mask"].reshape(-1).argmax())


def runners(folder: Path) -> dict[str, Callable[[], RunnerLike]]:
    """What makes a runner of each kind that answers all rows."""
    model = perceptron(folder / "m.onnx")
    return {
        "const": lambda: "const:2",
        "default": lambda: "default",
        "random": lambda: "random:3",
        "policy": lambda: decide,
        "onnx": lambda: f"onnx:{model}?{MAP}",
        "onnx of one": lambda: f"onnx:{perceptron(folder / 'one.onnx', 1)}?{MAP}",
        "together": Together,
        "per context": PerContext,
    }


@pytest.mark.parametrize(
    "kind", ["const", "default", "random", "policy", "onnx", "onnx of one", "together", "per context"]
)
def test_the_answers_the_log_and_the_counts_are_the_same(kind: str, tmp_path: Path) -> None:
    point, results = declared(), []
    for at_once in (False, True):
        log = tmp_path / f"{at_once}.log"
        with point.advisor(runners(tmp_path)[kind](), log=str(log)) as advisor:
            answers = asked(point, [advisor], at_once=at_once)
            stats = advisor.stats
        results.append((answers, (stats.decisions, stats.fallbacks), log.read_bytes()))
    assert results[0] == results[1]
    assert len(results[0][0]) == len(ROWS)
    assert all(type(answer) is int for answer in results[1][0])
    with point.advisor(f"replay:{log}") as advisor:
        assert asked(point, [advisor], at_once=True) == results[0][0]


def test_a_runner_is_asked_at_once() -> None:
    point, counts = declared(), []
    for kind in (Together, PerContext):
        runner = kind()
        with point.advisor(runner) as advisor:
            asked(point, [advisor], at_once=True)
        counts.append(runner.counts)
    assert counts[0] == [len(ROWS)]
    assert counts[1] == [1] * len(ROWS), "each function is a context of its own"


def test_one_context_is_asked_at_once() -> None:
    point, runner = declared(), PerContext()
    name = define("module", lambda _: not point.ask_all(ROWS[:3], ["a", "a", "b"]))
    optimize(Module.read(ADVISED), name, [point.advisor(runner)])
    assert runner.counts == [2, 1]


def test_what_is_computed_for_the_runner_is_a_matter_of_each_decision(tmp_path: Path) -> None:
    """A custom feature has its site, also where the log alone wants it."""
    point, seen = declared(), []

    @custom.feature("int64[1]", point=NAME)
    def letters(site: Function) -> int:
        seen.append(site.name)
        return len(site.name)

    def long(obs: Observation) -> object:
        return 2 if obs["letters"].item() > 2 else obs.default()

    long.features = ("letters",)  # type: ignore[attr-defined]
    with point.advisor(long) as advisor:
        answers = asked(point, [advisor], at_once=True)
    assert answers == [0, 1] * 5 + [2] * 23
    with point.advisor(Together(), log=str(tmp_path / "a.log")) as advisor:
        asked(point, [advisor], at_once=True)
    assert seen == [f"f{number}" for number in range(33)] * 2


@pytest.mark.parametrize("on_error", ["fail", "default"])
@pytest.mark.parametrize("fault", ["raises", "column"])
def test_a_failure_is_that_of_its_decision(fault: str, on_error: OnError) -> None:
    point, results = declared(), list[object]()
    for at_once in (False, True):
        runner = Together()
        runner.fault = fault
        advisor = point.advisor(runner, on_error=on_error)
        if on_error == "fail":
            with pytest.raises(Error) as caught:
                asked(point, [advisor], at_once=at_once)
            assert "at decision 7 (function f7): " in str(caught.value)
            results.append(
                (type(caught.value), str(caught.value).partition(" (/")[0], advisor.stats.decisions)
            )
        else:
            with pytest.warns(PasspilotWarning, match=r"1 of 33 decisions fell .*decision 7 \(function f7\)"):
                answers = asked(point, [advisor], at_once=at_once)
            results.append((answers, advisor.stats.fallbacks, advisor.stats.decisions))
    assert results[0] == results[1]


@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_a_model_that_fails_in_one_row(on_error: OnError, tmp_path: Path) -> None:
    point, results = declared(), list[object]()
    spec = f"onnx:{identity(tmp_path / 'm.onnx')}?as=decision&map=x:share"
    rows = [{"size": 0, "share": share} for share in (1, 2, 3, float("nan"), 0, 9)]
    for at_once in (False, True):
        advisor = point.advisor(spec, on_error=on_error)
        if on_error == "fail":
            with pytest.raises(ModelError, match=r"at decision 3 \(function f3\): .*got NaN") as caught:
                asked(point, [advisor], rows, at_once=at_once)
            results.append((str(caught.value), advisor.stats.decisions))
        else:
            with pytest.warns(PasspilotWarning, match="2 of 6 decisions fell back"):
                results.append((asked(point, [advisor], rows, at_once=at_once), advisor.stats.decisions))
    assert results[0] == results[1]
    assert on_error == "fail" or results[1] == ([1, 2, 3, 0, 0, 0], 6)


def test_faults_of_a_batch_itself() -> None:
    point, runner = declared(), Together()
    runner.fault = "short"
    with pytest.raises(ModelError, match=r"decision 0 .*evaluate_batch\(\): expected 33 answers, got 1"):
        asked(point, [point.advisor(runner)], at_once=True)
    runner = Together()
    runner.fault = "fatal"
    advisor = point.advisor(runner, on_error="default")
    with pytest.warns(
        PasspilotWarning, match="33 of 33 decisions fell back to the default; the first: .*gone"
    ):
        assert asked(point, [advisor], at_once=True) == [each % 2 for each in range(33)]
    assert runner.counts == [33], "nobody asks a dead peer again"


def test_a_column_that_the_mask_forbids(tmp_path: Path) -> None:
    point, told = declared(), []
    spec = f"onnx:{identity(tmp_path / 'm.onnx')}?as=decision&map=x:share"
    rows = [row(0), row(16), {**row(8), "mask": [[1, 0, 1, 1]]}]
    for at_once in (False, True):
        with pytest.raises(AdviceError, match=r"decision 2 .*expected a column that mask allows") as caught:
            asked(point, [point.advisor(spec)], rows, at_once=at_once)
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_all_rows_are_checked_first() -> None:
    point, runner = declared(), Together()
    advisor = point.advisor(runner)
    rows: list[dict[str, object]] = [dict(row(1)), {"size": "many", "share": 0}]
    with pytest.raises(FeatureError, match=r"feature 'size' .*got str 'many'"):
        asked(point, [advisor], rows, at_once=True)
    with pytest.raises(FeatureError, match="expected values of share, size, got no share"):
        asked(point, [point.advisor("const:1")], [row(1), {"size": 3}], at_once=True)
    assert runner.counts == []


def test_one_site_for_each_row() -> None:
    point: DecisionPoint[int] = declared()
    with pytest.raises(FeatureError, match="expected a site for each row of values, got 0 for 1"):
        point.ask_all([row(1)], [])
    assert point.ask_all([], []) == point.ask_all([]) == []
    with pytest.raises(FeatureError, match="expected a site for each row of values, got 1 for 2"):
        point.ask_all([row(1), row(2)], ["main"])


def test_without_an_advisor_the_default_decides() -> None:
    point = declared()
    assert point.ask_all(iter(ROWS[:3])) == [0, 1, 0]
    assert point.ask_all([]) == []
    assert asked(point, [], at_once=True) == [each % 2 for each in range(33)]
    name = define("module", lambda _: bool(point.ask_all([])))
    with pytest.warns(PasspilotWarning, match="never asked"):
        optimize(Module.read(ADVISED), name, [point.advisor("const:1")])


@pytest.mark.parametrize("seed", range(5))
def test_shipped_passes_do_as_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch, corpus: Callable[[str, str], Path]
) -> None:
    """Loops are observed before any is advised, which must not matter; functions likewise."""
    made = []
    for at_once in (True, False):
        if not at_once:
            for point in (UNROLL, SIZE):
                monkeypatch.setattr(point, "ask_all", _one_by_one(point))
        module = Module.read(corpus("libyaml", "O2"))
        advisors = [UNROLL.advisor(f"random:{seed}"), SIZE.advisor(f"random:{seed}")]
        optimize(module, "advised-size,function(advised-unroll)", advisors)
        made.append((module.bitcode(), [advisor.stats.decisions for advisor in advisors]))
    assert made[0] == made[1]
    assert min(made[0][1]) > 50


def _one_by_one(point: DecisionPoint[int]) -> Callable[..., object]:
    def ask(rows: Sequence[dict[str, object]], sites: Sequence[object]) -> object:
        """Lazily: a loop is observed when the one before it has been advised."""
        return (point.ask(values, site) for values, site in zip(rows, sites, strict=True))

    return ask


def test_a_loop_looks_the_same_after_another_has_been_advised() -> None:
    seen: list[list[dict[str, object]]] = [[], []]

    def run(function: Function) -> bool:
        loops = [loop for loop in function.loops if not loop.subloops]
        seen[0] += [dict(observe(loop)) for loop in loops]
        for loop in loops:
            seen[1].append(dict(observe(loop)))
            loop.set_metadata((..., ("llvm.loop.unroll.count", 4)))
        return True

    text = "".join(
        f"{label}:\n  %i{label} = phi i32 [0, %{before}], [%n{label}, %{label}]\n"
        f"  %n{label} = add i32 %i{label}, 1\n"
        f"  %c{label} = icmp eq i32 %n{label}, {count}\n  br i1 %c{label}, label %{after}, label %{label}\n"
        for label, before, after, count in (("a", "entry", "b", 64), ("b", "a", "done", 48))
    )
    source = f"define void @f() {{\nentry:\n  br label %a\n{text}done:\n  ret void\n}}\n"
    optimize(Module.read(source.encode(), name="loops"), define("function", run))
    assert seen[0] == seen[1]
    assert [each["trip_count"] for each in seen[0]] == [64, 48]
