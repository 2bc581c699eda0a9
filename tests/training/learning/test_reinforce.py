# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Agents of stable-baselines3 learn, and their policies come into compilers. It needs passpilot[rl].

pip install "passpilot[rl]" && python -m pytest -m soak tests/training/learning/test_reinforce.py
"""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.command import passpilot

pytest.importorskip("sb3_contrib", reason="needs PyTorch: pip install 'passpilot[rl]'")
pytestmark = pytest.mark.soak

SETTINGS = """\
modules = ["in.bc"]
hidden = [16]
steps = {steps}
rollout = 256
learning_rate = 3e-3
checkpoint = 2
"""


def rewards(folder: Path) -> list[float]:
    rows = csv.DictReader((folder / "curve.csv").read_text().splitlines())
    return [float(row["reward"]) for row in rows if row["reward"]]


@pytest.mark.parametrize("method", ["ppo", "dqn"])
def test_an_agent_learns(method: str, program: Path, tmp_path: Path) -> None:
    (tmp_path / "in.bc").write_bytes(program.read_bytes())
    (tmp_path / "a.toml").write_text(SETTINGS.format(steps=4000))
    done = passpilot("train", method, "a.toml", "-o", "model", cwd=tmp_path, timeout=600)
    assert done.code == 0, done.err
    curve = rewards(tmp_path / "model")
    assert sum(curve[-4:]) / 4 > sum(curve[:2]) / 2 + 0.05
    assert "decisions at random" in (tmp_path / "model" / "card.md").read_text()
    flags = ("-passes=default<Oz>", "--inline=onnx:model/model.onnx", "-o", "o.bc")
    assert passpilot("opt", "in.bc", *flags, cwd=tmp_path).code == 0


def test_training_goes_on_from_a_checkpoint_and_from_a_network(program: Path, tmp_path: Path) -> None:
    (tmp_path / "in.bc").write_bytes(program.read_bytes())
    (tmp_path / "a.toml").write_text(SETTINGS.format(steps=512))
    assert passpilot("train", "ppo", "a.toml", "-o", "model", cwd=tmp_path, timeout=300).code == 0
    (tmp_path / "model" / "model.onnx").unlink()
    done = passpilot("train", "ppo", "a.toml", "-o", "model", "--resume", cwd=tmp_path, timeout=300)
    assert done.code == 0, done.err
    assert len(rewards(tmp_path / "model")) == 2  # nothing was left to learn
    assert (tmp_path / "model" / "model.onnx").exists()
    (tmp_path / "b.toml").write_text(SETTINGS.format(steps=256) + 'start = "model"\n')
    done = passpilot("train", "ppo", "b.toml", "-o", "other", cwd=tmp_path, timeout=300)
    assert done.code == 0, done.err
