# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@spill` on validation programs: the weighed cost of spills, by that of LLVM's greedy allocator.

The cost of a function is that of LLVM's RegAllocScore without the loads and stores of the source: 4 for a
reload, 1 for a spill, 0.2 for a copy, times the block's frequency. Units are compiled at -O2 for x86-64; a
program's cost is the sum over its units. Fails if the geometric mean over the programs is above LIMIT.
--no-drivers leaves out the units with the drivers that run the programs, which hold the hottest loops.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Final

from bench.lib import Bar, command, geometric_means, require, settle, show
from bench.lib.corpus import built, checked, part
from passpilot.plugin.isolated import run_isolated_together
from tests.corpus.programs import Program
from tools.policies.units import outcome

LIMIT: Final = 0.98
DEADLINE: Final = 900.0


def measured(program: Program, policy: str, *, drivers: bool) -> dict[str, float]:
    units = sorted({program.unit(source, "O2") for source in program.sources()})
    units = [unit for unit in units if drivers or "_driver" not in unit.name]
    runs = [
        partial(outcome, unit, "O2", runners=runners, costs=True)
        for runners in ((), (policy,))
        for unit in units
    ]
    outcomes = checked(run_isolated_together("spill", runs, DEADLINE, os.cpu_count() or 1))
    costs = [unit.spills for unit in outcomes]
    greedy, ours = sum(costs[: len(units)]), sum(costs[len(units) :])
    return {"greedy": greedy, policy: ours, "ratio": ours / greedy}


@command
def main(policy: str = "@spill", *programs: str, no_drivers: bool = False) -> None:
    drivers = not no_drivers
    chosen = built(programs or part("validation"))
    rows = {program.name: measured(program, policy, drivers=drivers) for program in chosen}
    means = geometric_means(rows.values(), ("ratio",))
    show(f"{policy}: weighed cost of spill code at -O2", "program", rows, means)
    bar = Bar(f"spill code with `{policy}`, {len(rows)} programs", means["ratio"], LIMIT, "greedy")
    if drivers and not programs:
        settle(bar, required=True)
    else:
        require(bar)
