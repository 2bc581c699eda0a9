# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointTable`: the feature table, advice and domain of a decision point of a Python pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from passpilot.features.custom import custom_rows
from passpilot.features.point import Feature, Point
from passpilot.features.spec import TensorSpec

if TYPE_CHECKING:
    from passpilot.features.domain import Domain


@dataclass(frozen=True, slots=True)
class PointTable:
    """The features that a pass passes to its runner, and the advice that it accepts."""

    name: str
    rows: tuple[Feature, ...]
    advice: TensorSpec
    domain: Domain

    @property
    def default(self) -> TensorSpec:
        """The tensor of the pass's own decision."""
        return TensorSpec(f"{self.advice.name}_default", self.advice.dtype, self.advice.shape)

    def table(self) -> tuple[Feature, ...]:
        """All offered features: the rows, the default decision, then the custom features."""
        doc = "what its default decides; computed only if asked for"
        return (*self.rows, Feature(self.default, doc), *custom_rows(self.name))

    def point(self) -> Point:
        """The point as runners see it."""
        specs = tuple(row.spec for row in self.table())
        return Point(self.name, specs, self.advice, self.default, self.domain)
