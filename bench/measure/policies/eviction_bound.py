# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much an order of live ranges can bring at all: the best of many orders, function by function.

usage: python -m bench.measure.policies.eviction_bound [--tries=N] [PROGRAM...]

Units are compiled at -O2 with a profile of the program's own run, so that blocks count as they ran. Each
function is allocated by greedy with its own priorities, and N times (200) with changed ones: scaled by noise,
drawn at random, or by spill weight and noise. The order that executes the fewest spills, reloads, copies and
rematerializations is chosen for each function; the program is linked with these and runs again. What counts
is its executed instructions against those with greedy's order. The search sees the run that is counted, so
no policy can gain more by the orders that were tried.
What is measured is kept in bench/results/eviction_bound.json, where the next call goes on.
"""

from __future__ import annotations

import math
import os
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from bench.lib import command, geometric_means, read, show, write
from bench.lib.corpus import built, checked
from bench.lib.instructions import executed
from bench.measure.policies.levers import CODE, DEADLINE, FOLDED, libraries
from bench.measure.policies.profile import profile_of, run_of
from passpilot import Observation, PriorityAdvisor
from passpilot.passes.emit import generate
from passpilot.plugin import _core
from passpilot.plugin.compile import file_type, llvm_options
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from tests.command import PASSPILOT
from tests.corpus.programs import Program

RECORD: Final = "eviction_bound.json"
PROGRAMS: Final = ("cjson", "expat", "jansson", "libyaml", "lmdb", "lua", "meshoptimizer", "muparser")
SEARCH: Final = 3600.0
"""Seconds for all orders of one unit."""
NOISE: Final = (0.05, 0.3, 1.0)
MOST: Final = 2.0**32 - 1
"""The largest priority."""
GREEDY: Final = -1
"""The seed of greedy's own order."""


class Orders:
    """Priorities by the function's seed: those of greedy, changed in one of five ways."""

    def __init__(self, seed_of: Callable[[str], int]) -> None:
        self._seed_of = seed_of
        self._function = ""
        self._seed = GREEDY
        self._random = Random()

    def decide(self, obs: Observation) -> float:
        if obs.context != self._function:
            self._function = obs.context
            self._seed = self._seed_of(obs.context)
            self._random = Random(f"{self._seed} {obs.context}")
        own = float(obs.default())
        if self._seed == GREEDY:
            return own
        way = self._seed % (len(NOISE) + 2)
        if way < len(NOISE):
            return min(own * math.exp(self._random.gauss(0, NOISE[way])), MOST)
        noise = self._random.random()
        weight = float(obs["weight"].item())
        changed = noise * MOST if way == len(NOISE) or math.isinf(weight) else weight * (1 + noise)
        return min(changed, MOST)


def emitted(module: Module, seed_of: Callable[[str], int]) -> _core.Emitted:
    wanted = _core.EmitOptions()
    wanted.filetype, wanted.relocation_model, wanted.costs = file_type("obj"), "pic", True
    advisor = PriorityAdvisor(Orders(seed_of).decide)
    advisor.may_idle = True  # a unit of data alone has nothing to ask
    return generate(module, wanted, [advisor])


def always(seed: int, _function: str) -> int:
    return seed


def executed_by(result: _core.Emitted) -> dict[str, float]:
    """How many instructions of spill code each function executes, for one time that it is called."""
    return {
        name: sum(frequency for kind, (_, frequency) in kinds.items() if not kind.startswith("folded"))
        for name, kinds, _ in result.costs
    }


def searched(unit: Path, tries: int) -> dict[str, int]:
    """The seed of the best order of each function, in a process of its own."""
    best: dict[str, tuple[float, int]] = {}
    for seed in range(GREEDY, tries):
        costs = executed_by(emitted(Module.read(unit), partial(always, seed)))
        if seed == GREEDY:
            best = {name: (cost, seed) for name, cost in costs.items()}
        best |= {name: (costs.get(name, 0), seed) for name in best if costs.get(name, 0) < best[name][0]}
    return {name: seed for name, (_, seed) in best.items() if seed != GREEDY}


def written(unit: Path, path: Path, seeds: Mapping[str, int]) -> None:
    llvm_options(["-function-sections", "-data-sections", "-addrsig"])
    path.write_bytes(emitted(Module.read(unit), lambda name: seeds.get(name, GREEDY)).code)


def optimized(program: Program, profile: Path, folder: Path) -> list[Path]:
    """The units in front of code generation."""
    paths = []
    for number, source in enumerate(program.sources()):
        paths.append(folder / f"{number}.bc")
        flags = (*CODE[1:], "-O2", f"--profile={profile}", "-emit-llvm")
        files: list[str | Path] = ["-c", program.unit(source, "O2"), "-o", paths[-1]]
        subprocess.run([PASSPILOT, "cc", *flags, *files], check=True, timeout=DEADLINE)
    return paths


def measure(program: Program, tries: int, folder: Path) -> dict[str, Any]:
    units = optimized(program, profile_of(program, folder), folder)
    jobs = os.cpu_count() or 1
    runs = [partial(searched, unit, tries) for unit in units]
    found = checked(run_isolated_together("orders", runs, SEARCH, jobs))
    counts = []
    for side in ("greedy", "best"):
        objects = [folder / f"{side}-{unit.stem}.o" for unit in units]
        seeds = found if side == "best" else [{} for _ in units]
        rows = [partial(written, *row) for row in zip(units, objects, seeds, strict=True)]
        checked(run_isolated_together("objects", rows, DEADLINE, jobs))
        image = folder / side
        link: list[str | Path] = ["clang-22", "-fuse-ld=lld", "-pie", *FOLDED, *objects, *libraries(program)]
        subprocess.run([*link, "-o", image], check=True, timeout=DEADLINE)
        counts.append(executed(run_of(program, image, "seen.lua"), program.source))
    changed = sum(map(len, found))
    return {"tries": tries, "functions": changed, "greedy": counts[0], "best": counts[1]}


@command
def main(*programs: str, tries: int = 200) -> None:
    record = read(RECORD, {})
    for program in built(programs or PROGRAMS):
        if program.name not in record:
            with tempfile.TemporaryDirectory() as folder:
                record[program.name] = measure(program, tries, Path(folder))
            write(RECORD, record)
    rows = {
        name: {"functions": row["functions"], "instructions": row["best"] / row["greedy"]}
        for name, row in record.items()
    }
    title = "the best order of each function: executed instructions of greedy's"
    show(title, "program", rows, geometric_means(rows.values(), ("instructions",)))
