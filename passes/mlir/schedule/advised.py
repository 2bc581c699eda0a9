# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-schedule`: schedules functions of linalg operations by a plan; runners may change every decision.

The plan is that of a file, `advised-schedule{decisions=FILE}`, or that of the estimate.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from passpilot.features.mlir.schedule import (
    INTERCHANGE,
    PACK,
    PARALLEL,
    VECTOR_SIZES,
    VECTORIZE,
    observe_vector,
    vector_mask,
)
from passpilot.features.mlir.tile import TILE_SIZES, may_tile, observe_loop, observe_operation
from passpilot.features.mlir.tileable import MOST_LOOPS, Structured, structured
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir.api import pass_
from passpilot.passes.mlir.schedule.apply import schedule
from passpilot.passes.mlir.schedule.choices import best_plan, packs, structures
from passpilot.passes.mlir.schedule.model import machine
from passpilot.passes.mlir.schedule.plan import KernelPlan, OperationPlan, read_plan
from passpilot.passes.mlir.schedule.shape import OperationShape, functions_in, linalg_operations, shapes_in
from passpilot.passes.mlir.tile import MLIR_TILE

if TYPE_CHECKING:
    from passpilot.passes.decision_point import Values
    from passpilot.plugin.mlir.protocols import Operation


def _planned(values: Values) -> int:
    """What the plan says."""
    planned: Any = values["planned"]
    return int(planned)


def _planned_vector(values: Values) -> int:
    return VECTOR_SIZES.index(_planned(values))


MLIR_VECTORIZE: Final = DecisionPoint[int].of(VECTORIZE, _planned_vector)
"""The decision: the size of the innermost tile of a loop, an index into `VECTOR_SIZES`."""
MLIR_INTERCHANGE: Final = DecisionPoint[int].of(INTERCHANGE, _planned)
"""The decision: the loop over tiles that comes next, from the outermost one."""
MLIR_PARALLEL: Final = DecisionPoint[bool].of(PARALLEL, lambda values: bool(_planned(values)))
"""The decision: whether threads share the outermost loop of an operation."""
MLIR_PACK: Final = DecisionPoint[bool].of(PACK, lambda values: bool(_planned(values)))
"""The decision: whether the operands of a contraction are laid out in panels."""


@pass_("advised-schedule", anchor="builtin.module")
@dataclass(frozen=True)
class AdvisedSchedule:
    """Tiles, packs, fuses and vectorizes linalg as a decision file, runners or an estimate say."""

    decisions: str = ""
    threads: int = 1

    def run(self, module: Operation) -> None:
        """Schedule the function of the file, or all functions with structured operations."""
        if self.decisions:
            self._schedule(module, read_plan(self.decisions), is_estimate=False)
            return
        for name in [name for name, function in functions_in(module).items() if shapes_in(function)]:
            self._schedule(module, KernelPlan(name), is_estimate=True)

    def _schedule(self, module: Operation, plan: KernelPlan, *, is_estimate: bool) -> None:
        decisions = _Decisions(self.threads, is_estimate)
        schedule(module, plan, decisions.structure, decisions.operations)


@dataclass(frozen=True, slots=True)
class _Decisions:
    """Asks about all decisions of a plan; without runners they stay as they are."""

    threads: int
    is_estimate: bool

    def structure(
        self, plan: KernelPlan, function: Operation, shapes: Sequence[OperationShape]
    ) -> KernelPlan:
        """The plan with other packs."""
        here = machine()
        if self.is_estimate:
            plan = next(structures(plan.function, shapes, here), plan)
        if any(plan.root.tile) or not MLIR_PACK.is_asked:
            return plan
        chosen: dict[str, tuple[int, ...]] = {}
        for number, (operation, shape) in enumerate(zip(linalg_operations(function), shapes, strict=True)):
            known = plan.packs.get(str(number)) or next(islice(packs(shape, here), 1), None)
            op = structured(operation)
            if known is None or op is None:
                continue
            values = {**observe_operation(op), "planned": str(number) in plan.packs}
            if MLIR_PACK.ask(values, operation):
                chosen[str(number)] = known
        return replace(plan, packs=chosen)

    def operations(
        self, plan: KernelPlan, function: Operation, shapes: Sequence[OperationShape]
    ) -> KernelPlan:
        """The plan with other plans of operations."""
        plans = list(plan.operations) + [OperationPlan()] * (len(shapes) - len(plan.operations))
        if self.is_estimate:
            rng, here = random.Random(0), machine()
            plans = [best_plan(shape, here, rng, threads=self.threads) for shape in shapes]
        asked = []
        for operation, shape, known in zip(linalg_operations(function), shapes, plans, strict=True):
            op = structured(operation) if shape.loops else None
            asked.append(known if op is None else self._asked(op, known))
        return replace(plan, operations=tuple(asked))

    def _asked(self, op: Structured, plan: OperationPlan) -> OperationPlan:
        common = observe_operation(op)
        tile = plan.tile
        if MLIR_TILE.is_asked:
            sizes: list[int] = []
            for number, loop in enumerate(op.loops):
                planned = tile[number] if tile else 0
                values = {**common, **observe_loop(op, number, sizes, planned)}
                sizes.append(TILE_SIZES[MLIR_TILE.ask(values, op.operation)] if may_tile(loop) else 0)
            tile = tuple(sizes) if any(sizes) else ()
        order = _ordered(op, plan) if MLIR_INTERCHANGE.is_asked and any(tile) else plan.interchange
        vector = _vector(op, plan, tile) if MLIR_VECTORIZE.is_asked else plan.vector
        threads = plan.threads
        if MLIR_PARALLEL.is_asked and self.threads > 1:
            values = {**common, "threads": self.threads, "planned": threads > 1}
            threads = self.threads if MLIR_PARALLEL.ask(values, op.operation) else 1
        return replace(plan, tile=tile, interchange=order, vector=vector, threads=threads)


def _ordered(op: Structured, plan: OperationPlan) -> tuple[int, ...]:
    """The loops in the order that the runner of `mlir-interchange` gives them."""
    common, count = observe_operation(op), len(op.loops)
    left = list(plan.interchange or range(count))
    order: list[int] = []
    while left:
        mask = [[loop in left for loop in range(MOST_LOOPS)]]
        values = {**common, "place": len(order), "planned": left[0], "mask": mask}
        order.append(MLIR_INTERCHANGE.ask(values, op.operation))
        left.remove(order[-1])
    return () if order == sorted(order) else tuple(order)


def _vector(op: Structured, plan: OperationPlan, tile: Sequence[int]) -> tuple[int, ...]:
    """The innermost tile that the runner of `mlir-vectorize` chooses, in tiles for a cache."""
    common, sizes = observe_operation(op), list[int]()
    for number in range(len(op.loops)):
        planned = plan.vector[number] if plan.vector else -1 if not number else 0
        mask = vector_mask(op, sizes, tile)[0]
        if planned not in VECTOR_SIZES or not mask[VECTOR_SIZES.index(planned)]:
            planned = next(size for size, ok in zip(VECTOR_SIZES, mask, strict=True) if ok)
        values = {**common, **observe_vector(op, sizes, planned, tile)}
        size = VECTOR_SIZES[MLIR_VECTORIZE.ask(values, op.operation)]
        if size < 0:
            return ()
        sizes.append(size)
    return tuple(sizes)
