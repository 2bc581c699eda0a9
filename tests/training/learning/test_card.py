# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The card of a policy says what it was made of and how good it is."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.training.by_reward.settings import EvolveSettings, ReinforceSettings
from passpilot.training.learning.card import imitation_card, reward_card
from passpilot.training.learning.export_check import ExportCheck
from passpilot.training.learning.metrics import Agreement
from passpilot.training.learning.settings import DataSettings, ImitateSettings
from passpilot.training.learning.toml_settings import toml_text
from passpilot.training.learning.training import TrainedModel

CHECK: Final = ExportCheck(12345, 6, 0.000789)
MADE: Final = TrainedModel(
    folder="made",
    point="inline",
    description="a small tree",
    rounds=17,
    parts={
        "train": Agreement(9876, 0.1, 0.91234, 0.85678, 1234, 0.4321, 0.6789),
        "test": Agreement(10, 0.1, 1.0, 1.0, 0, 0.5, 0.5),
    },
    check=CHECK,
    seconds=12.6,
    importance=[(f"feature_{at}", (20 - at) / 100) for at in range(14)],
    programs={"train": ["lua", "lz4"], "test": ["zlib"]},
)
SETTINGS: Final = ImitateSettings(DataSettings(("none/train",)), seed=7)


def test_the_figures_of_a_card() -> None:
    lines = imitation_card(MADE, SETTINGS, "passpilot train imitate a.toml").splitlines()
    assert lines[0] == "# A model for the decision point `inline`"
    assert lines[2] == "The model: a small tree. It was trained to take the decisions of its teachers."
    at = lines.index("| part | programs | decisions | agreement | as LLVM | changed | found | right |")
    assert lines[at + 1 : at + 4] == [
        "|---|---|---|---|---|---|---|---|",
        "| train | 2 | 9,876 | 91.23% | 85.68% | 1,234 | 43.2% | 67.9% |",
        "| test | 1 | 10 | 100.00% | 100.00% | 0 |  |  |",
    ]
    text = "\n".join(lines)
    assert "as the trained one on 12,345 observations:\n6 decisions differ, and scores by 7.9e-04" in text
    assert "    passpilot train imitate a.toml\n\n17 rounds in 13 s; seed 7;" in text
    assert f"```toml\n{toml_text(SETTINGS)}```" in text
    assert "- train: lua, lz4\n- test: zlib\n\n## Training" in text
    assert "## Limits" in text
    assert text.splitlines()[-1].startswith("LLVM 22, Python 3.")
    assert ", numpy " in text.splitlines()[-1]


def test_a_card_tells_the_twelve_features_that_matter_most() -> None:
    rows = [line for line in imitation_card(MADE, SETTINGS, "").splitlines() if line.startswith("| feature_")]
    assert rows[0] == "| feature_0 | 20.00% |"
    assert len(rows) == 12
    assert rows[-1] == "| feature_11 | 9.00% |"


def test_a_clone_says_whose_decisions_it_takes() -> None:
    text = imitation_card(MADE, replace(SETTINGS, label="default"), "")
    assert "It was trained to take the decisions of LLVM itself." in text


@pytest.mark.parametrize(
    ("point", "flag"), [("evict", "--evict="), ("advised-size", "--advise advised-size=")]
)
def test_a_card_says_how_the_policy_is_used(point: str, flag: str) -> None:
    made = replace(MADE, point=point, files=("own.py",))
    assert "    passpilot aot model.onnx --load=own.py -o model.so" in imitation_card(made, SETTINGS, "")
    lines = imitation_card(replace(MADE, point=point), SETTINGS, "").splitlines()
    at = lines.index("## Use")
    assert lines[at + 2 : at + 5] == [
        f"    {flag}onnx:model.onnx",
        "    passpilot aot model.onnx -o model.so",
        f"    {flag}aot:model.so",
    ]


def test_a_card_describes_every_folder_of_data_once(tmp_path: Path) -> None:
    for name, teachers in (("a", ["random:1", "const:0"]), ("b", ["default"])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data.json").write_text(
            json.dumps({"command": f"passpilot train data {name}", "teachers": teachers})
        )
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "data.json").write_text('{"command": "x"}')
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "data.json").write_text("no JSON")
    data = DataSettings(
        (str(tmp_path / "a/train"), str(tmp_path / "a/more"), str(tmp_path / "none/train")),
        (str(tmp_path / "c/validation"), os.path.relpath(tmp_path / "d/validation")),
        (str(tmp_path / "b/test"),),
    )
    lines = imitation_card(MADE, replace(SETTINGS, data=data), "").splitlines()
    assert [line for line in lines if "teachers: " in line] == [
        "`passpilot train data a`; teachers: random:1, const:0",
        "`passpilot train data b`; teachers: default",
    ]


def rewarded(**values: Any) -> TrainedModel:
    """A model that has learned from a reward."""
    return TrainedModel(folder="m", description="net", check=CHECK, **values)


def test_the_card_of_an_evolved_policy() -> None:
    settings = EvolveSettings(("in.bc",), method="cma", reward="text", iterations=9)
    made = rewarded(
        point="inline",
        rounds=4,
        seconds=7.7,
        measure="text",
        rewards={"train": 0.0123456, "test": 0.002},
        others={"at the start": {"train": 0.0, "test": -0.01}},
    )
    text = reward_card(made, "cma", settings, "passpilot train evolve e.toml")
    assert "The model: net. It was evolved by cma on the reward text." in text
    assert "| part | at the start | model |\n|---|---|---|\n| train | +0.000% | +1.235% |" in text
    assert "| test | -1.000% | +0.200% |\n" in text
    assert "The model was taken after 4 iterations." in text
    assert "12,345 observations:\n6 decisions differ, and scores by 7.9e-04" in text
    assert "    passpilot train evolve e.toml\n\n8 s; the curve" in text
    assert f"```toml\n{toml_text(settings)}```" in text
    assert "## Limits" in text
    assert str(made).splitlines()[1:] == [
        "train      text 1.235% smaller than LLVM's; at the start it was the same",
        "test       text 0.200% smaller than LLVM's; at the start it was 1.000% larger",
    ]


def test_the_card_of_an_agents_policy() -> None:
    settings = ReinforceSettings(("in.bc",), point="evict")
    made = rewarded(
        point="evict",
        rounds=12000,
        seconds=3.2,
        measure=settings.reward,
        rewards={"train": 0.01, "validation": -0.002},
        others={"decisions at random": {"train": -0.05}},
    )
    text = reward_card(made, "ppo", settings, "passpilot train ppo a.toml")
    assert f"The model: net. It was learned by PPO on the reward {settings.reward}." in text
    assert "| part | decisions at random | model |\n|---|---|---|\n| train | -5.000% | +1.000% |\n" in text
    assert "| validation |  | -0.200% |\n" in text
    assert "The model was taken after 12,000 decisions." in text
    assert "12,345 observations:\n6 decisions differ, and scores by 7.9e-04" in text
    assert "--evict=onnx:model.onnx" in text
    assert "3 s; the curve" in text
    assert repr(made) == "TrainedModel('m/model.onnx': net)"
