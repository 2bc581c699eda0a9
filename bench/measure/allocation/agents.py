# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what random policies gain at the points of the advised allocator and at `advised-slp`.

A policy is a linear score of each choice, with random weights; the default has a bonus, which is random, too,
so that some policies hardly ever leave it. All programs are compiled with the same policies. The table has,
for each program, the cost relative to the default's: that of the policy that is best on this program
(in-sample), and of the policy that is best on the other programs, which is what a fixed policy gains on
programs that it was not selected on. The default is none of the policies.
At the allocator's points a program's cost is the geometric mean of its functions' scores (LLVM's
RegAllocScore) relative to the default's; only one point is asked at a time. At `advised-slp` it is the bytes
of machine code with clang's -Oz. Writes bench/results/agents.json after each point; points that are there are
not measured again.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

import passpilot
from bench.lib import command, geometric_means, read, show, write
from bench.lib.corpus import best_elsewhere, built, checked
from bench.measure.allocation.allocator import mean_ratio, options
from passpilot import Module, emit, optimize
from passpilot.passes.emit import generate
from passpilot.plugin.compile import PipelineOptions
from passpilot.plugin.isolated import run_isolated_together
from passpilot.runners.python import Observation
from passpilot.training.rewards import code_bytes
from tests.corpus.programs import Program
from tests.passes.allocation.allocated import optimized

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
RECORD: Final = "agents.json"


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
    advisors = [passpilot.advisor(point, "default" if seed is None else Linear(point, seed))]
    costs = generate(Module.read(source), options("advised"), advisors).costs
    return {name: total for name, _, total in costs}


def vectorized(source: Path, point: str, seed: int | None) -> dict[str, float]:
    """The size of a module with the SLP vectorizer where a policy wants it."""
    advisor = passpilot.advisor(point, "const:1" if seed is None else Linear(point, seed))
    module = Module.read(source)
    at = {"vectorizer-start": point}
    optimize(module, "default<Oz>", [advisor], at=at, options=PipelineOptions(as_clang=True))
    return {"": code_bytes(emit(module, relocation_model="pic"))}


def measure(point: str, program: Program, policies: int) -> dict[str, float]:
    """The relative costs of all policies on one program; each is compiled in a process of its own."""
    slp = point == "advised-slp"
    source = program.whole("Oz") if slp else optimized(program.name)
    compile_ = vectorized if slp else allocated
    runs = [partial(compile_, source, point, seed) for seed in (None, *range(policies))]
    default, *others = checked(run_isolated_together("agents", runs, DEADLINE, 2))
    return {str(seed): mean_ratio(cost, default) for seed, cost in enumerate(others)}


@command
def main(*programs: str, policies: int = 24, points: str = ",".join([*COLUMNS, *CHOICES])) -> None:
    record: dict[str, dict[str, dict[str, float]]] = read(RECORD, {})
    for point in points.split(","):
        costs = record.setdefault(point, {})
        for program in built(programs or PROGRAMS):
            if len(costs.get(program.name, ())) < policies:
                costs[program.name] = measure(point, program, policies)
                write(RECORD, record)
                print(point, program.name, min(costs[program.name].values()), file=sys.stderr, flush=True)
    for point, costs in record.items():
        rows = {}
        for name, own in costs.items():
            best, fixed = min(own, key=own.__getitem__), best_elsewhere(costs, name, own)
            row = {"best policy": best, "in-sample": own[best], "fixed policy": fixed, "held out": own[fixed]}
            rows[name] = row
        show(point, "program", rows, geometric_means(rows.values(), ("in-sample", "held out")))
