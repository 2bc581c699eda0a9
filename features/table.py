# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointTable`: the table of a decision point that passes in Python ask."""

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
    """What a pass tells of each decision, and the answers that it takes."""

    name: str
    rows: tuple[Feature, ...]
    advice: TensorSpec
    domain: Domain

    @property
    def default(self) -> TensorSpec:
        """The pass's own decision."""
        return TensorSpec(f"{self.advice.name}_default", self.advice.dtype, self.advice.shape)

    def table(self) -> tuple[Feature, ...]:
        """What the point offers: its rows, then the default decision, then the custom features of now."""
        doc = "what its default decides; computed only if asked for"
        return (*self.rows, Feature(self.default, doc), *custom_rows(self.name))

    def point(self) -> Point:
        """What runners know of the point."""
        specs = tuple(row.spec for row in self.table())
        return Point(self.name, specs, self.advice, self.default, self.domain)
