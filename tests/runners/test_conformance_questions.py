# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The questions of `check_runner`: how many, about what, in which contexts, and with which host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from passpilot.features.domain import Choice, Number
from passpilot.features.point import Point, find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ConformanceError
from passpilot.runners.base import Runner
from passpilot.runners.conformance import check_runner

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from passpilot.runners.base import Host, Tensor


class Recording(Runner):
    """Keeps what it is asked, and gives the default."""

    def __init__(self, point: Point) -> None:
        self.inputs = point.features
        self.output = point.advice
        self.point = point
        self.seen: list[dict[str, NDArray[np.generic]]] = []
        self.said: list[str] = []

    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8], host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self.said.append("bind")

    def switch_context(self, name: str) -> None:
        self.said.append(name)

    def evaluate(self) -> object:
        self.said.append("ask")
        self.seen.append({name: tensor.copy() for name, tensor in self.tensors.items()})
        return self.tensors[self.point.default.name].item()

    def close(self) -> None:
        self.said.append("close")


def questions(point: Point, count: int = 60) -> list[dict[str, NDArray[np.generic]]]:
    runner = Recording(point)
    check_runner(runner, point, count)
    assert len(runner.seen) == count
    return runner.seen


@pytest.mark.parametrize("name", ["inline", "evict", "priority", "ra-order"])
def test_the_first_question_has_zeros_and_allows_every_choice(name: str) -> None:
    point = find_point(name)
    first = questions(point, 1)[0]
    mask = point.domain.mask if isinstance(point.domain, Choice) else ""
    for spec in point.features:
        assert first[spec.name].tolist() == np.full(spec.shape, int(spec.name == mask)).tolist()


@pytest.mark.parametrize("name", ["inline", "evict", "priority", "ra-order"])
def test_the_other_questions_vary_and_have_a_legal_default(name: str) -> None:
    point = find_point(name)
    seen = questions(point)[1:]
    defaults = {each[point.default.name].item() for each in seen}
    assert len(defaults) >= 2
    domain = point.domain
    if isinstance(domain, Choice):
        masks = np.array([each[domain.mask].ravel() for each in seen])
        assert set(np.unique(masks)) == {0, 1}
        assert (masks.sum(axis=1) > 0).all()
        assert all(mask[each[point.default.name].item()] for mask, each in zip(masks, seen, strict=True))
        assert len(defaults) > domain.count // 3
    elif isinstance(domain, Number):
        assert all(domain.low <= each <= domain.high for each in defaults)
    for spec in point.features:
        values = np.array([each[spec.name] for each in seen])
        if spec.name in (point.default.name, getattr(domain, "mask", "")):
            continue
        assert values.min() < 0 < values.max()
        assert np.abs(values).max() > 50
        if spec.dtype.startswith("int"):
            assert values.min() >= -100
            assert values.max() <= 100
    again = questions(point)[1:]
    assert all(
        np.array_equal(a[spec.name], b[spec.name])
        for a, b in zip(seen, again, strict=True)
        for spec in point.features
    )


def test_unsigned_tensors_hold_small_numbers() -> None:
    point = find_point("inline")
    point = replace(point, features=(TensorSpec("tiny", "uint8", (50,)), *point.features))
    values = np.array([each["tiny"] for each in questions(point)[1:]])
    assert (values.min(), values.max()) == (0, 100)


def test_a_number_that_may_not_be_zero() -> None:
    point = replace(find_point("priority"), domain=Number(5.0, 9.0))
    seen = [each[point.default.name].item() for each in questions(point)]
    assert seen[0] == 5.0
    assert all(5 <= each <= 9 for each in seen)
    point = replace(point, domain=Number(-9.0, -5.0))
    assert questions(point, 1)[0][point.default.name].item() == -5.0


def test_contexts_change_every_seven_questions() -> None:
    runner = Recording(find_point("inline"))
    check_runner(runner, decisions=23)
    names = ["", "module.c", "na\u00efve/\u00fcn\u00efcode", ""]
    asked = [step for name in names for step in (name, *["ask"] * 7)]
    assert runner.said == ["bind", *asked[: 4 + 23], "close", "close"]


def test_own_questions_in_their_order_and_no_more_than_wished() -> None:
    runner = Recording(find_point("inline"))
    given = ({"node_count": number, "inlining_default": number % 2} for number in range(9))
    check_runner(runner, decisions=4, observations=given)
    assert [each["node_count"].item() for each in runner.seen] == [0, 1, 2, 3]
    assert all(each["edge_count"].item() == 0 for each in runner.seen)


class Compiler:
    """A host that says yes."""

    site = None

    def default(self) -> bool:
        return True

    def feature(self, name: str) -> Tensor:
        raise KeyError(name)

    def stamp(self, _name: str) -> None:
        return None


def test_the_host_is_the_runners() -> None:
    runner, host = Recording(find_point("inline")), Compiler()
    check_runner(runner, host=host)
    assert runner.host is host
    check_runner(lambda obs: obs.default(), host=host)
    with pytest.raises(ConformanceError, match="expected the tensor 'inlining_default' from the compiler"):
        check_runner(lambda obs: obs.default())


class Plain(Runner):
    """Keeps all rules."""

    def __init__(self) -> None:
        self.inputs: tuple[TensorSpec, ...] = find_point("evict").select(["mask"])
        self.output = find_point("evict").advice
        self.count = 0

    def evaluate(self) -> object:
        self.count += 1
        return int(self.tensors["mask"].argmax())


class Flattens(Plain):
    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8], host: Host | None = None) -> None:
        super().bind({name: view.reshape(-1) for name, view in tensors.items()}, frame, host)


class Lists(Plain):
    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8], host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self.mask = tensors["mask"]
        self.tensors = {"mask": self.mask.tolist()}

    def evaluate(self) -> object:
        return int(self.mask.argmax())


class RaisesInBind(Plain):
    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8], host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        raise ValueError("not now")


class ChangesOutput(Plain):
    def evaluate(self) -> object:
        self.output = replace(self.output, name="other")
        return super().evaluate()


MADE: list[Plain] = []


class Tires(Plain):
    """The second runner answers otherwise from its fifth question on."""

    def __init__(self) -> None:
        super().__init__()
        self.late = len(MADE) > 2
        MADE.append(self)

    def evaluate(self) -> object:
        first = super().evaluate()
        legal = self.tensors["mask"][0].nonzero()[0]
        return int(legal[-1]) if self.late and self.count > 4 else first


@pytest.mark.parametrize(
    ("runner", "rule"),
    [
        (Flattens, "bind() keeps the buffers that it is given, as tensors"),
        (Lists, "bind() keeps the buffers that it is given, as tensors"),
        (RaisesInBind, "bind does not raise: ValueError: not now"),
        (ChangesOutput, "inputs and output stay the same for the runner's life"),
        (Tires, "two runners made alike answer alike: they differ at decision 4"),
    ],
)
def test_more_broken_rules(runner: Callable[[], Runner], rule: str) -> None:
    MADE.clear()
    with pytest.raises(ConformanceError) as caught:
        check_runner(runner, "evict", 20)
    _, *broken = str(caught.value).splitlines()
    assert [each.startswith(f"  - {rule}") for each in broken] == [True]


def test_every_runner_that_is_made_is_closed_twice() -> None:
    made: list[Recording] = []

    def make() -> Runner:
        made.append(Recording(find_point("inline")))
        return made[-1]

    check_runner(make, decisions=3)
    steps = [[*each.said] for each in made]
    whole = ["bind", "", "ask", "ask", "ask", "close", "close"]
    assert steps[1:4] == [whole, ["close", "close"], whole]
    assert all("close" in each.said for each in made[:4])
