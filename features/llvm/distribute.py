# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of an innermost loop that LLVM can distribute: the loop, and what it would become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from passpilot.features.domain import Flag
from passpilot.features.llvm.loop import LOOP_FEATURES, body_of, observe_loop, same_attributes
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable
from passpilot.plugin._core import Distribution, Loop

FEATURES: Final = (
    *LOOP_FEATURES,
    row("dependences", "dependences between loads and stores"),
    row("backward", "those that may point backward, which forbid to vectorize the whole loop"),
    row("parts", "the loops that it would become"),
    row("vectorizable", "the parts that LLVM can vectorize"),
    row("vectorized", "the parts that LLVM would vectorize"),
    row("before", "instructions of the loop, with phis"),
    row("after", "instructions of all parts together; addresses are computed in each part"),
    row("is_checked", "1 if the parts run only if a check before them allows it"),
)

TABLE: Final = PointTable("advised-distribute", FEATURES, TensorSpec("distribute", "int64", (1,)), Flag())
"""The answer is 1 to distribute the loop, 0 to leave it to LLVM, which does not."""


def observe(loop: Loop, known: Distribution) -> Mapping[str, object]:
    """The feature values of an innermost loop; `known` is its `distribution`. For function passes."""
    return {**observe_loop(loop, body_of(loop)), **same_attributes(FEATURES, known)}
