# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Greedy choices of what makes programs smaller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from passpilot.training.policy_folder import RecipeChoice

    Lever = Callable[[RecipeChoice], RecipeChoice]
    Measure = Callable[[RecipeChoice], Mapping[str, float]]

LEAST: Final = 0.0005
"""What a lever must save, relative to the programs without it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A lever that was taken, and the ratios to the plain level with it and all before it."""

    lever: str
    mean: float
    largest: float


def choose(
    start: RecipeChoice,
    levers: Mapping[str, Lever],
    measure: Measure,
    largest: float,
    say: Callable[[str], object] = print,
    *,
    name: str = "start",
) -> tuple[RecipeChoice, list[Step]]:
    """Take the lever that saves most, and again, until none saves `LEAST`.

    Args:
        start: what the levers change.
        levers: by name; each is taken at most once.
        measure: the ratios to the plain level, by program.
        largest: a lever with which the ratio of a program is above this is not taken.
        say: what was found, a line per try.
        name: of `start`.
    """
    recipe, left = start, dict(levers)
    steps = [_step(name, measure(recipe), say)]
    while left:
        tried = [_step(lever, measure(change(recipe)), say) for lever, change in left.items()]
        fit = [step for step in tried if step.largest <= largest]
        best = min(fit, key=lambda step: step.mean, default=None)
        if best is None or best.mean > steps[-1].mean * (1 - LEAST):
            break
        recipe = left.pop(best.lever)(recipe)
        steps.append(best)
        say(f"taken: {best.lever}")
    return recipe, steps


def _step(lever: str, ratios: Mapping[str, float], say: Callable[[str], object]) -> Step:
    worst = max(ratios, key=lambda program: ratios[program])
    step = Step(lever, geometric_mean(ratios.values()), ratios[worst])
    say(f"  {lever:40} {step.mean:.4f}, largest {step.largest:.4f} ({worst})")
    return step
