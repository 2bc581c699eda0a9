# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of an innermost loop that may be unrolled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from passpilot.features.llvm.loop import LOOP_FEATURES, body_of, observe_loop
from passpilot.features.point import row
from passpilot.features.table import choice_table
from passpilot.plugin._core import Loop

FACTORS: Final = (0, 1, 2, 4, 8)
"""The unroll factor of each choice: 0 leaves the loop to LLVM, 1 forbids unrolling."""

LARGEST: Final = 1024
"""The largest size of an unrolled body, in the units of ``size``."""

FEATURES: Final = (*LOOP_FEATURES, row("mask", "1 for each factor that is allowed", shape=(1, len(FACTORS))))

TABLE: Final = choice_table("advised-unroll", "unroll_choice", len(FACTORS), FEATURES)
"""The answer is an index into `FACTORS`."""


def observe(loop: Loop) -> Mapping[str, object]:
    """The feature values of an innermost loop. For function passes."""
    values = observe_loop(loop, body_of(loop))
    size, most = cast("int", values["size"]), cast("int", values["max_trip_count"])
    return {**values, "mask": [[_is_allowed(factor, size, most) for factor in FACTORS]]}


def _is_allowed(factor: int, size: int, most: int) -> bool:
    """Whether the factor is at most the trip count, and the unrolled body at most `LARGEST`."""
    return factor <= 1 or ((most == 0 or factor <= most) and factor * size <= LARGEST)
