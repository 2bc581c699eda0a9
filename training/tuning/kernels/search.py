# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for the fastest plan of a kernel, by running it.

1. **Structures**: packed operands, loops that fuse all operations, or neither. The estimate ranks them and
   gives every operation its plan; the first few run.
2. **Steps**: one operation of a fast plan gets another plan, or the plan another structure. Of many such
   changes the estimate chooses the one that runs.

Every run is checked against the outputs of the untransformed kernel. In the end the fastest plans and the
untransformed kernel run in turns.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

from passpilot.passes.mlir.schedule.apply import ScheduledShapes
from passpilot.passes.mlir.schedule.choices import LEVERS, best_plan, operation_plan, structures
from passpilot.passes.mlir.schedule.model import estimate, machine
from passpilot.passes.mlir.schedule.plan import KernelPlan, OperationPlan
from passpilot.plugin.errors import Error
from passpilot.plugin.isolated import run_isolated
from passpilot.training.tuning.kernels.unit import KernelRun, KernelUnit
from passpilot.training.tuning.sizes import Sizes
from passpilot.training.tuning.study import Outcome, Study

if TYPE_CHECKING:
    from passpilot.training.tuning.unit import Compiled

FIRST: Final = 8
"""Structures that run before the steps begin."""
POOL: Final = 24
"""Changes among which the estimate chooses."""
FAST: Final = 1.3
"""A plan from which steps begin is at most so much slower than the best one."""
FINALISTS: Final = 3
"""Plans that run in turns at the end."""
FINAL_SECONDS: Final = 0.4
"""For every finalist."""
SLOW: Final = 4
"""An untransformed kernel that is so many times slower than the best plan does not run again."""
IDLE: Final = 200
"""Changes in a row that were tried before, after which the search ends."""


def run_time(units: Sequence[Compiled]) -> Sizes:
    """The microseconds of a run."""
    (run,) = cast("Sequence[KernelRun]", units)
    return Sizes(run.microseconds, {}, {}, [run.microseconds])


@dataclass
class KernelSearch(Study):
    """One search for a fast kernel; values are microseconds.

    Attributes:
        seed: of what is tried.
        levers: those of `choices.LEVERS` that are searched.
        is_ranked: whether the estimate chooses what runs; without it, chance does.
    """

    seed: int = 0
    levers: Collection[str] = LEVERS
    is_ranked: bool = True
    failures: int = 0
    _runs: dict[str, tuple[float, KernelPlan]] = field(default_factory=dict)
    _shapes: dict[str, ScheduledShapes | None] = field(default_factory=dict)

    @property
    def unit(self) -> KernelUnit:
        """The kernel."""
        return cast("KernelUnit", self.units[0])

    @property
    def best_plan(self) -> KernelPlan | None:
        """The fastest plan; None if the untransformed kernel is the fastest."""
        return cast("KernelRun", self.best.units[0]).choice

    def begin(self, choice: Any = None) -> Outcome:
        outcome = super().begin(choice)
        self.engine.deadline = min(self.engine.deadline, 15 + outcome.total / 1e5)
        return outcome

    def search(self) -> None:
        self._random, here = random.Random(self.seed), machine()
        plain = self.shapes(KernelPlan(self.unit.kernel.function, fuse="fuse" in self.levers))
        if plain is None or not plain.fused:
            return  # it cannot be scheduled, or nothing is left to schedule
        known = list(structures(self.unit.kernel.function, plain.fused, here, self.levers))
        if not self.is_ranked:
            self._random.shuffle(known)
        for structure in islice(known, FIRST):
            if not self.budget.remains:
                return
            if found := self.shapes(structure):
                self.attempt(self._planned(structure, found))
        idle = 0
        while self.budget.remains and idle < IDLE:
            idle = 0 if self.attempt(self._step(known)) else idle + 1

    def shapes(self, structure: KernelPlan) -> ScheduledShapes | None:
        """The operations that a structure leaves; None if MLIR cannot make it."""
        key = repr(structure.structure)
        if key not in self._shapes:
            self._shapes[key] = None
            try:
                self.unit.warm_up()
                shapes = partial(self.unit.shapes, structure.structure)
                self._shapes[key] = run_isolated("tune", shapes, self.engine.deadline)
            except Error:
                self.failures += 1
        return self._shapes[key]

    def _planned(self, structure: KernelPlan, found: ScheduledShapes) -> KernelPlan:
        """A structure with the plans that the estimate takes for the fastest."""
        here, samples = machine(), 200 if self.is_ranked else 1
        choose = partial(best_plan, here=here, rng=self._random, levers=self.levers, samples=samples)
        known: dict[object, OperationPlan] = {}
        plans = []
        for shape in found.structured:
            if shape not in known:
                known[shape] = choose(shape, threads=self.unit.threads)
            plans.append(known[shape])
        return replace(structure, operations=tuple(plans))

    def _step(self, known: Sequence[KernelPlan]) -> KernelPlan | None:
        """A change of a fast plan that the estimate takes for good."""
        ranked = sorted(self._runs.values(), key=lambda run: run[0])
        if not ranked or self._random.random() < (0.1 if self.is_ranked else 0.3):
            structure = self._random.choice(known)
            found = self.shapes(structure)
            return self._planned(structure, found) if found else None
        near = [plan for value, plan in ranked[:8] if value <= FAST * ranked[0][0]]
        plan = near[0] if self._random.random() < 0.5 else self._random.choice(near)
        found = self.shapes(plan)
        if found is None:
            return None
        changes = [self._changed(plan, found) for _ in range(POOL if self.is_ranked else 1)]
        fresh = [change for change in changes if change[1] is not None and repr(change[1]) not in self._runs]
        return min(fresh, key=lambda change: change[0])[1] if fresh else None

    def _changed(self, plan: KernelPlan, found: ScheduledShapes) -> tuple[float, KernelPlan | None]:
        """Another plan for one operation, with a noisy estimate of what it costs more."""
        here = machine()
        costs = [
            estimate(shape, operation, here) + 1
            for shape, operation in zip(found.structured, plan.operations, strict=True)
        ]
        (number,) = self._random.choices(range(len(costs)), [cost**0.5 for cost in costs])
        shape, old = found.structured[number], plan.operations[number]
        new = operation_plan(shape, here, self._random, self.levers, self.unit.threads)
        if self._random.random() < 0.6:  # a part of it
            part = self._random.choice(("tile", "interchange", "unroll", "vector"))
            new = replace(old, **{part: getattr(new, part)})
        if new == old:
            return 0.0, None
        ratio = (estimate(shape, new, here) + 1) / costs[number]
        return ratio * self._random.lognormvariate(0, 0.3), plan.with_operation(number, new)

    def attempt(self, plan: KernelPlan | None) -> bool:
        """Run a plan, and take it if it is the fastest; False if there is nothing new to run."""
        if plan is None or repr(plan) in self._runs:
            return False
        (result,) = self._compile([(0, cast("Any", plan))])
        if isinstance(result, Error):
            self.failures += 1
            self._runs[repr(plan)] = float("inf"), plan
            self.report(None, ())
            return True
        outcome = Outcome([result], self.measure([result]))
        self._runs[repr(plan)] = outcome.total, plan
        self.take(outcome)
        self.report(outcome.total, outcome.units)
        return True

    def confirm(self) -> None:
        """Run the fastest plans and the untransformed kernel in turns, and take the fastest."""
        ranked = sorted(self._runs.values(), key=lambda run: run[0])[:FINALISTS]
        plans = [plan for value, plan in ranked if value < self.start.total]
        if not plans:
            self.best = self.start
            return
        is_near = self.start.total < SLOW * ranked[0][0]
        choices = [*plans, *[None] * is_near]
        run = partial(self.unit.times, choices, FINAL_SECONDS)
        deadline = (len(choices) + 1) * (self.engine.deadline + 11 * FINAL_SECONDS)
        try:
            times = run_isolated("tune", run, deadline)
        except Error:
            return  # what was measured before stays
        outcomes = [
            Outcome(
                [cast("Any", KernelRun(choice, 1e6 * least, 0.0))], Sizes(1e6 * least, {}, {}, [1e6 * least])
            )
            for choice, least in zip(choices, times, strict=True)
        ]
        self.start = outcomes[-1] if is_near else self.start
        self.best = min(outcomes, key=lambda outcome: outcome.total)

    def value_text(self, value: float) -> str:
        return f"{value / 1000:.4g} ms"

    def summary(self) -> str:
        return f"{self.failures} plans failed or were wrong" if self.failures else ""
