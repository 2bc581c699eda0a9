# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Questions that cannot be asked so: wrong values, from the wrong place, one within another."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
import pytest

from passpilot.features.domain import Number
from passpilot.features.point import POINTS
from passpilot.features.spec import TensorSpec
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.optimize import optimize
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.plugin.errors import AdviceError, Error, FeatureError, InputError, PassError, PolicyError
from passpilot.plugin.ir import Function
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests.passes.decision_point.example import NAME, Row, declared
from tests.passes.python.passes import define, loops, run_once

pytestmark = pytest.mark.usefixtures("restored_registries")

PLAIN: Final[Row] = {"size": 1, "share": 0.5}

TENSORS: Final = {
    "integer": TensorSpec("value", "int64", (1,)),
    "small": TensorSpec("value", "int8", (1,)),
    "double": TensorSpec("value", "float64", (1,)),
    "single": TensorSpec("value", "float32", (1,)),
    "row": TensorSpec("value", "int64", (1, 3)),
    "floats": TensorSpec("value", "float32", (2, 2)),
}


def once(ask: Callable[[], object], *advisors: PointAdvisor) -> list[object]:
    """What is asked in a module pass."""
    answers: list[object] = []

    def run(_: Module) -> bool:
        answers.append(ask())
        return False

    run_once("module", run, loops(), advisors)
    return answers


def summed(tensor: str) -> DecisionPoint[float]:
    return DecisionPoint[float](
        NAME,
        features=[TENSORS[tensor]],
        advice=TensorSpec("sum", "float64", (1,)),
        default=lambda _: 0.0,
    )


def total(obs: Observation) -> float:
    return float(np.nan_to_num(obs["value"].astype(np.float64), nan=-1).sum())


@pytest.mark.parametrize(
    ("tensor", "value", "expected"),
    [
        ("integer", True, 1),
        ("integer", np.int32(-7), -7),
        ("integer", [5], 5),
        ("integer", np.array([[6]]), 6),
        ("integer", -(1 << 63), -float(1 << 63)),
        ("small", 127, 127),
        ("double", 1 << 60, 1 << 60),
        ("double", float("nan"), -1),
        ("double", np.float32(0.5), 0.5),
        ("single", 1.5, 1.5),
        ("single", 3.4028235e38, float(np.finfo(np.float32).max)),
        ("row", [[1, 2, 3]], 6),
        ("row", ((1, True, 3),), 5),
        ("row", np.array([[1, 2, 4]], np.int16), 7),
        ("floats", [[1, 2.5], (3, 4)], 10.5),
        ("floats", [np.array([1.0, 2.0]), [3, 4]], 10),
    ],
)
def test_values_that_fit(tensor: str, value: object, expected: float) -> None:
    point = summed(tensor)
    with point.advisor(total) as advisor:
        assert once(lambda: point.ask({"value": value}), advisor) == [expected]
        assert once(lambda: point.ask_all([{"value": value}] * 2), advisor) == [[expected] * 2]
    assert point.ask({"value": value}) == point.ask_all([{"value": value}])[0] == 0.0, "nobody advises"


def test_a_mask_of_another_length_is_refused_though_nobody_advises() -> None:
    with pytest.raises(FeatureError, match=r"feature 'mask' at .*: expected a value for int64\[1,4\]"):
        declared().ask({**PLAIN, "mask": [1, 1]})


@pytest.mark.parametrize(
    ("tensor", "value"),
    [
        ("integer", 1 << 63),
        ("integer", 1.0),
        ("integer", float("nan")),
        ("integer", None),
        ("integer", "1"),
        ("integer", [1, 2]),
        ("integer", [[float("nan")]]),
        ("small", 128),
        ("double", 10**400),
        ("double", 1j),
        ("single", 1e39),
        ("single", 10**60),
        ("row", [1, 2, 3]),
        ("row", [[1, 2]]),
        ("row", [[1, 2, 3, 4]]),
        ("row", [[1, 2, 1 << 63]]),
        ("row", [[1, 2], [3]]),
        ("row", 3),
        ("floats", [[1, 2], [3, "x"]]),
        ("floats", [[1, 2], [3, 1e39]]),
    ],
)
def test_values_that_do_not(tensor: str, value: object) -> None:
    point = summed(tensor)
    for ask in (
        lambda: point.ask({"value": value}),
        lambda: point.ask_all([{"value": value}]),
    ):
        told = rf"feature 'value' at .*: expected a value for {TENSORS[tensor]}".replace("[", r"\[")
        for advisors in ([], [point.advisor("const:1")]):
            with pytest.raises(FeatureError, match=told):
                once(ask, *advisors)


@pytest.mark.parametrize("values", [{}, {"size": 1}, {**PLAIN, "colour": 2}, {"size": 1, "colour": 2}])
def test_names_of_other_values(values: Row) -> None:
    point = declared()
    for advisors in ([], [point.advisor("const:1")]):
        with pytest.raises(FeatureError, match=r"expected values of share, size, got (no share|colour)"):
            once(lambda: point.ask(values), *advisors)


class Lazy(Mapping[str, object]):
    """Values of a mapping that is no dict."""

    def __getitem__(self, name: str) -> object:
        if name == "share":
            raise ValueError("no share")
        return {"size": 3}[name]

    def __iter__(self) -> object:  # type: ignore[override]
        return iter(("size", "share"))

    def __len__(self) -> int:
        return 2


def test_a_mapping_that_raises_is_the_fault_of_the_pass() -> None:
    point = declared()
    with pytest.raises(PassError, match="ValueError: no share"):
        once(lambda: point.ask(Lazy()), point.advisor("const:1"))
    assert once(lambda: point.ask(dict(PLAIN)), point.advisor("const:1")) == [1], "nothing is left over"


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), 0.51, "0", None])
def test_a_number_outside_its_range(answer: object) -> None:
    point = DecisionPoint[float](
        NAME,
        features=[TENSORS["integer"]],
        advice=TensorSpec("share", "float64", (1,)),
        domain=Number(-0.5, 0.5),
        default=lambda _: answer,  # type: ignore[arg-type,return-value]
    )
    with pytest.raises(AdviceError, match=r"expected a number of -0\.5 to 0\.5, got"):
        once(lambda: point.ask({"value": 1}), point.advisor(lambda _: answer))
    for advisors in ([], [point.advisor("default")]):
        with pytest.raises(AdviceError, match=r"default: advice: expected a number of -0\.5 to 0\.5, got"):
            once(lambda: point.ask({"value": 1}), *advisors)


def test_one_question_at_a_time() -> None:
    point = declared()

    def decide(_: Observation) -> int:
        return point.ask(PLAIN)

    told = rf"{NAME} advisor: expected one question at a time, got one within an answer \(.*{__name__[-12:]}"
    with pytest.raises(PolicyError, match=told):
        once(lambda: point.ask(PLAIN), point.advisor(decide))
    with pytest.raises(PolicyError, match="expected one question at a time"):
        once(lambda: point.ask_all([PLAIN, PLAIN]), point.advisor(decide))


def test_a_default_that_asks() -> None:
    point = DecisionPoint[int](
        NAME,
        features=[TENSORS["integer"]],
        advice=TensorSpec("flag", "int64", (1,)),
        default=lambda values: point.ask(values),
    )
    with pytest.raises(PolicyError, match="expected one question at a time"):
        once(lambda: point.ask({"value": 1}), point.advisor(lambda obs: obs.default()))


def elsewhere(ask: Callable[[], object]) -> object:
    """The answer of another thread, in the same context; or its error."""
    told: list[object] = []

    def work() -> None:
        try:
            told.append(ask())
        except Error as error:
            told.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,))
    thread.start()
    thread.join()
    return told[0]


def beside(other: Callable[[], object], point: DecisionPoint[int], advisor: PointAdvisor) -> InputError:
    """The error of what a pass does before it asks; the question is answered all the same."""
    told: list[object] = []

    def ask() -> int:
        told.append(other())
        return point.ask(PLAIN)

    assert once(ask, advisor) == [1]
    assert isinstance(told[0], InputError)
    return told[0]


def test_another_thread_of_the_compilation() -> None:
    point = declared()
    with point.advisor("const:1") as advisor:
        error = beside(lambda: elsewhere(lambda: point.ask(PLAIN)), point, advisor)
        told = f"{NAME} advisor: expected to be asked by a pass, on the thread that compiles, got a question"
        assert str(error).startswith(told)
        assert advisor.stats.decisions == 1


def test_a_thread_of_a_policy() -> None:
    point = declared()

    def decide(_: Observation) -> int:
        assert isinstance(elsewhere(lambda: point.ask(PLAIN)), InputError)
        return 2

    assert once(lambda: point.ask(PLAIN), point.advisor(decide)) == [2]


def test_outside_a_compilation() -> None:
    """There is nobody to ask, and the default decides; an advisor of the past is not asked."""
    point, kept = declared(), list[contextvars.Context]()

    def ask() -> int:
        kept.append(contextvars.copy_context())
        return point.ask(PLAIN)

    with point.advisor("const:3") as advisor:
        assert once(ask, advisor) == [3]
        assert point.ask(PLAIN) == 1
        with pytest.raises(InputError, match="expected to be asked by a pass, on the thread that compiles"):
            kept[0].run(point.ask, PLAIN)


def test_a_compilation_within_a_pass_has_its_own_advisors() -> None:
    point, inner = declared(), list[int]()

    def run(_: object) -> bool:
        def ask(_: object) -> bool:
            inner.append(point.ask(PLAIN))
            return False

        optimize(loops(), define("module", ask, "test-inner"))
        return ask(None)

    optimize(loops(), define("module", run), [point.advisor("const:3")])
    assert inner == [1, 3]


def test_threads_have_advisors_of_their_own() -> None:
    point, found = declared(), dict[str, set[int]]()
    meet = threading.Barrier(2, timeout=60)

    def run(function: Function) -> bool:
        meet.wait()
        answers = [point.ask(PLAIN, function) for _ in range(100)] + point.ask_all([PLAIN] * 100)
        found.setdefault(threading.current_thread().name, set()).update(answers)
        return False

    name = define("function", run)
    advisors = [point.advisor(f"const:{number}") for number in (0, 3)]
    both = [threading.Thread(target=optimize, args=(loops(), name, [advisor])) for advisor in advisors]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(map(tuple, found.values())) == [(0,), (3,)]
    assert [advisor.stats.decisions for advisor in advisors] == [400, 400]


def test_one_advisor_in_two_threads() -> None:
    point = declared()
    with point.advisor("const:1") as advisor:
        error = beside(lambda: elsewhere(lambda: optimize(loops(), "instcombine", [advisor])), point, advisor)
    assert "make an advisor for each thread" in str(error)


def test_a_point_that_was_declared_anew() -> None:
    point = declared()
    with point.advisor("const:1") as advisor:
        POINTS.unregister(NAME)
        assert once(lambda: declared().ask(PLAIN), advisor) == [1], "as before"
        POINTS.unregister(NAME)
        other = summed("floats")
        with pytest.raises(InputError, match=r"the decision point at \S+ differs from the one of this name"):
            once(lambda: other.ask({"value": [[1, 2], [3, 4]]}), advisor)


def test_a_default_that_raises() -> None:
    def broken(_: Mapping[str, object]) -> int:
        raise KeyError("colour")

    point = DecisionPoint[int](
        NAME, features=[TENSORS["integer"]], advice=TensorSpec("flag", "int64", (1,)), default=broken
    )
    rows = [{"value": 1}, {"value": 2}]
    for advisors in ([], [point.advisor("default", on_error="default")]):
        with pytest.raises(PassError, match=r"KeyError: 'colour' \(.*test_errors\.py:\d+\)"):
            once(lambda: point.ask_all(rows), *advisors)
    assert once(lambda: point.ask_all(rows), point.advisor("const:1")) == [[True, True]]
