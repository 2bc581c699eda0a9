# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PPO and DQN learn: the reward of a fixed small set of modules, over decisions, with several seeds.

usage: python -m bench.measure.training.reinforce [--steps=N] [--seeds=N] [--keep=DIR]

Three small units of the tests are the set, and there is nothing else: the bench shows that agents learn, not
what a policy is worth elsewhere. Every agent decides N (8,192) times in episodes of these units, with rewards
on the way (`partial`). The reward is the machine code that LLVM's own decisions make, less what the agent's
make, as a share: LLVM's own is 0. At every checkpoint the policy without chance is tried on all units.
Writes bench/results/reinforce.json and docs/images/reinforce.svg; agents that are there with as many
decisions are not trained again. Fails if the best policies of a method are
not LEAST better than LLVM's own decisions and than decisions at random, by the median of the seeds. It needs
passpilot[rl].
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from bench.lib.records import ROOT
from passpilot.training.learning.curves import plot
from tests import stock
from tests.training.tuning.units import modules

LEAST: Final = 0.01
METHODS: Final = ("ppo", "dqn")
RESULTS: Final = ROOT / "bench/results/reinforce.json"
IMAGE: Final = ROOT / "docs/images/reinforce.svg"
PASSPILOT: Final = str(Path(sys.executable).with_name("passpilot"))
SETTINGS: Final = """\
modules = ["in/*.bc"]
hidden = [32]
partial = true
steps = {steps}
seed = {seed}
rollout = 512
batch = 128
horizon = 8
checkpoint = 2
learning_rate = 2e-3
"""
_RANDOM: Final = re.compile(r"decisions at random \| ([-+][\d.]+)%")


def main() -> None:
    """Train, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=8192)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        stock.clang(stock.MANY_CALLS, folder / "in" / "many.bc", "-Oz")
        modules(folder / "in")
        found = known(options.steps)
        for method in METHODS:
            there = {agent["seed"] for agent in found[method]}
            for seed in range(options.seeds):
                if seed not in there:
                    found[method].append(trained(folder, method, seed, options.steps))
                    RESULTS.write_text(json.dumps({"steps": options.steps, **found}, indent=1) + "\n")
        if options.keep:
            shutil.copytree(folder, options.keep, dirs_exist_ok=True)
    draw(found)
    show(found)


def known(steps: int) -> dict[str, list[dict[str, object]]]:
    """The agents of earlier runs whose last look came after as many decisions."""
    before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return {
        method: [agent for agent in before.get(method, ()) if agent["policy"][-1][0] >= steps]
        for method in METHODS
    }


def trained(folder: Path, method: str, seed: int, steps: int) -> dict[str, object]:
    """The curve of one agent, its best policy's reward, and that of decisions at random."""
    settings, model = folder / f"{method}{seed}.toml", folder / f"{method}{seed}"
    settings.write_text(SETTINGS.format(steps=steps, seed=seed))
    subprocess.run([PASSPILOT, "train", method, settings, "-o", model], check=True)
    rows = list(csv.DictReader((model / "curve.csv").read_text().splitlines()))
    looks = [(float(row["steps"]), float(row["train reward"])) for row in rows if row["train reward"]]
    episodes = [(float(row["steps"]), float(row["reward"])) for row in rows if row["reward"]]
    at_random = _RANDOM.search((model / "card.md").read_text())
    assert at_random, "the card has it"
    best = max(reward for _, reward in looks)
    print(f"{method}, seed {seed}: best {best:+.2%}, last {looks[-1][1]:+.2%}", flush=True)
    return {
        "seed": seed,
        "policy": looks,
        "episodes": episodes,
        "best": best,
        "random": float(at_random[1]) / 100,
    }


def draw(found: dict[str, list[dict[str, object]]]) -> None:
    """Draw the curves of all agents, a chart for every method."""
    rows: dict[float, dict[str, float]] = {}
    charts = []
    for method, agents in found.items():
        names = [f"{method.upper()}, seed {agent['seed']}" for agent in agents]
        charts.append(names)
        for name, agent in zip(names, agents, strict=True):
            for steps, reward in agent["policy"]:  # type: ignore[attr-defined]
                rows.setdefault(steps, {"decisions": steps})[name] = reward
    ordered = [rows[steps] for steps in sorted(rows)]
    IMAGE.write_text(plot("Gain over LLVM's own decisions, on three small units", ordered, charts))


def show(found: dict[str, list[dict[str, object]]]) -> None:
    """Print the summary; exits if an agent learns too little."""
    missed = []
    for method, agents in found.items():
        best = statistics.median(float(str(agent["best"])) for agent in agents)
        at_random = statistics.median(float(str(agent["random"])) for agent in agents)
        first = statistics.median(agent["policy"][0][1] for agent in agents)  # type: ignore[index]
        print(
            f"{method}: median of best policies {best:+.2%}; first look {first:+.2%}; random {at_random:+.2%}"
        )
        if best < max(0.0, at_random) + LEAST:
            missed.append(f"{method} {best:+.2%}")
    if missed:
        sys.exit(f"bench_reinforce: expected at least {LEAST:+.1%}, got {', '.join(missed)}")


if __name__ == "__main__":
    main()
