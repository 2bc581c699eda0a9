# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what random policies gain at the points of the advised allocator and at `advised-slp`.

A policy is a linear score of each choice, with random weights; the default has a bonus, which is random, too,
so that some policies hardly ever leave it. All programs are compiled with the same policies. The table has,
for each program, the cost relative to the default's: that of the policy that is best on this program
(in-sample), and of the policy that is best on the other programs, which is what a fixed policy gains on
programs that it was not selected on. The default is none of the policies.
At the allocator's points a program's cost is the geometric mean of its functions' scores (LLVM's
RegAllocScore) relative to the default's; only one point is asked at a time. At `advised-slp` it is the bytes
of .text with clang's -Oz. Writes bench/results/agents.json after each point; points that are there are not
measured again.

usage: bench_agents.py [--policies=24] [--points=NAME,...] [PROGRAM ...]     (picosat libsvm libyaml lz4 lua)
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.bench_advised_pipeline import text_size  # noqa: E402
from bench.bench_allocator import mean_ratio, options  # noqa: E402
from passpilot import Module, emit, optimize  # noqa: E402
from passpilot.passes.advisor import make_advisor  # noqa: E402
from passpilot.plugin.compile import PipelineOptions, generate  # noqa: E402
from passpilot.plugin.isolated import run_isolated_together  # noqa: E402
from tests.corpus.build import build  # noqa: E402
from tests.corpus.programs import all_programs  # noqa: E402
from tests.passes.allocation.allocated import optimized  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

    from passpilot.runners.python import Observation

PROGRAMS: Final = ("picosat", "libsvm", "libyaml", "lz4", "lua")
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "ra-order": ("priority", "weight", "size", "instructions", "is_hinted", "is_split"),
    "ra-colour": ("is_free", "is_hint", "is_callee_saved", "is_in_use", "encoding_cost", "max_weight"),
    "ra-split": ("gain", "work", "copy_cost", "copies", "blocks", "loop_depth", "has_free_register"),
}
"""Points whose choices have features of their own."""
CHOICES: Final[Mapping[str, tuple[int, tuple[str, ...]]]] = {
    "ra-action": (5, ("spill_cost", "split_gain", "cheapest_eviction", "generation", "instructions")),
    "advised-slp": (2, ("instructions", "store_groups", "grouped_stores", "grouped_loads", "floating_point")),
}
"""Points with few choices: how many, and the features of the question."""
DEADLINE: Final = 1800.0
RESULTS: Final = ROOT / "bench/results/agents.json"

Costs = dict[str, dict[str, float]]
"""By program and policy, relative to the default."""


class Linear:
    """A policy of random weights."""

    def __init__(self, point: str, seed: int) -> None:
        dice = random.Random(f"{point} {seed}")
        self.has_mask = point != "advised-slp"
        self.names = COLUMNS[point] if point in COLUMNS else CHOICES[point][1]
        rows = 1 if point in COLUMNS else CHOICES[point][0]
        self.weights = np.array([[dice.gauss(0, 1) for _ in self.names] for _ in range(rows)])
        self.bonus = 10 ** dice.uniform(0, 2)
        self.features = self.names + ("mask",) * self.has_mask

    def decide(self, obs: Observation) -> int:
        """The choice with the largest score."""
        default = obs.default()
        state = np.vstack([np.asarray(obs[name]).reshape(-1).astype(float) for name in self.names])
        state = np.nan_to_num(state, posinf=1e6, neginf=-1e6)
        scores = (self.weights @ (np.sign(state) * np.log1p(np.abs(state)))).ravel()
        scores[default] += self.bonus
        if self.has_mask:
            scores[obs["mask"].reshape(-1) == 0] = -np.inf
        return int(scores.argmax())


def allocated(source: Path, point: str, seed: int | None) -> dict[str, float]:
    """The scores of a module's functions with one point asked."""
    advisors = [make_advisor(point, "default" if seed is None else Linear(point, seed))]
    made = generate(Module.read(source), options("advised"), advisors)
    return {name: total for name, _, total in made.costs}


def vectorized(source: Path, point: str, seed: int | None) -> dict[str, float]:
    """The size of a module with the SLP vectorizer where a policy wants it."""
    advisor = make_advisor(point, "const:1" if seed is None else Linear(point, seed))
    module = Module.read(source)
    at = {"vectorizer-start": point}
    optimize(module, "default<Oz>", [advisor], at=at, options=PipelineOptions(as_clang=True))
    return {"": text_size(emit(module, relocation_model="pic"))}


def measure(point: str, program: str, policies: int) -> dict[str, float]:
    """The relative costs of all policies on one program; each is compiled in a process of its own."""
    slp = point == "advised-slp"
    make = vectorized if slp else allocated
    source = all_programs()[program].whole("Oz") if slp else optimized(program)
    runs = [partial(make, source, point, seed) for seed in (None, *range(policies))]
    made = run_isolated_together("bench_agents", runs, DEADLINE, 2)
    costs: list[dict[str, float]] = []
    for each in made:
        if isinstance(each, Exception):
            raise each
        costs.append(each)
    default, *others = costs
    return {str(seed): mean_ratio(cost, default) for seed, cost in enumerate(others)}


def summary(costs: Costs) -> list[tuple[str, str, float, float]]:
    """By program: its best policy and that of the other programs, and what the two cost here."""
    rows = []
    for program, own in costs.items():
        others = [each for name, each in costs.items() if name != program]
        best = min(own, key=own.__getitem__)
        fixed = min(own, key=lambda seed: statistics.geometric_mean(each[seed] for each in others))
        rows.append((best, fixed, own[best], own[fixed]))
    return rows


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--policies", type=int, default=24)
    parser.add_argument("--points", default=",".join([*COLUMNS, *CHOICES]))
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    arguments = parser.parse_args()
    if problems := build(arguments.programs):
        sys.exit(f"bench_agents: {problems[0]}")
    found: dict[str, Costs] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for point in arguments.points.split(","):
        costs = found.setdefault(point, {})
        for name in arguments.programs:
            if len(costs.get(name, ())) < arguments.policies:
                costs[name] = measure(point, name, arguments.policies)
                RESULTS.write_text(json.dumps(found, indent=1) + "\n")
                print(point, name, f"{min(costs[name].values()):.4f}", file=sys.stderr, flush=True)
    table = Table("point", "program", "best policy", "in-sample", "fixed policy", "held out")
    for point, costs in found.items():
        rows = summary(costs)
        for name, (best, fixed, own, other) in zip(costs, rows, strict=True):
            table.add_row(point, name, best, f"{own:.3f}", fixed, f"{other:.3f}")
        means = [statistics.geometric_mean(column) for column in zip(*(row[2:] for row in rows), strict=True)]
        table.add_row(point, "geometric mean", "", f"{means[0]:.3f}", "", f"{means[1]:.3f}", end_section=True)
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
