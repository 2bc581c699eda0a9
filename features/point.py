# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Point`: what a decision point offers to a runner, and the domain of the advice it takes.

Each decision point has a module here, whose `table()` gives its rows and whose `point()` gives the `Point`.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from passpilot.plugin.errors import AdviceError, SpecMismatchError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from passpilot.features.spec import TensorSpec

POINTS: Final = {"inline": "passpilot.features.inline"}
"""The decision points by name, with the module of each."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One row of a feature table: the tensor, what it means, and where a custom one was registered."""

    spec: TensorSpec
    doc: str
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Flag:
    """The advice domain of a yes-or-no decision."""

    def accept(self, answer: object) -> int:
        """The answer as 0 or 1.

        Takes bool, int, numpy's bool and integer scalars, and arrays of one such element.

        Raises:
            AdviceError: anything else.
        """
        if answer is True or answer is False:
            return int(answer)
        plain = _plain(answer)
        if isinstance(plain, int) and plain in (0, 1):
            return int(plain)
        got = f"{type(answer).__name__} {answer!r}"
        msg = f"advice: expected a bool or an integer 0 or 1, got {got}; return the decision itself"
        raise AdviceError(msg)


def _plain(answer: object) -> object:
    """A numpy scalar or array of one element as the plain Python value it holds, anything else as it is."""
    item = getattr(answer, "item", None)
    if callable(item) and getattr(answer, "size", None) == 1:
        return cast("object", item())
    return answer


@dataclass(frozen=True, slots=True)
class Point:
    """One decision point: its name, the tensors it offers in order, the spec and the domain of the advice."""

    name: str
    features: tuple[TensorSpec, ...]
    advice: TensorSpec
    domain: Flag

    def find(self, name: str) -> TensorSpec | None:
        """The offered tensor of this name, or None."""
        return next((spec for spec in self.features if spec.name == name), None)

    def select(self, names: Iterable[str]) -> tuple[TensorSpec, ...]:
        """The offered tensors of these names, in the order of the names.

        Raises:
            SpecMismatchError: names all that are not offered.
        """
        wanted = tuple(names)
        unknown = [name for name in wanted if self.find(name) is None]
        if unknown:
            msg = (
                f"decision point {self.name}: expected features among those it offers, "
                f"got {', '.join(unknown)}; `passpilot features` lists them"
            )
            raise SpecMismatchError(msg)
        return tuple(spec for name in wanted if (spec := self.find(name)) is not None)

    def check(self, wanted: Iterable[TensorSpec]) -> None:
        """Make sure that every wanted tensor is offered with the same scalar type and shape.

        Raises:
            SpecMismatchError: names each one that is not, with both specs.
        """
        wrong = [
            f"{spec.name} is wanted as {spec} and {f'offered as {offered}' if offered else 'not offered'}"
            for spec in wanted
            if str(offered := self.find(spec.name)) != str(spec)
        ]
        if wrong:
            msg = f"decision point {self.name}: expected tensors that it offers, got {'; '.join(wrong)}"
            raise SpecMismatchError(msg)


def find_point(name: str) -> Point:
    """The decision point of this name, with the custom features registered until now.

    Raises:
        UsageError: there is none of this name.
    """
    build: Callable[[], Point] = _module(name).point
    return build()


def find_table(name: str) -> tuple[Feature, ...]:
    """The rows of what the decision point of this name offers now, the default decision and custom ones last.

    Raises:
        UsageError: there is none of this name.
    """
    build: Callable[[], tuple[Feature, ...]] = _module(name).table
    return build()


def _module(name: str) -> ModuleType:
    if name not in POINTS:
        msg = f"decision point: expected one of {', '.join(POINTS)}, got {name!r}"
        raise UsageError(msg)
    return importlib.import_module(POINTS[name])
