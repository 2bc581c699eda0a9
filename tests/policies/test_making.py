# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the package's policies are made: `python -m tools.policies`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from passpilot.runners.policy.bundle import read_bundle
from passpilot.training.policy_folder import RecipeChoice
from tools.policies.choice import Lever, choose
from tools.policies.formulas import LARGEST, priority_model

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


def test_a_formula_orders_live_ranges_by_weight_and_size() -> None:
    def priority(power: float, weight: float, size: int) -> float:
        session = onnxruntime.InferenceSession(priority_model(power, 2.0))
        inputs = {"weight": np.array([weight], np.float32), "li_size": np.array([size])}
        (answer,) = session.run(None, inputs)
        return float(answer.item())

    assert priority(1.5, 3, 16) == pytest.approx(2 * 3 * 64)
    assert priority(0, 3, 16) == pytest.approx(6)
    assert priority(1, float("inf"), 16) == pytest.approx(LARGEST)
    assert priority(1, 3, 0) == 0


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
