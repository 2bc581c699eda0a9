# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runner contract: the one interface between a decision point and whoever answers it.

A runner says at construction which of the offered tensors it reads (`inputs`) and what it answers (`output`).
It is then bound once to buffers that stay where they are, and asked once per decision:

    runner.bind(tensors, frame, host)      once
    runner.switch_context(name)            at any time, any number of times
    runner.evaluate() -> advice            once per decision; the tensors hold its features
    runner.evaluate_batch(frames)          once for several decisions that do not depend on each other
    runner.close()                         any number of times

The tensors belong to the caller: a runner neither writes nor clears them. One runner serves one thread at a
time. `passpilot.check_runner` tells whether a runner keeps these rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec, layout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self, TypeAlias

    import numpy as np
    from numpy.typing import NDArray

    Tensor: TypeAlias = NDArray[np.integer | np.floating]

__all__ = ["Choice", "Flag", "Host", "Number", "Point", "Runner", "TensorSpec", "allocate", "tensor_views"]

AnyRunner = TypeVar("AnyRunner", bound="Runner")


class Host(Protocol):
    """What a runner inside the compiler may ask about the present decision, beyond its tensors."""

    @property
    def site(self) -> object:
        """The view of the place of the decision: a call site, the candidate of an eviction, a live range."""

    def default(self) -> bool | int | float:
        """The compiler's own decision, of the type of the advice; computed when asked for."""

    def feature(self, name: str) -> Tensor:
        """An offered tensor that is not among the runner's inputs; computed when asked for."""


class Runner(ABC):
    """Answers the questions of one decision point."""

    inputs: tuple[TensorSpec, ...]
    """The tensors it reads, a subset of what the point offers, in an order of its own."""

    output: TensorSpec
    """The advice."""

    tensors: Mapping[str, Tensor] = MappingProxyType({})
    """The inputs by name, once bound; the buffers stay the same for the runner's life."""

    frame: NDArray[np.uint8]
    """The one block that holds the inputs, as `passpilot.features.spec.layout` places them."""

    advised: bool = False
    """Whether an advisor has taken it; a runner serves one."""

    host: Host | None = None
    """The compiler, or None where it is in another process."""

    budgeted: ClassVar[bool] = True
    """Whether an advisor may decide in its place to keep to a budget; a replayed log has kept its own."""

    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8], host: Host | None = None) -> None:
        """Take the buffers of `inputs`. Called once, before the first question."""
        self.tensors = tensors
        self.frame = frame
        self.host = host

    @abstractmethod
    def evaluate(self) -> object:
        """The advice on the decision whose features the tensors hold.

        Raises:
            RunnerError: there is no advice; a Python policy may raise whatever it likes.
        """

    def evaluate_batch(self, frames: NDArray[np.uint8]) -> Sequence[object]:
        """The advice on each of several decisions, none of which depends on another's advice.

        `frames` has one row per decision, of the size of `frame`. This asks `evaluate` for each, with its row
        in `frame`; a runner that answers them faster together has a method of its own, with the same answers.
        The decisions are of one context, unless the runner has no `switch_context` of its own. After an error
        that is not fatal each is asked alone.

        Raises:
            RunnerError: there is no advice on one of them.
        """
        answers = []
        for row in frames:
            self.frame[:] = row
            answers.append(self.evaluate())
        return answers

    def switch_context(self, name: str) -> None:  # noqa: B027  (not every runner has contexts)
        """The decisions that follow belong to the context `name`, such as a module."""

    def close(self) -> None:  # noqa: B027  (not every runner holds something)
        """Let go of whatever the runner holds; once closed, it need not answer. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def allocate(runner: AnyRunner, host: Host | None = None) -> AnyRunner:
    """Bind the runner to zeroed buffers of its own, as the compiler would; returns the runner."""
    import numpy as np

    frame = np.zeros(layout(runner.inputs)[1], np.uint8)
    runner.bind(tensor_views(runner.inputs, frame), frame, host)
    return runner


def tensor_views(specs: Sequence[TensorSpec], frame: NDArray[np.uint8]) -> dict[str, Tensor]:
    """The tensors of a block by name: views of `frame`, which `layout(specs)` describes."""
    offsets, _ = layout(specs)
    return {
        spec.name: frame[start : start + spec.nbytes].view(spec.numpy_dtype).reshape(spec.shape)
        for spec, start in zip(specs, offsets, strict=True)
    }


def own_features(point: Point) -> tuple[TensorSpec, ...]:
    """The point's own table: what it offers before the default decision and custom features."""
    names = [spec.name for spec in point.features]
    end = names.index(point.default.name) if point.default.name in names else len(names)
    return point.features[:end]
