# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the advised allocator with LLVM's greedy and basic: RegAllocScore and allocation time.

The score of a function is that of LLVM's RegAllocScore: 4 for a reload, 1 for a spill, 0.2 for a copy, times
the block's frequency; beside basic, which has no score, 4 for a reload and 1 for a spill. A program's ratio
is the geometric mean over its functions, so that one hot function does not decide; the table has the ratio of
the sums, too. The bars: 1.10 of greedy's and 0.95 of basic's score, and 3 times greedy's allocation time, as
geometric means over the programs. Times are those of -time-passes in stock llc with the plugin, the sum of
the allocators' passes, in turns, the least of three: with the default agents, and asked, where native runners
answer all four points as the defaults do. Fails beyond the bars, and names the programs that are beyond them
alone, too. Writes bench/results/allocator.json after each program, and takes the programs that are there
already into the means; without arguments, it measures all others.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, geometric_means, in_turns, least, read, require, show, write
from passpilot import Module
from passpilot.passes.emit import generate
from passpilot.plugin import _core
from passpilot.plugin.compile import llvm_options
from passpilot.plugin.toolchain import llvm_plugin
from tests.corpus.programs import all_programs
from tests.passes.allocation.allocated import optimized

BARS: Final = {"greedy": 1.10, "basic": 0.95, "time": 3.0, "time, asked": 3.0}
RECORD: Final = "allocator.json"
FUNCTION: Final = re.compile(r"\s-- Begin function (.+)$")
BLOCK: Final = re.compile(r"(?:\S*BB\d+_|\s*(?:#|//)\s*%bb\.)(\d+):")
ASKED: Final = (
    "-passpilot-ra-order=const:0",
    "-passpilot-ra-action=default",
    "-passpilot-ra-colour=default",
    "-passpilot-ra-split=const:0",
)
"""Native runners that answer as the defaults do."""
SMALLEST: Final = 0.01
"""Added to a function's score: many functions have none."""

TIMED: Final = re.compile(
    r"^\s+([0-9.]+) \(.*\s(?:(?:Greedy|Advised) Register Allocator|Spill Code Placement Analysis)$",
    re.MULTILINE,
)


def options(allocator: str) -> _core.EmitOptions:
    llvm_options([f"-regalloc={allocator}"])
    wanted = _core.EmitOptions()
    wanted.relocation_model, wanted.filetype = "pic", _core.FileType.ASM
    wanted.asm_verbose = wanted.frequencies = wanted.costs = True
    return wanted


def scores(source: Path, allocator: str) -> tuple[dict[str, float], dict[str, float]]:
    """The scores of a module's functions, and their part for spill code, which the assembly names.

    Basic has no scores, since nobody takes them; so it is compared by its spill code.
    """
    emitted = generate(Module.read(source), options(allocator), [])
    return {name: total for name, _, total in emitted.costs}, spill_code(emitted)


def spill_code(emitted: _core.Emitted) -> dict[str, float]:
    """4 for a reload and 1 for a spill, times the frequency, by function."""
    found: dict[str, float] = {}
    frequencies = emitted.frequencies  # a copy
    function, frequency = "", 0.0
    for line in emitted.code.decode("utf-8", "replace").splitlines():
        if begins := FUNCTION.search(line):
            function, frequency = begins[1].strip('"'), 1.0
            found[function] = 0.0
        elif block := BLOCK.match(line):
            frequency = frequencies.get(function, {}).get(int(block[1]), 0.0)
        elif function and line.endswith("Reload"):
            found[function] += 4 * frequency
        elif function and line.endswith("Spill"):
            found[function] += frequency
    return found


def mean_ratio(ours: Mapping[str, float], theirs: Mapping[str, float]) -> float:
    logs = [math.log((ours[name] + SMALLEST) / (theirs[name] + SMALLEST)) for name in theirs if name in ours]
    return math.exp(sum(logs) / max(1, len(logs)))


def seconds(source: Path, allocator: str, *asked: str) -> float:
    """The time of the allocation passes in stock llc."""
    flags = [f"-regalloc={allocator}", "-relocation-model=pic", "-filetype=null", "-time-passes", *asked]
    command = ["llc-22", f"-load={llvm_plugin()}", "-O2", *flags, str(source)]
    report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return sum(map(float, TIMED.findall(report)))


def times(source: Path) -> dict[str, float]:
    """Greedy's time in seconds, and the ratios of the advised allocator's to it."""
    runs = {"advised": ("advised",), "asked": ("advised", *ASKED), "greedy": ("greedy",)}
    taken = least(in_turns({kind: partial(seconds, source, *flags) for kind, flags in runs.items()}, 3))
    greedy = taken["greedy"]
    return {"greedy, s": greedy, "time": taken["advised"] / greedy, "time, asked": taken["asked"] / greedy}


def score_ratios(source: Path) -> dict[str, float]:
    ours, our_spills = scores(source, "advised")
    greedy, _ = scores(source, "greedy")
    _, basic = scores(source, "basic")
    return {
        "greedy": mean_ratio(ours, greedy),
        "greedy, sums": sum(ours.values()) / sum(greedy.values()),
        "basic": mean_ratio(our_spills, basic),
        "basic, sums": sum(our_spills.values()) / sum(basic.values()),
    }


@command
def main(*programs: str) -> None:
    rows: dict[str, dict[str, float]] = read(RECORD, {"programs": {}})["programs"]
    for name in programs or [name for name in all_programs() if name not in rows]:
        source = optimized(name)
        rows[name] = score_ratios(source) | times(source)
        write(RECORD, {"programs": rows, "mean": geometric_means(rows.values(), rows[name])})
        print(name, rows[name], file=sys.stderr, flush=True)
    means = geometric_means(rows.values(), next(iter(rows.values())))
    show("the advised allocator / another: scores, allocation time", "program", rows, means)
    for name, row in rows.items():
        if alone := [f"{key} {row[key]:.2f}" for key, bar in BARS.items() if row[key] > bar]:
            print(f"{name} alone is beyond: {', '.join(alone)}")
    require(*(Bar(key, means[key], bar) for key, bar in BARS.items()))
