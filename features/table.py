# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointTable`: the feature table, advice and domain of a decision point."""

from __future__ import annotations

from dataclasses import dataclass

from passpilot.features.custom import custom_rows
from passpilot.features.domain import Choice, Domain
from passpilot.features.point import Feature, Point
from passpilot.features.spec import TensorSpec


@dataclass(frozen=True, slots=True)
class PointTable:
    """The features that a decision point offers to its runner, and the advice that it accepts."""

    name: str
    rows: tuple[Feature, ...]
    advice: TensorSpec
    domain: Domain
    default_doc: str = "what its default decides"
    default_name: str = ""
    """The name of the default decision's tensor, unless it is the advice's with ``_default``."""

    @property
    def default(self) -> TensorSpec:
        """The tensor of the default decision."""
        name = self.default_name or f"{self.advice.name}_default"
        return TensorSpec(name, self.advice.dtype, self.advice.shape)

    def table(self) -> tuple[Feature, ...]:
        """All offered features: the rows, the default decision, then the custom features."""
        default = Feature(self.default, f"{self.default_doc}; computed only if asked for")
        return (*self.rows, default, *custom_rows(self.name))

    def point(self) -> Point:
        """The point as runners see it."""
        specs = tuple(row.spec for row in self.table())
        return Point(self.name, specs, self.advice, self.default, self.domain)


def choice_table(name: str, advice: str, count: int, rows: tuple[Feature, ...]) -> PointTable:
    """The table of a choice among `count` columns; the row ``mask`` marks the legal ones."""
    return PointTable(name, rows, TensorSpec(advice, "int64", (1,)), Choice(count, "mask"))
