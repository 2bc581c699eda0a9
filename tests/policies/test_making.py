# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the package's policies are made: `python -m tools.policies`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime
import pytest

from passpilot.runners.policy.bundle import read_bundle
from passpilot.training.policy_folder import RecipeChoice
from tools.policies.choice import choose, coreset
from tools.policies.formulas import AMONG_LOCAL, RANGE, SPLIT, split_priority
from tools.policies.units import Unit

if TYPE_CHECKING:
    from tools.policies.choice import Lever

ROOT = Path(__file__).parents[2]
SAVES = {"half": {"a": 0.5, "b": 0.5}, "little": {"a": 0.9999, "b": 0.9999}, "mixed": {"a": 0.2, "b": 1.1}}
"""What the levers of a test multiply the sizes of two programs by."""


def measured(recipe: RecipeChoice) -> dict[str, float]:
    sizes = {"a": 1.0, "b": 1.0}
    for option in recipe.options:
        for name, ratio in SAVES[option].items():
            sizes[name] *= ratio
    return sizes


def lever(option: str) -> Lever:
    return lambda recipe: RecipeChoice(recipe.pipeline, (*recipe.options, option))


def test_the_choice_takes_what_saves_most_and_refuses_what_makes_a_program_grow() -> None:
    levers = {name: lever(name) for name in SAVES}
    said: list[str] = []
    recipe, steps = choose(RecipeChoice(), levers, measured, 1.005, said.append)
    assert recipe.options == ("half", "mixed")  # 1.1 is refused, 0.55 is not
    assert [step.lever for step in steps] == ["start", "half", "mixed"]
    assert steps[1].mean == pytest.approx(0.5)
    assert steps[2].largest == pytest.approx(0.55)
    assert any(line.startswith("taken: half") for line in said)


def test_the_recipes_of_a_coreset_are_best_together() -> None:
    recipes = {name: RecipeChoice(name) for name in ("first", "like the first", "other")}
    a, b = (Unit(name, Path(name)) for name in "ab")
    sizes = {"first": {a: 10.0, b: 10.0}, "like the first": {a: 9.0, b: 11.0}, "other": {a: 30.0, b: 5.0}}
    first, *others = recipes.values()
    chosen, values = coreset(
        [first], others, 3, lambda each: sizes[each.pipeline], lambda all_: sum(all_.values())
    )
    assert [each.pipeline for each in chosen] == ["first", "other", "like the first"]
    assert values == [20, 15, 14]


def test_a_formula_orders_split_live_ranges_by_weight_and_size() -> None:
    session = onnxruntime.InferenceSession(split_priority(0.5, AMONG_LOCAL))

    def priority(weight: float, size: int, stage: int = SPLIT) -> float:
        inputs = {
            "weight": np.array([weight], np.float32),
            "li_size": np.array([size]),
            "stage": np.array([stage]),
            "priority_default": np.array([7.0]),
        }
        return float(session.run(None, inputs)[0].item())

    assert priority(3, 16, stage=1) == 7
    pairs = [(0.0, 16), (1e-3, 16), (1e-3, 64), (5.0, 16), (float("inf"), 16)]
    ordered = [priority(*each) for each in pairs]
    assert ordered == sorted(set(ordered))
    assert AMONG_LOCAL <= ordered[0] < ordered[-1] <= AMONG_LOCAL + RANGE


def test_an_unknown_policy_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.policies", "fast"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "expected names of oz, spill, got fast" in done.stderr


@pytest.mark.soak
def test_the_policies_are_made_of_two_programs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.policies", "--small", "-o", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr
    size = read_bundle(str(tmp_path / "oz"), "oz")
    assert size.recipes[0].options[0] == "enable-machine-outliner=optimistic-pgo"
    assert "## How it was chosen" in (tmp_path / "oz" / "card.md").read_text()
    spill = read_bundle(str(tmp_path / "spill"), "spill")
    assert list(spill.points) == ["priority"]
