# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Greedy choices of what makes programs smaller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from passpilot.training.policy_folder import RecipeChoice
    from tools.policies.units import Unit

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


def coreset(
    first: Sequence[RecipeChoice],
    others: Sequence[RecipeChoice],
    count: int,
    sizes: Callable[[RecipeChoice], Mapping[Unit, float]],
    value: Callable[[Mapping[Unit, float]], float],
) -> tuple[list[RecipeChoice], list[float]]:
    """The recipes that are best together: every unit takes the one that makes it smallest.

    Args:
        first: the recipes to begin with.
        others: from which the next is taken, always the one that helps most, until there are `count`.
        count: of recipes.
        sizes: what a recipe makes of the units.
        value: of the sizes of all units; to be small.

    Returns:
        The recipes, and the values of `first`, of these and the next one, and so on.
    """
    chosen, best = list(first), dict(sizes(first[0]))
    for recipe in first[1:]:
        best = {unit: min(size, best[unit]) for unit, size in sizes(recipe).items()}
    values = [value(best)]
    while len(chosen) < count:
        tried = [{unit: min(size, best[unit]) for unit, size in sizes(recipe).items()} for recipe in others]
        index = min(range(len(others)), key=lambda place: value(tried[place]))
        chosen.append(others[index])
        best = tried[index]
        values.append(value(best))
    return chosen, values


def _step(lever: str, ratios: Mapping[str, float], say: Callable[[str], object]) -> Step:
    worst = max(ratios, key=lambda program: ratios[program])
    step = Step(lever, geometric_mean(ratios.values()), ratios[worst])
    say(f"  {lever:40} {step.mean:.4f}, largest {step.largest:.4f} ({worst})")
    return step
