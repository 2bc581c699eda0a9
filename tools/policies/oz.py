# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@oz`: options of LLVM that make training programs smaller, taken greedily."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import TYPE_CHECKING, Final

from passpilot.training.policy_folder import PolicyText, RecipeChoice
from passpilot.training.tuning.recipes import HOISTING, SMALLEST
from tools.policies.card import choice_text, write_with_card
from tools.policies.choice import choose, coreset
from tools.policies.units import RecipeCompiler, Unit, by_program, data_hash, ratios, training_units

if TYPE_CHECKING:
    from tools.policies.choice import Lever

UNITS: Final = 3
"""Of a program."""
LARGEST: Final = 1.005
"""Of a program's ratio to -Oz with a lever."""

RECIPES: Final = 4
"""For `@oz?tries=4`."""

ESTIMATE: Final = "estimate-profile<limit=1;small=400>"
"""Chosen on validation programs, by linked size and run time; the card has the figures."""
OUTLINER: Final = "enable-machine-outliner"
SPARING: Final = f"{OUTLINER}=optimistic-pgo"
EVERYWHERE: Final = f"{OUTLINER}=always"

OPTIONS: Final = (
    "disable-machine-licm",
    "enable-linkonceodr-outlining",
    "tail-merge-size=2",
    "optsize-jump-table-density=10",
)
"""Of LLVM's code generation; of 85 others, tried one by one, none saved 0.1 % of training units."""
TABLES: Final = "unwind=linked"
"""In all recipes: it changes no code, and so no size that is compared here."""
SLOWER: Final = ("disable-lsr", "lsr-drop-solution")
"""Options that cost much run time, for recipes that are for size alone."""


def option(name: str) -> Lever:
    """The lever that adds an option of LLVM."""
    return lambda recipe: replace(recipe, options=(*recipe.options, name))


def together(means: Sequence[float]) -> str:
    """What a card says about several recipes."""
    listed = ", ".join(f"{mean:.4f}" for mean in means)
    return f"With the smaller object of two recipes, and the smallest of three and four: {listed}.\n"


def make(folder: Path, jobs: int, *, small: bool) -> None:
    """Choose the recipes, and write the policy's folder."""
    units = training_units("Oz", UNITS, small=small)
    compiler = RecipeCompiler("Oz", jobs)

    def sizes(recipe: RecipeChoice) -> Mapping[Unit, float]:
        return {unit: outcome.size for unit, outcome in compiler.compile(recipe, units).items()}

    plain = by_program(sizes(RecipeChoice()))

    def measure(recipe: RecipeChoice) -> Mapping[str, float]:
        return ratios(by_program(sizes(recipe)), plain)

    print(f"oz: {len(units)} units of {len(plain)} programs")
    start = RecipeChoice(f"{SMALLEST},{ESTIMATE}", (SPARING, "apply-ext-tsp-for-size"))
    first, steps = choose(start, {name: option(name) for name in OPTIONS}, measure, LARGEST)
    everywhere = RecipeChoice(SMALLEST, (EVERYWHERE, *first.options[1:]))
    slower = {name: option(name) for name in (*OPTIONS, *SLOWER) if name not in first.options}
    second, more = choose(everywhere, slower, measure, LARGEST, name="outlined everywhere")
    others = [
        RecipeChoice(tail, tuple(option for option in second.options if option not in without))
        for tail in (SMALLEST, HOISTING, "mergefunc")
        for without in ((), SLOWER, ("disable-machine-licm",), (*SLOWER, "disable-machine-licm"))
    ]
    recipes, means = coreset(
        [first, second],
        others,
        RECIPES,
        sizes,
        lambda all_: geometric_mean(ratios(by_program(all_), plain).values()),
    )
    text = PolicyText(
        name="oz",
        description="Makes programs smaller than -Oz",
        card=f"{choice_text('oz', 'object size relative to -Oz', [*steps, *more])}\n{together(means)}",
        data={"training units (bitcode)": data_hash(units)},
    )
    made = [replace(recipe, options=(*recipe.options, TABLES)) for recipe in recipes]
    write_with_card(folder, text, {}, made)
