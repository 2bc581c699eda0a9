# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runner contract: the interface between a decision point and the runner that answers it.

At construction a runner sets which offered tensors it reads (`inputs`) and what it answers (`output`). The
caller binds it once to buffers that never move, and asks it once per decision:

    runner.bind(tensors, frame, host)      once
    runner.switch_context(name)            at any time, any number of times
    runner.evaluate() -> advice            once per decision; the tensors hold its features
    runner.evaluate_batch(frames)          once for several decisions that do not depend on each other
    runner.close()                         any number of times

The tensors belong to the caller: a runner neither writes nor clears them. One runner serves one thread at a
time. `passpilot.check_runner` tests these rules.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypeAlias, TypeVar

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec, layout

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from passpilot.plugin import _core

__all__ = ["Choice", "Flag", "Host", "Number", "Point", "Runner", "TensorSpec", "allocate", "tensor_views"]

Tensor: TypeAlias = "NDArray[np.integer | np.floating]"
Frame: TypeAlias = "NDArray[np.uint8]"
"""Tensors in one buffer, placed by `passpilot.features.spec.layout`."""

AnyRunner = TypeVar("AnyRunner", bound="Runner")


class Host(Protocol):
    """The compiler, for a runner in its process: facts about the current decision beyond its tensors."""

    @property
    def site(self) -> object:
        """A view of the IR at the decision: a call site, an eviction candidate, or a live range."""

    def default(self) -> bool | int | float:
        """The compiler's own decision, of the advice's type; computed on demand."""

    def feature(self, name: str) -> Tensor:
        """An offered tensor that is not among the runner's inputs; computed on demand."""

    def stamp(self, name: str) -> int | None:
        """A number that changes when the input `name` changes; None if the compiler does not know."""


class Runner(ABC):
    """Answers the questions of one decision point."""

    inputs: tuple[TensorSpec, ...]
    """The tensors the runner reads: a subset of the point's features, in any order."""

    output: TensorSpec
    """The spec of the advice."""

    tensors: Mapping[str, Tensor] = MappingProxyType({})
    """The inputs by name, once bound; the buffers never move."""

    frame: Frame
    """The one buffer that holds all inputs, placed by `passpilot.features.spec.layout`."""

    advised: bool = False
    """Whether an advisor has taken this runner; a runner serves one advisor."""

    host: Host | None = None
    """The compiler; None if it is another process."""

    named_by: _core.PolicyRecord | None = None
    """The policy that the runner belongs to, if it was named by one."""

    budgeted: ClassVar[bool] = True
    """Whether an advisor may override answers to keep a budget; a replayed log already keeps it."""

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame, host: Host | None = None) -> None:
        """Take the buffers of `inputs`. Called once, before the first question."""
        self.tensors = tensors
        self.frame = frame
        self.host = host

    @abstractmethod
    def evaluate(self) -> object:
        """The advice on the decision whose features the tensors hold.

        Raises:
            RunnerError: the runner has no advice; a decision function in Python may raise anything.
        """

    def evaluate_batch(self, frames: Frame) -> Sequence[object]:
        """The advice on several decisions that do not depend on each other's advice.

        `frames` is uint8[decisions, frame size]. The default copies each row into `frame` and calls
        `evaluate`; a runner that is faster in batches overrides it with the same answers. All decisions
        belong to one context, unless the runner does not override `switch_context`. After an error that is
        not fatal, the caller asks about each decision alone.

        Raises:
            RunnerError: the runner has no advice on one of the decisions.
        """
        answers = []
        for row in frames:
            self.frame[:] = row
            answers.append(self.evaluate())
        return answers

    def switch_context(self, name: str) -> None:  # noqa: B027  (not every runner has contexts)
        """Start the context `name`, such as a module: the next decisions belong to it."""

    def close(self) -> None:  # noqa: B027  (not every runner holds something)
        """Release what the runner holds; it need not answer afterwards. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def allocate(runner: AnyRunner, host: Host | None = None) -> AnyRunner:
    """Bind the runner to new zeroed buffers, as the compiler would, and return it."""
    import numpy as np

    frame = np.zeros(layout(runner.inputs)[1], np.uint8)
    runner.bind(tensor_views(runner.inputs, frame), frame, host)
    return runner


def tensor_views(specs: Sequence[TensorSpec], frame: Frame) -> dict[str, Tensor]:
    """Views of `frame` by tensor name, placed by `layout(specs)`."""
    offsets, _ = layout(specs)
    return {
        spec.name: frame[start : start + spec.nbytes].view(spec.numpy_dtype).reshape(spec.shape)
        for spec, start in zip(specs, offsets, strict=True)
    }


def own_features(point: Point) -> tuple[TensorSpec, ...]:
    """The point's own features, without the default decision and custom features."""
    names = [spec.name for spec in point.features]
    end = names.index(point.default.name) if point.default.name in names else len(names)
    return point.features[:end]
