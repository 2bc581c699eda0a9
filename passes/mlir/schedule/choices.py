# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plans that a search may choose among, and the plan that the estimate alone would take."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice, product
from math import prod
from typing import Final

from passpilot.features.mlir.schedule import MOST_ELEMENTS
from passpilot.passes.mlir.schedule.model import Machine, estimate, lanes, roles
from passpilot.passes.mlir.schedule.plan import KernelPlan, OperationPlan
from passpilot.passes.mlir.schedule.shape import OperationShape

LEVERS: Final = ("tile", "interchange", "vectorize", "unroll", "fuse", "pack", "parallel")
"""What a search decides."""

ROWS: Final = (1, 2, 4, 6, 7, 8, 10, 12, 14, 16, 24)
DEPTHS: Final = (1, 2, 4, 8, 16)
COLUMNS: Final = (1, 2, 3, 4, 6)
"""Vectors of a row."""
TILES: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
UNROLLS: Final = (1, 2, 4)
MOST_SUMS: Final = 64
"""Vector registers' worth of sums; more only spill."""


def vectors(shape: OperationShape, here: Machine) -> Iterator[tuple[int, ...]]:
    """The innermost tiles that divide the loops; empty for scalar code."""
    yield ()
    count, extents, found = len(shape.loops), shape.extents, roles(shape)
    if not count or any(loop.is_fixed for loop in shape.loops):
        return
    width = lanes(shape, here)
    if found is None:
        yield from _trailing(shape, width)
        return
    packed = (
        sum(shape.operands[-1].loops[at] != frozenset() for at in range(len(shape.operands[-1].shape))) > 2
    )
    if packed and shape.is_contraction and extents[found.column] <= MOST_SUMS * width and count > 5:
        inner = _packed_loops(shape)
        if inner:
            yield tuple(0 if loop in inner else 1 for loop in range(count))
            return
    for rows, columns, depth in product(ROWS, COLUMNS, DEPTHS):
        sizes = [1] * count
        sizes[found.row], sizes[found.column], sizes[found.sum] = rows, columns * width, depth
        fits = all(extent % size == 0 for extent, size in zip(extents, sizes, strict=True))
        if fits and rows * columns <= MOST_SUMS and (depth > 1 or extents[found.sum] == 1):
            yield tuple(sizes)


def _packed_loops(shape: OperationShape) -> tuple[int, ...]:
    """The inner loops of a contraction whose operands `pack` has laid out: the second half."""
    count = len(shape.loops)
    half = count // 2
    return tuple(range(half, count)) if count % 2 == 0 and prod(shape.extents[half:]) <= 1 << 14 else ()


def _trailing(shape: OperationShape, width: int) -> Iterator[tuple[int, ...]]:
    """The last loops as a whole, or a part of the contiguous one."""
    count, extents = len(shape.loops), shape.extents
    for kept in range(count):
        if prod(extents[kept:]) <= MOST_ELEMENTS and (kept == count - 1 or prod(extents[kept:]) <= 1024):
            yield (*(1,) * kept, *(0,) * (count - kept))
    last = shape.contiguous if shape.contiguous is not None else count - 1
    for times in (1, 2, 4, 8, 16):
        if extents[last] % (width * times) == 0 and width * times < extents[last]:
            sizes = [1] * count
            sizes[last] = width * times
            yield tuple(sizes)
    if shape.reductions and count > 1:  # sums of several rows side by side
        last = shape.reductions[-1]
        for rows in (4, 8, 16):
            row = shape.parallel[-1] if shape.parallel else last
            if row != last and extents[row] % rows == 0 and extents[last] % width == 0:
                sizes = [1] * count
                sizes[row], sizes[last] = rows, width
                yield tuple(sizes)


def tiles(shape: OperationShape, vector: Sequence[int], rng: random.Random) -> tuple[int, ...]:
    """Random tiles for a cache, which the innermost tile divides."""
    sizes = []
    for loop, extent in enumerate(shape.extents):
        least = vector[loop] if vector else 1
        if not least or extent <= 1 or shape.loops[loop].is_fixed:
            sizes.append(0)
            continue
        fitting = [
            size for size in TILES if size and size % least == 0 and size < extent and extent % size == 0
        ]
        if least == 1 and len(shape.loops) > 5:  # after packing, the rest of a loop is whole panels
            fitting = [size for size in TILES if 1 < size < extent]
        sizes.append(rng.choice([0, *fitting]))
    return tuple(sizes) if any(sizes) else ()


def operation_plan(
    shape: OperationShape,
    here: Machine,
    rng: random.Random,
    levers: Collection[str] = LEVERS,
    threads: int = 1,
) -> OperationPlan:
    """A random plan of an operation."""
    vector = rng.choice(list(vectors(shape, here))) if "vectorize" in levers else ()
    tile = tiles(shape, vector, rng) if "tile" in levers and roles(shape) else ()
    order = list(range(len(shape.loops)))
    if "interchange" in levers and tile and rng.random() < 0.5:
        half = sum(size > 0 for size in tile)
        head = order[: max(half, 1)]
        rng.shuffle(head)
        order = [*head, *order[len(head) :]]
    unroll = rng.choice(UNROLLS) if "unroll" in levers and vector else 1
    return OperationPlan(
        tile,
        () if order == sorted(order) else tuple(order),
        vector,
        unroll,
        threads if "parallel" in levers and threads > 1 and shape.flops > 1e5 else 1,
    )


def best_plan(
    shape: OperationShape,
    here: Machine,
    rng: random.Random,
    levers: Collection[str] = LEVERS,
    threads: int = 1,
    samples: int = 200,
) -> OperationPlan:
    """The plan of an operation that the estimate takes for the fastest among random ones."""
    plans = (operation_plan(shape, here, rng, levers, threads) for _ in range(samples))
    return min((OperationPlan(), *plans), key=lambda plan: estimate(shape, plan, here))


def packs(shape: OperationShape, here: Machine) -> Iterator[tuple[int, ...]]:
    """The packed tiles of a contraction of two dimensions, those with the best estimate first."""
    found = roles(shape)
    if found is None or not shape.is_contraction or len(shape.loops) != 3 or not shape.is_tensor:
        return
    width = lanes(shape, here)
    extents = shape.extents
    ranked: list[tuple[float, tuple[int, ...]]] = []
    for rows, columns, depth in product(ROWS, COLUMNS, DEPTHS[1:]):
        sizes = [0] * 3
        sizes[found.row], sizes[found.column], sizes[found.sum] = rows, columns * width, depth
        if rows * columns > here.registers or any(
            size > extent for size, extent in zip(sizes, extents, strict=True)
        ):
            continue
        padded = prod(-(-extent // size) * size for extent, size in zip(extents, sizes, strict=True))
        plan = OperationPlan(vector=tuple(sizes))
        ranked.append((estimate(shape, plan, here) * padded / prod(extents), tuple(sizes)))
    yield from (sizes for _, sizes in sorted(ranked))


def structures(
    function: str, shapes: Sequence[OperationShape], here: Machine, levers: Collection[str] = LEVERS
) -> Iterator[KernelPlan]:
    """What to try for fusion and packing, the most promising first; `shapes` are those after fusion."""
    plain = KernelPlan(function, fuse="fuse" in levers)
    packable = [list(islice(packs(shape, here), 24)) for shape in shapes]
    roots = list(_roots(shapes)) if "fuse" in levers else []
    if "pack" in levers and any(packable):
        for rank in range(24):
            chosen = {
                str(number): tiles[min(rank, len(tiles) - 1)]
                for number, tiles in enumerate(packable)
                if tiles
            }
            yield replace(plain, packs=chosen)
            if rank == 0:
                yield plain
                yield from roots_of(plain, roots[:4])
        yield from roots_of(plain, roots[4:])
        return
    yield from roots_of(plain, roots[:3])
    yield plain
    yield from roots_of(plain, roots[3:])


def roots_of(plain: KernelPlan, roots: Sequence[OperationPlan]) -> Iterator[KernelPlan]:
    """The plan with loops around the last operation."""
    return (replace(plain, root=root) for root in roots)


def _roots(shapes: Sequence[OperationShape]) -> Iterator[OperationPlan]:
    """Tiles of the loops without reductions of the last operation, which has producers worth fusing."""
    worthwhile = [shape for shape in shapes[:-1] if shape.arithmetic]
    if not worthwhile:
        return
    last = shapes[-1]
    if not last.loops or not last.parallel:
        return
    first = last.parallel[0]
    for size in (16, 32, 8, 64, 4, 128, 1, 2):
        if last.extents[first] % size == 0 and last.extents[first] > size:
            yield OperationPlan(tuple(size if loop == first else 0 for loop in range(len(last.loops))))
