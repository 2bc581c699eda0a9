# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The aims of `@oz` on validation programs for x86-64, in the size that an aim is for.

usage: python -m bench.measure.policies.aims [PROGRAM...]

A recipe stands against the first one of the policy, with R1's flags on both sides: `file` by the stripped
file, `compressed` by that file through xz, and `rom` by the loaded bytes, where neither side has unwind
tables. What is measured is kept in bench/results/aims.json, where the next call goes on.
"""

from __future__ import annotations

import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.lib import Bar, command, geometric_means, read, settle, show, write
from bench.lib.corpus import built, checked
from bench.measure.policies.levers import DEADLINE, Lever, optimized
from bench.measure.policies.oz import side
from passpilot.plugin.isolated import run_isolated_together
from passpilot.runners.policy.bundle import find_bundle
from tests.corpus.programs import Program

RECORD: Final = "aims.json"
PROGRAMS: Final = ("cjson", "expat", "libyaml", "qhull", "tinyxml2", "yajl")
SIZES: Final = {"file": "stripped", "compressed": "xz", "rom": "allocated"}
"""What counts for an aim."""
BARE: Final = ", no tables"

Row = dict[str, dict[str, Any]]


def measure(program: Program) -> Row:
    """All sizes by aim, and whether the program prints what it should; "" is the policy without an aim."""
    found: Row = {}
    for recipe in find_bundle("@oz").recipes:
        code = tuple(option for option in recipe.options if not option.startswith("unwind="))
        tables = {recipe.aim: "unwind=faults"}
        if recipe.aim in ("", "rom"):
            tables[f"{recipe.aim}{BARE}"] = "unwind=none"
        with tempfile.TemporaryDirectory() as folder:
            modules = optimized(program, "R1", recipe.pipeline, Path(folder))
            for name, mode in tables.items():
                lever = Lever(recipe.pipeline, (*code, mode))
                one = partial(side, program, "R1", lever, modules, counts=False)
                (found[name],) = checked(run_isolated_together("aims", [one], DEADLINE))
    return found


def ratios(record: dict[str, Row]) -> dict[str, dict[str, float]]:
    """By program, the size of every aim relative to that of the policy without an aim."""
    return {
        program: {
            aim: row[f"{aim}{bare}"][size] / row[bare][size]
            for aim, size in SIZES.items()
            for bare in [BARE if aim == "rom" else ""]
        }
        for program, row in record.items()
    }


@command
def main(*programs: str) -> None:
    record: dict[str, Row] = read(RECORD, {})
    for program in built(programs or PROGRAMS):
        if program.name not in record:
            record[program.name] = measure(program)
            write(RECORD, record)
            print(program.name, file=sys.stderr, flush=True)
    found = ratios(record)
    means = geometric_means(found.values(), SIZES)
    show("@oz?aim= relative to @oz, in its own size", "program", found, means)
    wrong = sum(not each["right"] for row in record.values() for each in row.values())
    settle(
        *(Bar(f"{size}, the mean", means[aim], 1.0, f"aim={aim}") for aim, size in SIZES.items()),
        Bar("programs that print something else", wrong, 0),
    )
