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


def vector_mask(op: Structured, sizes: Sequence[int], tile: Sequence[int]) -> list[list[bool]]:
    """The choices for the loop behind those of `sizes`, in a tile for a cache.

    A size must divide the tile, and the vector has at most `MOST_ELEMENTS`. Of loops whose sum is an index,
    one is in the vector. An operation with loops whose order matters stays scalar code.
    """
    number = len(sizes)
    is_fixed = any(each.is_fixed or each.is_dynamic for each in op.loops)
    rooms = [_room(loop.extent, size) for loop, size in zip(op.loops, tile or [0] * MOST_LOOPS, strict=False)]
    chosen = [size or room for size, room in zip(sizes, rooms, strict=False)]
    sums = [loops for operand in op.operands for loops in operand.loops if number in loops and len(loops) > 1]
    is_taken = any(chosen[loop] > 1 for loops in sums for loop in loops if loop < number)

    def allowed(size: int) -> bool:
        if size < 0 or is_fixed:
            return size < 0 and number == 0
        if size == 0 and not rooms[number]:
            return False
        whole = size or rooms[number]
        if whole == 1:
            return True
        return (
            not is_taken
            and rooms[number] % whole == 0 < rooms[number]
            and prod(chosen) * whole <= MOST_ELEMENTS
        )

    return [[allowed(size) for size in VECTOR_SIZES]]


def _room(extent: int, tile: int) -> int:
    """The iterations of a tile; 0 if the last tile has fewer."""
    return 0 if tile and extent % tile else min(tile, extent) or extent


def observe_vector(
    op: Structured, sizes: Sequence[int], planned: int, tile: Sequence[int]
) -> Mapping[str, object]:
    """The feature values of the next loop for `VECTORIZE`, beside those of the operation."""
    return {**observe_loop(op, len(sizes), sizes, planned), "mask": vector_mask(op, sizes, tile)}
