# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the measurements with their bars, one after the other, and prints one table; `make bench-check`.

usage: bench/check.py [SCRIPT...]      (all; `compile` is bench/bench_compile.py)

The arguments in CHECKS make every script short enough that all take less than half an hour on two cores that
do nothing else. Scripts that take hours are not run: their bars are those of their last whole run, from
bench/results/bars, with its date. A script with a figure beyond its bar runs again, twice at most: a machine
that others share slows one of two compared commands down now and then, and a real miss is there in all runs.
Exits 1 if a script fails, or has a figure beyond its bar in every run.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import CHECK, RESULTS, Record, read_record  # noqa: E402
from tests.command import started  # noqa: E402


@dataclass(frozen=True)
class Check:
    """A script, and the arguments of a short run."""

    script: str
    arguments: tuple[str, ...] = ()
    hours: bool = False
    """Whether there is no short run."""
    deadline: int = 600
    """Seconds; many times what the run takes."""


RUNS: Final = 3
CHECKS: Final = (
    Check("decision"),
    Check("features", ("box2d", "Oz", "1")),
    Check("compile", ("cmark-gfm", "Oz", "1")),
    Check("stock"),
    Check("pipe"),
    Check("grpc"),
    Check("attach", ("lua", "Oz", "3")),
    Check("c_api"),
    Check("aot"),
    Check("cc"),
    Check("points"),
    Check("passes"),
    Check("ir"),
    Check("graph"),
    Check("allocation", ("lua", "4")),
    Check("allocator_questions", ("lz4", "3")),
    Check("mlir_inline"),
    Check("mlir_plugin"),
    Check("episodes"),
    Check("best_of", hours=True),
    Check("workers", hours=True),
)


def run(check: Check) -> str:
    """Run a script; what is wrong, or nothing. Its own output is shown if it fails; nothing of it stays."""
    script = Path(__file__).with_name(f"bench_{check.script}.py")
    (RESULTS / f"{check.script}.json").unlink(missing_ok=True)
    command = [sys.executable, str(script), *check.arguments, CHECK]
    with started(*command, cwd=ROOT) as child:
        try:
            out, err = child.communicate(timeout=check.deadline)
        except subprocess.TimeoutExpired:
            return f"{check.script}: no end after {check.deadline} s"
    record = read_record(check.script)
    if record is None or (child.returncode and record.passed):
        return f"{check.script}: exit code {child.returncode}: {(err or out).decode()[-600:].strip()}"
    return ""


def settled(check: Check) -> str:
    """The same, until all figures keep their bars, or three times."""
    for number in range(RUNS):
        again = f", again ({number + 1} of {RUNS})" if number else ""
        print(f"bench_{check.script}.py {' '.join(check.arguments)}{again}", flush=True)
        began = time.monotonic()
        problem = run(check)
        print(f"  {time.monotonic() - began:.0f} s", flush=True)
        record = read_record(check.script)
        if problem or (record and record.passed):
            return problem
    return ""


def table(records: list[Record]) -> Table:
    """All bars: the script, the figure, the bar, the peer and the verdict."""
    made = Table(title="bars")
    for column in ("script", "figure", "value", "bar", "peer", "verdict"):
        made.add_column(column, justify="right" if column in ("value", "bar") else "left")
    for record in records:
        for bar in record.bars:
            verdict = "[green]ok" if bar.passed else "[red]beyond"
            made.add_row(record.script, bar.name, f"{bar.value:.4g}", bar.limit_text, bar.peer, verdict)
    return made


def main(names: list[str]) -> int:
    """Run the chosen scripts and print the table; the exit code."""
    checks = [check for check in CHECKS if not names or check.script in names]
    problems = [
        f"no check is called {name}" for name in names if name not in {each.script for each in CHECKS}
    ]
    began, records = time.monotonic(), []
    for check in checks:
        if not check.hours and (problem := settled(check)):
            problems.append(problem)
        record = read_record(check.script)
        if record is not None:
            records.append(record)
        elif check.hours:
            problems.append(f"{check.script}: no results of a whole run in {RESULTS}")
    Console(width=140).print(table(records))
    print(f"{time.monotonic() - began:.0f} s", *problems, sep="\n")
    return int(bool(problems) or not all(record.passed for record in records))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
