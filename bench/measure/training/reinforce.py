# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PPO and DQN learn: the reward of a fixed small set of modules, over decisions, with several seeds.

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

import csv
import re
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.lib import ROOT, Bar, command, read, require, show, write
from passpilot.training.learning.curves import plot
from tests import stock
from tests.command import PASSPILOT
from tests.training.tuning.units import modules

Agent = dict[str, Any]

LEAST: Final = 0.01
METHODS: Final = ("ppo", "dqn")
RECORD: Final = "reinforce.json"
IMAGE: Final = ROOT / "docs/images/reinforce.svg"
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


def trained(folder: Path, method: str, seed: int, steps: int) -> Agent:
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


def draw(agents: dict[str, list[Agent]]) -> None:
    rows: dict[float, dict[str, float]] = {}
    charts = []
    for method, known in agents.items():
        names = [f"{method.upper()}, seed {agent['seed']}" for agent in known]
        charts.append(names)
        for name, agent in zip(names, known, strict=True):
            for steps, reward in agent["policy"]:
                rows.setdefault(steps, {"decisions": steps})[name] = reward
    ordered = [rows[steps] for steps in sorted(rows)]
    IMAGE.write_text(plot("Gain over LLVM's own decisions, on three small units", ordered, charts))


def show_and_check(agents: dict[str, list[Agent]]) -> None:
    """Print the medians over the seeds; exits 1 if a method learns too little."""
    rows = {}
    for method, known in agents.items():
        figures = [(agent["best"], agent["policy"][0][1], agent["random"]) for agent in known]
        columns = map(statistics.median, zip(*figures, strict=True))
        rows[method] = dict(zip(("best policies", "first look", "random"), columns, strict=True))
    show("gain over LLVM's own decisions, medians of the seeds", "method", rows)
    require(
        *(
            Bar(f"{method}, gain", row["best policies"], max(0.0, row["random"]) + LEAST, least=True)
            for method, row in rows.items()
        )
    )


@command
def main(*, steps: int = 8192, seeds: int = 3, keep: str = "") -> None:
    before = read(RECORD, {"steps": 0})
    agents: dict[str, list[Agent]] = {
        method: [agent for agent in before.get(method, ()) if agent["policy"][-1][0] >= steps]
        for method in METHODS
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        stock.clang(stock.MANY_CALLS, folder / "in" / "many.bc", "-Oz")
        modules(folder / "in")
        for method, known in agents.items():
            for seed in {*range(seeds)} - {agent["seed"] for agent in known}:
                known.append(trained(folder, method, seed, steps))
                write(RECORD, {"steps": steps, **agents})
        if keep:
            shutil.copytree(folder, keep, dirs_exist_ok=True)
    draw(agents)
    show_and_check(agents)
