# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The card of a policy: how it was chosen, below what was written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from passpilot.runners.policy.bundle import FILE
from passpilot.training.policy_folder import PointChoice, PolicyText, RecipeChoice, write_policy
from tools.policies.choice import Step

SHIPPED: Final = Path(__file__).parents[2] / "policies"
LICENSE: Final = "# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
CHOSEN: Final = "## How it was chosen"
"""The heading of the part that is written here; what is above it was written by hand and is kept."""


def write_with_card(
    folder: Path, text: PolicyText, points: Mapping[str, PointChoice], recipes: Sequence[RecipeChoice]
) -> None:
    """Write a policy's folder, below the card of the package's policy of this name."""
    card = SHIPPED / text.name / "card.md"
    by_hand = card.read_text() if card.exists() else f"# {text.name}\n"
    whole = f"{by_hand.partition(CHOSEN)[0].rstrip()}\n\n{CHOSEN}\n\n{text.card}"
    write_policy(str(folder), replace(text, card=whole), points, recipes)
    description = folder / FILE
    description.write_text(
        f"{LICENSE}# `python -m tools.policies {text.name}` made this file.\n{description.read_text()}"
    )


def choice_text(name: str, measured: str, steps: Sequence[Step]) -> str:
    """What a card says about a greedy choice."""
    rows = [f"| {step.lever} | {step.mean:.4f} | {step.largest:.4f} |\n" for step in steps]
    return (
        f"`python -m tools.policies {name}` made this policy: {measured}, the geometric mean over training\n"
        f"programs and the largest of a program, with what was taken up to there.\n\n"
        f"| taken | mean | largest |\n|---|---|---|\n{''.join(rows)}"
    )
