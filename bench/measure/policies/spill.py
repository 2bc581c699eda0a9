# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@spill` on test programs: the weighed cost of spill code, relative to LLVM's greedy allocator.

The cost of a function is that of LLVM's RegAllocScore without the loads and stores of the source: 4 for a
reload, 1 for a spill, 0.2 for a copy, times the block's frequency. Units are compiled at -O2 for x86-64; a
program's cost is the sum over its units. Writes bench/results/spill.json, and fails if the geometric mean
over the programs is above LIMIT.

--no-drivers leaves out the units with the drivers that run the programs, which hold the hottest loops.

usage: python -m bench.measure.policies.spill [--no-drivers] [POLICY [PROGRAM ...]]
           (@spill, the test programs of tests/corpus/split.toml)
"""

from __future__ import annotations

import json
import math
import os
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.lib.bars import Bar, arguments, settle
from bench.lib.records import ROOT
from passpilot import PriorityAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.compile import PipelineOptions, file_type, generate, llvm_options
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from tests.corpus.build import build
from tests.corpus.programs import all_programs

LIMIT: Final = 0.98
DEADLINE: Final = 900.0
NO_DRIVERS: Final = "--no-drivers"
RESULTS: Final = ROOT / "bench/results/spill.json"


def cost(unit: Path, policy: str) -> float:
    """The cost of a unit's spill code; greedy's own without a policy."""
    llvm_options(["-relocation-model=pic"])
    module = Module.read(unit)
    optimize(module, "default<O2>", options=PipelineOptions(as_clang=True))
    wanted = _core.EmitOptions()
    wanted.filetype, wanted.relocation_model, wanted.costs = file_type("obj"), "pic", True
    advisors = []
    if policy:
        advisors = [PriorityAdvisor(policy)]
        advisors[0].may_idle = True  # a unit of data alone
    return sum(total for _, _, total in generate(module, wanted, advisors).costs)


def costs(name: str, policy: str, *, drivers: bool) -> tuple[float, float]:
    """A program's costs by greedy and by the policy."""
    program = all_programs()[name]
    units = sorted({program.unit(source, "O2") for source in program.sources()})
    units = [unit for unit in units if drivers or "_driver" not in unit.name]
    runs = [partial(cost, unit, each) for each in ("", policy) for unit in units]
    made = run_isolated_together("bench_spill", runs, DEADLINE, os.cpu_count() or 1)
    found = []
    for each in made:
        if isinstance(each, Exception):
            raise each
        found.append(each)
    return sum(found[: len(units)]), sum(found[len(units) :])


def main(*words: str) -> None:
    """Measure, print, write."""
    policy, *names = [word for word in words if word != NO_DRIVERS] or ["@spill"]
    drivers = NO_DRIVERS not in words
    split = tomllib.loads((ROOT / "tests/corpus/split.toml").read_text())
    chosen = names or tuple(split["parts"]["test"])
    if problems := build(chosen):
        sys.exit(f"bench_spill: {problems[0]}")
    table = Table(title=f"{policy}: weighed cost of spill code at -O2")
    for column in ("program", "greedy", policy, "ratio"):
        table.add_column(column, justify="left" if column == "program" else "right")
    rows = {}
    for name in chosen:
        greedy, advised = costs(name, policy, drivers=drivers)
        rows[name] = {"greedy": greedy, "policy": advised, "ratio": advised / greedy}
        table.add_row(name, f"{greedy:.0f}", f"{advised:.0f}", f"{advised / greedy:.4f}")
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows.values()) / len(rows))
    table.add_row("geometric mean", "", "", f"{mean:.4f}")
    Console(width=110).print(table)
    if drivers and not names:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps({"policy": policy, "mean": mean, "programs": rows}, indent=1) + "\n")
        settle(Bar(f"spill code with `{policy}`, {len(rows)} programs", mean, LIMIT, "greedy"))
    if mean > LIMIT:
        sys.exit(f"bench_spill: expected at most {LIMIT}, got {mean:.4f}")


if __name__ == "__main__":
    main(*arguments())
