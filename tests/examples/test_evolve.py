# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The evaluator for openevolve scores texts without running them, and the local stand-in evolves offline."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

import numpy as np
import pytest

import passpilot
from passpilot.cli.aot import main as aot
from passpilot.features.point import find_point
from passpilot.runners.base import allocate
from passpilot.runners.spec import make_runner
from tests.command import passpilot as passpilot_command
from tests.command import run
from tests.training.evaluation.small import corpus

EVOLVE: Final = Path(__file__).parents[2] / "examples/evolve"
Score = dict[str, float | str]
KINDS: Final = (("aot", ".so"), ("python", ":decide"))


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


def test_expressions_evolve_to_a_short_function(small: Path, tmp_path: Path) -> None:
    names = (f"EVOLVE_CORPUS={small}", "EVOLVE_HELD_OUT=shout")
    done = run("env", *names, sys.executable, EVOLVE / "expressions.py", "best.py", "1", "4", cwd=tmp_path)
    assert done.code == 0, done.err
    last = done.out.decode().splitlines()[-1]
    assert re.fullmatch(r"trained -?[\d.]+, validated -?[\d.]+, \d+ tried", last)
    text = (tmp_path / "best.py").read_text()
    assert text.startswith("def decide(obs):\n")
    assert len(text.splitlines()) < 20
    assert passpilot_command("aot", "best.py:decide", "-o", "best.so", cwd=tmp_path).code == 0


def test_random_expressions_are_python_of_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever comes out compiles, and answers as Python does."""
    monkeypatch.syspath_prepend(str(EVOLVE))
    module = importlib.import_module("expressions")
    module.random.seed(3)
    names = module.grammar()
    runners = []
    for number in range(6):
        tree = module.gp.PrimitiveTree(module.gp.genFull(names, 2, 4))
        file = tmp_path / f"h{number}.py"
        file.write_text(module.text_of(tree))
        assert aot([f"{file}:decide", "-o", f"{file}.so"]) == 0
        runners.append([make_runner(f"{kind}:{file}{end}", find_point("inline")) for kind, end in KINDS])
    values = np.random.default_rng(1)
    for pair in runners:
        compiled, python = map(allocate, pair)
        for _ in range(30):
            for name, tensor in compiled.tensors.items():
                tensor[...] = values.integers(-50, 50)
                python.tensors[name][...] = tensor
            assert compiled.evaluate() == python.evaluate()


def test_what_fails_scores_less_than_all_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator's 0 would be better than a heuristic that costs a few bytes."""
    monkeypatch.syspath_prepend(str(EVOLVE))
    module = importlib.import_module("expressions")
    monkeypatch.setattr(module, "evaluate", lambda _: {"combined_score": 0.0, "error": "it fails"})
    names = module.grammar()
    box = module.tools_of(names, {}, str(tmp_path))
    tree = module.gp.PrimitiveTree.from_string("lt(cost_estimate, 0.0)", names)
    assert box.score(tree) == (module.FAILED,) < (-0.5,)
