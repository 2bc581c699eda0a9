# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the measurements with their bars, one after the other, and prints one table; `make bench-check`.

usage: python -m bench.check [NAME...]      (all; `inline.compile` is bench.measure.inline.compile)

The arguments in CHECKS make every measurement short enough that all take less than half an hour on two cores
that do nothing else. Those that take hours are not run: their bars are those of their last whole run, from
bench/results/bars, with its date. A measurement with a figure beyond its bar runs again, twice at most: a
machine that others share slows one of two compared commands down now and then, and a real miss is there in
all runs. Exits 1 if a measurement fails, or has a figure beyond its bar in every run.
"""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Final

from bench.lib import CHECK, FOLDER, MEASURES, RESULTS, ROOT, Record, read_record, show_rows
from tests.command import started


@dataclass(frozen=True)
class Check:
    """A measurement, and the arguments of a short run."""

    script: str
    arguments: tuple[str, ...] = ()
    hours: bool = False
    """Whether there is no short run."""
    deadline: int = 600
    """Seconds; many times what the run takes."""


RUNS: Final = 3
CHECKS: Final = (
    Check("runners.decision"),
    Check("inline.features", ("box2d", "Oz", "1")),
    Check("inline.compile", ("cmark-gfm", "Oz", "1")),
    Check("inline.stock"),
    Check("runners.pipe"),
    Check("runners.grpc"),
    Check("runners.attach", ("lua", "Oz", "3")),
    Check("runners.c_api"),
    Check("runners.aot"),
    Check("runners.function"),
    Check("runners.embeddings", deadline=1500),
    Check("inline.cc"),
    Check("passes.points"),
    Check("passes.function_pass"),
    Check("passes.ir"),
    Check("allocation.graph"),
    Check("allocation.llc", ("lua", "4")),
    Check("allocation.questions", ("lz4", "3")),
    Check("mlir.inline"),
    Check("mlir.plugin"),
    Check("mlir.tune", hours=True),
    Check("mlir.estimate", hours=True),
    Check("training.episodes"),
    Check("tuning.size"),
    Check("policies.unwind", ("Oz", "faults,shared", "cjson", "yajl")),
    Check("policies.throws"),
    Check("policies.ladder", hours=True),
    Check("policies.best_of", hours=True),
    Check("training.workers", hours=True),
)


def run(check: Check) -> str:
    """Run a measurement; returns what is wrong, or nothing. Nothing that it started stays."""
    (RESULTS / FOLDER / f"{check.script}.json").unlink(missing_ok=True)
    with started(sys.executable, "-m", MEASURES + check.script, *check.arguments, CHECK, cwd=ROOT) as child:
        try:
            out, err = child.communicate(timeout=check.deadline)
        except subprocess.TimeoutExpired:
            return f"{check.script}: no end after {check.deadline} s"
    record = read_record(check.script)
    if record is None or (child.returncode and record.passed):
        return f"{check.script}: exit code {child.returncode}: {(err or out).decode()[-600:].strip()}"
    return ""


def run_until_passed(check: Check) -> str:
    """Run a measurement until all figures keep their bars, three times at most."""
    for number in range(RUNS):
        again = f", again ({number + 1} of {RUNS})" if number else ""
        print(f"{check.script} {' '.join(check.arguments)}{again}", flush=True)
        began = time.monotonic()
        problem = run(check)
        print(f"  {time.monotonic() - began:.0f} s", flush=True)
        record = read_record(check.script)
        if problem or (record and record.passed):
            return problem
    return ""


def main(names: list[str]) -> int:
    """Run the chosen measurements and print a table of the bars; returns the exit code."""
    checks = [check for check in CHECKS if not names or check.script in names]
    known = {check.script for check in CHECKS}
    problems = [f"no check is called {name}" for name in names if name not in known]
    began = time.monotonic()
    records: list[Record] = []
    for check in checks:
        if not check.hours and (problem := run_until_passed(check)):
            problems.append(problem)
        record = read_record(check.script)
        if record is not None:
            records.append(record)
        elif check.hours:
            problems.append(f"{check.script}: no results of a whole run in {RESULTS / FOLDER}")
    rows = [
        (record.script, bar.name, bar.value, bar.limit_text, bar.peer, "ok" if bar.passed else "beyond")
        for record in records
        for bar in record.bars
    ]
    show_rows("bars", ("measurement", "figure", "value", "bar", "peer", "verdict"), rows)
    print(f"{time.monotonic() - began:.0f} s", *problems, sep="\n")
    return int(bool(problems) or not all(record.passed for record in records))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
