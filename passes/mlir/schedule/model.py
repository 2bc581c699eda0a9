# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Estimates how long an operation takes with a plan, from the machine's vectors, registers and caches.

The estimate ranks plans so that few of them must run; it is no prediction of the time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, prod
from typing import Final, NamedTuple

from passpilot.passes.mlir.schedule.plan import OperationPlan
from passpilot.passes.mlir.schedule.shape import OperationShape

_SCALAR: Final = 6.0
"""How much slower scalar loops are than vectors, in the mean: LLVM vectorizes some of them."""
_LATENCY: Final = 8
"""Independent accumulators that keep two units busy for the latency of a multiply-add."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What the estimate knows about the processor."""

    vector_bytes: int = 16
    registers: int = 16
    first_cache: int = 32 << 10
    second_cache: int = 512 << 10


@cache
def machine() -> Machine:
    """This processor, as Linux describes it; unknown parts have their defaults."""
    unknown = Machine()
    flags = _text("/proc/cpuinfo").partition("flags")[2].partition("\n")[0].split()
    wide = "avx512f" in flags
    caches = {}
    for index in range(5):
        folder = f"/sys/devices/system/cpu/cpu0/cache/index{index}"
        size = _text(f"{folder}/size").strip().removesuffix("K")
        if size.isdigit() and _text(f"{folder}/type").strip() != "Instruction":
            caches[_text(f"{folder}/level").strip()] = int(size) << 10
    return Machine(
        64 if wide else 32 if "avx2" in flags else 16,
        32 if wide or os.uname().machine == "aarch64" else 16,
        caches.get("1", unknown.first_cache),
        caches.get("2", unknown.second_cache),
    )


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


class Roles(NamedTuple):
    """The loops of a sum of products: of its rows, its columns (which are contiguous), and its sum."""

    row: int
    column: int
    sum: int


def roles(shape: OperationShape) -> Roles | None:
    """The loops that become a tile of registers; None if the operation is no sum of products."""
    column = shape.contiguous
    if not (shape.is_contraction or shape.is_convolution) or column is None or shape.inputs != 2:
        return None
    if column not in shape.parallel or not shape.reductions:
        return None
    right = shape.operands[1].loops
    rows = [loop for loop in shape.parallel if loop != column and not any(loop in dim for dim in right)]
    if not rows:
        return None
    extents = shape.extents
    return Roles(
        max(rows, key=lambda loop: (extents[loop], loop)),
        column,
        max(shape.reductions, key=lambda loop: (extents[loop], loop)),
    )


def lanes(shape: OperationShape, here: Machine) -> int:
    """The elements of the output in a vector register."""
    return max(1, here.vector_bytes * 8 // max(8, shape.operands[-1].bits))


def sizes_of(shape: OperationShape, plan: OperationPlan) -> tuple[int, ...]:
    """The size of the innermost tile per loop."""
    return tuple(
        size or (tile or extent)
        for size, tile, extent in zip(
            plan.vector, plan.tile or (0,) * len(shape.loops), shape.extents, strict=True
        )
    )


def estimate(shape: OperationShape, plan: OperationPlan, here: Machine) -> float:
    """The cycles of an operation, to compare plans of it."""
    if not shape.loops:
        return 0.0
    iterations = prod(shape.extents)
    if not plan.vector:
        return iterations * max(1, shape.arithmetic) * _SCALAR / lanes(shape, here) + iterations / 4
    sizes = sizes_of(shape, plan)
    found = roles(shape)
    if found is None:
        return _streaming(shape, sizes, here)
    return _contraction(shape, plan, sizes, here)


def _streaming(shape: OperationShape, sizes: Sequence[int], here: Machine) -> float:
    """Operations that read and write every element about once."""
    width, elements = lanes(shape, here), prod(sizes)
    last = shape.contiguous
    along = sizes[last] if last is not None else 1
    used = along / (ceil(along / width) * width)
    vectors = elements / width
    spills = max(1.0, vectors / (4 * here.registers))
    reduction = 1 + 4 * bool(shape.reductions) * width / max(elements, 1)
    steps = prod(shape.extents) / elements
    return steps * (vectors * max(1, shape.arithmetic) * spills * reduction / used + 6)


def _contraction(shape: OperationShape, plan: OperationPlan, sizes: Sequence[int], here: Machine) -> float:
    """Sums of products: a tile of sums in registers, and panels in caches."""
    width, bits = lanes(shape, here), shape.operands[-1].bits
    reductions = set(shape.reductions)
    column = shape.contiguous or 0
    rows = prod(size for loop, size in enumerate(sizes) if loop not in reductions and loop != column)
    depth = prod(size for loop, size in enumerate(sizes) if loop in reductions)
    vectors = ceil(sizes[column] / width)
    sums = rows * vectors
    loads = (vectors + rows) / 2
    cycles = (max(sums / 2, loads, _LATENCY / 2) + 0.15 * loads) * depth
    if sums + vectors + 1 > here.registers:
        cycles *= 1 + (sums + vectors + 1 - here.registers) / 8
    tile = [
        size or extent for size, extent in zip(plan.tile or (0,) * len(sizes), shape.extents, strict=True)
    ]
    sum_steps = prod(tile[loop] for loop in reductions) / depth
    cycles = cycles * sum_steps + 2 * sums  # the sums are loaded and stored once per tile
    panel = sum_steps * depth * sizes[column] * bits / 8
    block = (
        sum_steps
        * depth
        * prod(extent for loop, extent in enumerate(tile) if loop not in reductions and loop != column)
        * bits
        / 8
    )
    cycles *= 1 + 0.25 * (panel > here.first_cache * 0.6) + 0.35 * (block > here.second_cache * 0.6)
    tiles = prod(ceil(extent / size) for extent, size in zip(shape.extents, sizes, strict=True))
    outer = tiles / sum_steps
    strided = (
        1.0 if len(shape.operands[1].loops) > 2 or sizes[column] * bits // 8 >= here.vector_bytes else 1.5
    )
    return outer * cycles * strided
