# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees where `advised-schedule` asks how to schedule an operation of linalg.

All points have the features of an operation that `mlir-tile` has. `planned` is what the plan says: that of
the estimate, or of a file that `passpilot tune` has written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final

from passpilot.features.domain import Choice, Flag
from passpilot.features.mlir.tile import FEATURES as TILE_FEATURES
from passpilot.features.mlir.tile import observe_loop
from passpilot.features.mlir.tileable import MOST_LOOPS, Structured
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable

VECTOR_SIZES: Final = (
    *(-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32),
    *(40, 48, 56, 64, 80, 96, 112, 128, 192, 256, 512, 768, 1024),
)
"""The size of the innermost tile for each choice: 0 for the whole loop; -1, for the first loop only, leaves
the operation scalar code."""

MOST_ELEMENTS: Final = 4096
"""Of a vector; larger ones take long to compile."""

_OF_LOOPS: Final = frozenset(
    (
        "loop",
        "extent",
        "is_dynamic",
        "is_reduction",
        "operands_indexed",
        "operands_contiguous",
        "sizes",
        "mask",
    )
)
_OPERATION: Final = tuple(each for each in TILE_FEATURES if each.spec.name not in _OF_LOOPS)
_LOOP: Final = tuple(each for each in TILE_FEATURES if each.spec.name != "mask")

VECTORIZE: Final = PointTable(
    "mlir-vectorize",
    (
        *_LOOP,
        row("mask", "1 for each size that is allowed", shape=(1, len(VECTOR_SIZES))),
    ),
    TensorSpec("vector_choice", "int64", (1,)),
    Choice(len(VECTOR_SIZES), "mask"),
)
"""The answer is an index into `VECTOR_SIZES`."""

INTERCHANGE: Final = PointTable(
    "mlir-interchange",
    (
        *_OPERATION,
        row("place", "the place that is asked about, 0 for the outermost loop"),
        row("planned", "the loop that the plan has there"),
        row("mask", "1 for each loop that has no place yet", shape=(1, MOST_LOOPS)),
    ),
    TensorSpec("next_loop", "int64", (1,)),
    Choice(MOST_LOOPS, "mask"),
)
"""The answer is the loop of the place."""

PARALLEL: Final = PointTable(
    "mlir-parallel",
    (
        *_OPERATION,
        row("threads", "the threads that there are"),
        row("planned", "1 if the plan shares the loop"),
    ),
    TensorSpec("is_parallel", "int64", (1,)),
    Flag(),
)
"""The answer is 1 if threads share the outermost loop without a reduction."""

PACK: Final = PointTable(
    "mlir-pack",
    (*_OPERATION, row("planned", "1 if the plan packs the operands")),
    TensorSpec("is_packed", "int64", (1,)),
    Flag(),
)
"""The answer is 1 to lay out the operands of a contraction in panels."""


def vector_mask(op: Structured, sizes: Sequence[int]) -> list[list[bool]]:
    """The choices for the loop behind those of `sizes`.

    A size must divide the loop, and the vector has at most `MOST_ELEMENTS`. An operation with loops whose
    order matters stays scalar code.
    """
    number, loop = len(sizes), op.loops[len(sizes)]
    is_fixed = any(each.is_fixed or each.is_dynamic for each in op.loops)
    elements = prod(size or each.extent for size, each in zip(sizes, op.loops, strict=False))

    def allowed(size: int) -> bool:
        if size < 0 or is_fixed:
            return size < 0 and number == 0
        whole = size or loop.extent
        return loop.extent % whole == 0 and (whole == 1 or elements * whole <= MOST_ELEMENTS)

    return [[allowed(size) for size in VECTOR_SIZES]]


def observe_vector(op: Structured, sizes: Sequence[int], planned: int) -> Mapping[str, object]:
    """The feature values of the next loop for `VECTORIZE`, beside those of the operation."""
    return {**observe_loop(op, len(sizes), sizes, planned), "mask": vector_mask(op, sizes)}
