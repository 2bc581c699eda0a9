# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the advised allocator with LLVM's greedy and basic: RegAllocScore and allocation time.

The score of a function is that of LLVM's RegAllocScore: 4 for a reload, 1 for a spill, 0.2 for a copy, times
the block's frequency; beside basic, which has no score, 4 for a reload and 1 for a spill. A program's ratio
is the geometric mean over its functions, so that one hot function does not decide; the table has the ratio of
the sums, too. The bars: 1.10 of greedy's and 0.95 of basic's score, and 3 times greedy's allocation time, as
geometric means over the programs. Times are those of -time-passes in stock llc with the plugin, the sum of
the allocators' passes, in turns, the least of three: with the default agents, and asked, where native runners
answer all four points as the defaults do. Fails with exit code 1 beyond the bars, and names the programs that
are beyond them alone, too. Writes bench/results/allocator.json after each program, and takes the programs
that are there already into the means.

usage: bench_allocator.py [PROGRAM ...]      (all programs of the corpus that are not there)
"""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from passpilot import Module
from passpilot.plugin import _core
from passpilot.plugin.compile import generate, llvm_options
from passpilot.plugin.toolchain import llvm_plugin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.corpus.programs import all_programs  # noqa: E402
from tests.passes.allocation.allocated import optimized  # noqa: E402

BARS: Final = {"greedy": 1.10, "basic": 0.95}
SLOWEST: Final = 3.0
RESULTS: Final = ROOT / "bench/results/allocator.json"
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
    """Those of a code generation with an allocator."""
    llvm_options([f"-regalloc={allocator}"])
    made = _core.EmitOptions()
    made.relocation_model, made.filetype = "pic", _core.FileType.ASM
    made.asm_verbose = made.frequencies = made.costs = True
    return made


def scores(source: Path, allocator: str) -> tuple[dict[str, float], dict[str, float]]:
    """The scores of a module's functions, and their part for spill code, which the assembly names.

    Basic has no scores, since nobody takes them; so it is compared by its spill code.
    """
    made = generate(Module.read(source), options(allocator), [])
    return {name: total for name, _, total in made.costs}, spill_code(made)


def spill_code(made: _core.Emitted) -> dict[str, float]:
    """4 for a reload and 1 for a spill, times the frequency, by function."""
    found: dict[str, float] = {}
    frequencies = made.frequencies  # a copy
    function, frequency = "", 0.0
    for line in made.code.decode("utf-8", "replace").splitlines():
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
    """The geometric mean of the functions' ratios."""
    logs = [math.log((ours[name] + SMALLEST) / (theirs[name] + SMALLEST)) for name in theirs if name in ours]
    return math.exp(sum(logs) / max(1, len(logs)))


def seconds(source: Path, allocator: str, *asked: str) -> float:
    """The time of the allocation passes in stock llc."""
    flags = [f"-regalloc={allocator}", "-relocation-model=pic", "-filetype=null", "-time-passes", *asked]
    command = ["llc-22", f"-load={llvm_plugin()}", "-O2", *flags, str(source)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    return sum(map(float, TIMED.findall(told)))


def times(name: str) -> dict[str, float]:
    """Greedy's time in seconds, and the ratios of the advised allocator's to it."""
    source = optimized(name)
    runs = {"advised": ("advised",), "asked": ("advised", *ASKED), "greedy": ("greedy",)}
    taken: dict[str, list[float]] = {kind: [] for kind in runs}
    for _ in range(3):
        for kind, (allocator, *asked) in runs.items():
            taken[kind].append(seconds(source, allocator, *asked))
    least = {kind: min(each) for kind, each in taken.items()}
    return {
        "greedy, s": least["greedy"],
        "time": least["advised"] / least["greedy"],
        "time, asked": least["asked"] / least["greedy"],
    }


def score_ratios(name: str) -> dict[str, float]:
    """The ratios of a program's scores."""
    source = optimized(name)
    ours, our_spills = scores(source, "advised")
    greedy, _ = scores(source, "greedy")
    _, basic = scores(source, "basic")
    return {
        "greedy": mean_ratio(ours, greedy),
        "greedy, sums": sum(ours.values()) / sum(greedy.values()),
        "basic": mean_ratio(our_spills, basic),
        "basic, sums": sum(our_spills.values()) / sum(basic.values()),
    }


def means(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The geometric means of all columns."""
    return {key: math.exp(sum(math.log(row[key]) for row in rows) / len(rows)) for key in rows[0]}


def main() -> None:
    """Measure, print the table, write the JSON, and fail beyond the bars."""
    rows: dict[str, dict[str, float]] = (
        json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    )
    for name in sys.argv[1:] or [each for each in all_programs() if each not in rows]:
        rows[name] = score_ratios(name) | times(name)
        total = means(list(rows.values()))
        RESULTS.write_text(json.dumps({"programs": rows, "mean": total}, indent=1) + "\n")
        print(name, {key: round(value, 3) for key, value in rows[name].items()}, file=sys.stderr, flush=True)
    total = means(list(rows.values()))
    table = Table("program", *total, title="the advised allocator / another: scores, allocation time")
    for name, row in {**rows, "mean": total}.items():
        table.add_row(name, *(f"{value:.3f}" for value in row.values()))
    Console().print(table)
    bars = {**BARS, "time": SLOWEST, "time, asked": SLOWEST}
    for name, row in rows.items():
        if alone := [f"{key} {row[key]:.2f}" for key, bar in bars.items() if row[key] > bar]:
            print(f"{name} alone is beyond: {', '.join(alone)}")
    beyond = [key for key, bar in bars.items() if total[key] > bar]
    if beyond:
        sys.exit(f"bench_allocator: beyond the bar: {', '.join(beyond)}")


if __name__ == "__main__":
    main()
