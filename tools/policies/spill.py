# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@spill`: an order of live ranges with which spill code costs less."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from passpilot.training.policy_folder import PointChoice, PolicyText, RecipeChoice
from tools.policies.choice import choose
from tools.policies.formulas import AMONG_LOCAL, split_priority
from tools.policies.made import chosen_text, write_made
from tools.policies.units import Ways, by_program, data_hash, ratios, units_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tools.policies.choice import Lever

UNITS: Final = {"train": 3, "validation": 1000}
"""Of a program, by part. Nothing is fitted to a program: six formulas are compared."""
LARGEST: Final = 1.06
"""Of a program's ratio to greedy's cost."""
MEASURED: Final = "weighed spill cost (RegAllocScore) relative to greedy's"
POWERS: Final = (0.0, 0.5, 1.0)
BASES: Final = {"behind all others": 0.0, "among those of a block": AMONG_LOCAL}


def formula(folder: Path, power: float, place: str) -> Lever:
    """The lever with which split live ranges are taken by weight * size**power."""
    path = folder / f"priority-{power}-{place.replace(' ', '-')}.onnx"
    path.write_bytes(split_priority(power, BASES[place]))
    return lambda _: RecipeChoice(points={"priority": PointChoice(str(path))})


def make(folder: Path, jobs: int, *, small: bool) -> None:
    """Choose the formula, and write the policy's folder."""
    parts = {"train": UNITS["train"]} if small else UNITS
    units = [unit for part, count in parts.items() for unit in units_of(part, "O2", count, small=small)]
    ways = Ways("O2", jobs, costs=True)
    greedy = by_program({unit: made.spills for unit, made in ways.compile(RecipeChoice(), units).items()})

    def measure(recipe: RecipeChoice) -> Mapping[str, float]:
        costs = {unit: made.spills for unit, made in ways.compile(recipe, units).items()}
        return ratios(by_program(costs), greedy)

    with tempfile.TemporaryDirectory(prefix="passpilot-") as models:
        levers = {
            f"split ranges by weight * size^{power:g}, {place}": formula(Path(models), power, place)
            for power in POWERS
            for place in BASES
        }
        print(f"spill: {len(units)} units of {len(greedy)} programs")
        recipe, steps = choose(RecipeChoice(), levers, measure, LARGEST)
        text = PolicyText(
            name="spill",
            description="Costs less in spill code than LLVM's greedy allocator",
            level="O2",
            targets=("x86_64",),
            card=chosen_text("spill", MEASURED, steps, " and ".join(UNITS)),
            data={"units (bitcode)": data_hash(units)},
        )
        write_made(folder, text, recipe.points, [RecipeChoice()])
