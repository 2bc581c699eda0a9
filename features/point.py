# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Point`: what a decision point offers to a runner; `find_point` finds one by name.

A point's definition is a `PointTable` that the catalogue names, or a `DecisionPoint` that a user declares.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Protocol, cast

from passpilot.features.catalogue import HOOKED, PASS_POINTS, RENAMED
from passpilot.features.domain import Choice, Domain, Number
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import SpecMismatchError, UsageError
from passpilot.plugin.failures import did_you_mean
from passpilot.plugin.origin import warn_user
from passpilot.plugin.registry import Registry

_SCORE: Final = TensorSpec("score", "float64", (1,))


@dataclass(frozen=True, slots=True)
class Feature:
    """One row of a feature table: the tensor, what it means, and where a custom one was registered."""

    spec: TensorSpec
    """The tensor."""
    doc: str
    """What it means."""
    origin: str = ""
    """Where a custom feature was registered; empty for the compiler's own."""


def row(name: str, doc: str, dtype: str = "int64", shape: tuple[int, ...] = (1,)) -> Feature:
    """One row of a feature table."""
    return Feature(TensorSpec(name, dtype, shape), doc)


def features_of(point: str) -> str:
    """What an error about an unknown feature says of where a point's features come from."""
    return f"`passpilot features --point={point}` lists them, and --load=FILE.py adds your own"


class Site(ABC):
    """Base of `obs.site` objects that know their own function and source place."""

    __slots__ = ()

    @property
    def caller_name(self) -> str:
        """The name of the caller; empty if it is not about a call."""
        return ""

    @property
    def callee_name(self) -> str:
        """The name of the callee; empty if it is not about a call."""
        return ""

    @property
    @abstractmethod
    def context(self) -> str:
        """The name of the enclosing function."""

    @property
    @abstractmethod
    def place(self) -> tuple[str, int, int] | None:
        """File, line and column, if known."""

    def __str__(self) -> str:
        calls = f"{self.caller_name or '?'} -> {self.callee_name or '?'}"
        where = " at {}:{}:{}".format(*self.place) if self.place else ""
        return f"{calls if self.callee_name or self.caller_name else self.context}{where}"


@dataclass(frozen=True, slots=True)
class Point:
    """One decision point: its name, the tensors it offers in order, the advice and its domain."""

    name: str
    """The name: ``inline``, ``evict``, or that of the pass that asks."""
    features: tuple[TensorSpec, ...]
    """The features of its table, the default decision, and the custom features."""
    advice: TensorSpec
    """The tensor of the answer."""
    default: TensorSpec
    """The tensor of the compiler's own decision."""
    domain: Domain
    """The allowed answers."""

    def find(self, name: str) -> TensorSpec | None:
        """The offered tensor of this name, or None."""
        return next((spec for spec in self.features if spec.name == name), None)

    def select(self, names: Iterable[str]) -> tuple[TensorSpec, ...]:
        """The offered tensors of these names, in the order of the names.

        Raises:
            SpecMismatchError: some are not offered; lists them all.
        """
        wanted = tuple(names)
        unknown = [name for name in wanted if self.find(name) is None]
        if unknown:
            offered = [spec.name for spec in self.features]
            hints = (did_you_mean(name, offered, 0.8) for name in unknown)
            raise SpecMismatchError(
                f"decision point {self.name}: expected features among those it offers, "
                f"got {', '.join(unknown)}; {features_of(self.name)}{next(filter(None, hints), '')}"
            )
        return tuple(spec for name in wanted if (spec := self.find(name)) is not None)

    def column(self) -> Point:
        """The point as a scorer of single columns sees it.

        A tensor with one element per column is reduced to one element. The advice is a score; the column
        with the largest score is the choice.

        Raises:
            UsageError: the advice is not a choice.
        """
        if not isinstance(self.domain, Choice):
            msg = f"decision point {self.name}: expected a choice among columns to score, got another advice"
            raise UsageError(msg)
        count = self.domain.count
        rows = [replace(spec, shape=(1,)) if spec.size == count else spec for spec in self.features]
        return replace(self, features=tuple(rows), advice=_SCORE, domain=Number(-math.inf, math.inf))

    def check(self, wanted: Iterable[TensorSpec]) -> None:
        """Check that every wanted tensor is offered with the same scalar type and shape.

        Raises:
            SpecMismatchError: some are not; lists them all with both specs.
        """
        wrong = [
            f"{spec.name} is wanted as {spec} and {f'offered as {offered}' if offered else 'not offered'}"
            for spec in wanted
            if str(offered := self.find(spec.name)) != str(spec)
        ]
        if wrong:
            msg = f"decision point {self.name}: expected tensors that it offers, got {'; '.join(wrong)}"
            raise SpecMismatchError(msg)


class Definition(Protocol):
    """The interface of a point's definition: a `PointTable`, or a user's `DecisionPoint`."""

    def table(self) -> tuple[Feature, ...]:
        """All offered features: the rows, the default decision, then the custom features."""

    def point(self) -> Point:
        """The point, with the custom features registered so far."""


class Declared(Definition, Protocol):
    """A decision point that a user has declared."""

    name: str
    origin: str
    """Where it was declared."""


POINTS: Final = Registry[Declared](
    "decision point",
    own={
        **{name: f"passpilot.features.llvm.{row.place}" for name, row in HOOKED.items()},
        **{name: f"passpilot.features.{place}" for name, place in PASS_POINTS.items()},
    },
)
"""The decision points that users have declared; `POINTS.own` are those of the catalogue."""


def is_known(name: str) -> bool:
    """Whether a decision point of this name exists; imports nothing."""
    return name in POINTS or name in POINTS.own


def point_names() -> tuple[str, ...]:
    """The names of the catalogue's decision points, then those declared so far."""
    return *POINTS.own, *POINTS


def current_name(name: str) -> str:
    """The present name of a decision point; warns if `name` is an old one."""
    if is_known(name) or name not in RENAMED:
        return name
    warn_user(f"decision point {name!r} is called {RENAMED[name]!r} now")
    return RENAMED[name]


def find_point(name: str) -> Point:
    """The decision point of this name, with the custom features registered so far.

    Raises:
        UsageError: no decision point has this name.
    """
    return _definition(current_name(name)).point()


def find_table(name: str) -> tuple[Feature, ...]:
    """All features that the decision point of this name offers; the default decision and custom ones last.

    Raises:
        UsageError: no decision point has this name.
    """
    return _definition(current_name(name)).table()


def _definition(name: str) -> Definition:
    if name in POINTS:
        return POINTS[name]
    if name in POINTS.own:
        return cast("Definition", POINTS.import_own(name))
    known = point_names()
    hint = f"; others come from --load files{did_you_mean(name, known)}"
    raise UsageError(f"decision point: expected one of {', '.join(known)}, got {name!r}{hint}")
