# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The evaluator for openevolve scores texts without running them, and the local stand-in evolves offline."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

import pytest

import passpilot
from tests.command import run
from tests.training.evaluation.small import corpus

EVOLVE: Final = Path(__file__).parents[2] / "examples/evolve"
Score = dict[str, float | str]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("small"))


@pytest.fixture
def evaluate(small: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Score]:
    """The evaluator's function, as openevolve loads it; `shout` is held out."""
    monkeypatch.setenv("EVOLVE_CORPUS", str(small))
    monkeypatch.setenv("EVOLVE_HELD_OUT", "shout")
    spec = importlib.util.spec_from_file_location("evaluation_module", EVOLVE / "evaluator.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast("Callable[[str], Score]", module.evaluate)


def test_a_candidate_is_scored(evaluate: Callable[[str], Score], small: Path, tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("def decide(obs):\n    return obs['cost_estimate'] < -(10**9)\n")
    found = evaluate(str(tmp_path / "c.py"))
    rows = passpilot.evaluate(small, ["const:0"], baselines=["-Oz"], no_runs=True)
    ratios = {row["program"]: cast("float", row["allocated_ratio"]) for row in rows if row["policy"] != "-Oz"}
    assert found == {"combined_score": 1 - ratios["count"], "validated": 1 - ratios["shout"]}


HOSTILE: Final = (
    "open('ran', 'w').close()\ndef decide(obs):\n    while True:\n        pass\n",
    "def decide(obs):\n    return __import__('os').system('touch ran')\n",
    "def decide(obs):\n    return obs.__class__.__init__.__globals__['os']\n",
    "raise SystemExit\n",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_candidate_says_is_not_run(
    text: str, evaluate: Callable[[str], Score], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.py").write_text(text)
    found = evaluate("c.py")
    assert found["combined_score"] == 0
    assert "passpilot: error: c.py" in str(found["error"])
    assert not (tmp_path / "ran").exists()


def test_evolution_without_a_network(small: Path, tmp_path: Path) -> None:
    names = {**os.environ, "EVOLVE_CORPUS": str(small), "EVOLVE_HELD_OUT": "shout"}
    words = [f"{name}={names[name]}" for name in ("EVOLVE_CORPUS", "EVOLVE_HELD_OUT")]
    done = run("env", *words, sys.executable, EVOLVE / "offline.py", "best.py", "2", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.startswith(b"begin: {'combined_score': ")
    assert "def decide(obs):" in (tmp_path / "best.py").read_text()
