# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@spill`: an order of live ranges with which spill code costs less."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from passpilot.training.policy_folder import PointChoice, PolicyText, RecipeChoice
from tools.policies.card import choice_text, write_with_card
from tools.policies.choice import choose
from tools.policies.formulas import AMONG_LOCAL, split_priority
from tools.policies.units import RecipeCompiler, by_program, data_hash, ratios, training_units

if TYPE_CHECKING:
    from tools.policies.choice import Lever

UNITS: Final = 3
POWERS: Final = (0.0, 0.5, 1.0)
BASES: Final = {"behind all others": 0.0, "among those of a block": AMONG_LOCAL}


def formula(folder: Path, power: float, place: str) -> Lever:
    """The lever with which split live ranges are taken by weight * size**power."""
    path = folder / f"priority-{power}-{place.replace(' ', '-')}.onnx"
    path.write_bytes(split_priority(power, BASES[place]))
    return lambda _: RecipeChoice(points={"priority": PointChoice(str(path))})


def make(folder: Path, jobs: int, *, small: bool) -> None:
    """Choose the formula, and write the policy's folder."""
    units = training_units("O2", UNITS, small=small)
    compiler = RecipeCompiler("O2", jobs, costs=True)
    greedy = by_program(
        {unit: outcome.spills for unit, outcome in compiler.compile(RecipeChoice(), units).items()}
    )

    def measure(recipe: RecipeChoice) -> Mapping[str, float]:
        costs = {unit: outcome.spills for unit, outcome in compiler.compile(recipe, units).items()}
        return ratios(by_program(costs), greedy)

    with tempfile.TemporaryDirectory(prefix="passpilot-") as models:
        levers = {
            f"split ranges by weight * size^{power:g}, {place}": formula(Path(models), power, place)
            for power in POWERS
            for place in BASES
        }
        print(f"spill: {len(units)} units of {len(greedy)} programs")
        recipe, steps = choose(RecipeChoice(), levers, measure, math.inf)
        text = PolicyText(
            name="spill",
            description="Costs less in spill code than LLVM's greedy allocator",
            level="O2",
            targets=("x86_64",),
            card=choice_text("spill", "weighed spill cost (RegAllocScore) relative to greedy's", steps),
            data={"training units (bitcode)": data_hash(units)},
        )
        write_with_card(folder, text, recipe.points, [RecipeChoice()])
