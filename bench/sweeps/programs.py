# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Many programs: random answers at every decision point, and default advice, which must change nothing.

`identity` compiles every unit of the corpus at -O1, -O2, -O3, -Os and -Oz with an advisor of the inliner that
answers as LLVM does, and `llc` makes code of the same units after -O2, at three levels for five targets, with
such advisors of evictions, priorities and the schedule: for a half of the units a policy that reads nothing,
for the others one whose decisions are logged, for which all features are computed. The bytes must be those
of stock opt and llc; units that stock llc cannot compile for a target are left out.

The other cases have random answers. The trials `vectorize`, `slp`, `distribute`, `outline`, `ra-order`, `ra-
action`, `ra-colour`, `ra-split` and `schedule` ask one point, `allocator` the allocator's four, and `all`
these points at once; `schedule x10` makes code of a program ten times, with other answers. `every` adds the
inliner, sizes, unrolling and the pipeline, and asks the advised allocator for odd seeds, greedy's evictions
and priorities for even ones. `part` does the same in one part of a program of the corpus (parts.py). Programs
of csmith must print what they print at -O0 (those that run longer than five seconds there are left out); the
drivers of the corpus what the corpus says. The allocator's machine code is verified with csmith's programs,
and with the corpus's for the first seed. `stress` makes code of llvm-stress's functions for five targets:
stock llc's with default advice, and code that LLVM verifies with random advice. `sequences` runs programs
after random pipelines of the tables (tests/passes/shipped/sequences.py). `exceptions`, `exceptions-alone`,
`emulated`, `crashes`, `rows` and `rows-shared`, `rows-csmith`, `rows-exceptions`, `rows-frames` are about
smaller unwind tables (unwind.py).

Every case has a process of its own and is one line of FILE. Ctrl-C or --budget ends the soak; then RESULTS
gets the counts of FILE's cases, which cases they are, their commits and the last day. RESULTS is committed:
the next call goes on, on any machine. Wrong cases are judged again. Limits are of processor time, so that
other work on the machine changes nothing. Exit code 1 if a case is wrong.

    python -m bench.sweeps.programs sweeps                                  all of these, in turns
    python -m bench.sweeps.programs identity --programs=lua --trials=O2     or `llc`
    python -m bench.sweeps.programs corpus --count=100 --trials=part        or `csmith`, `stress`, `sequences`
    python -m bench.sweeps.programs show                                    the counts alone

--shard=1/4 is the first of four parts, for four machines; `cat` joins their files, `show` counts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from itertools import islice, zip_longest
from pathlib import Path
from typing import Final

from bench.lib import RESULTS, ROOT, show_rows
from bench.sweeps import unwind
from bench.sweeps.ledger import Ledger
from bench.sweeps.trials import GENERATED, LEVELS, PART, SEQUENCES, STRESSED, TRIALS, Case, judge_all
from passpilot.cli.progress import progress
from tests.corpus.build import is_built
from tests.corpus.programs import all_programs

SWEEPS: Final = {
    "identity": LEVELS,
    "llc": GENERATED,
    "csmith": ("every",),
    "corpus": (PART,),
    "stress": STRESSED,
    SEQUENCES: (SEQUENCES,),
    "exceptions": unwind.EXCEPTIONS,
    "emulated": unwind.EMULATED,
    "crashes": (unwind.CRASHES,),
    "rows": unwind.ROWS,
    "rows-shared": unwind.SHARED,
    "exceptions-alone": (unwind.ALONE,),
    "rows-csmith": (unwind.RANDOM,),
    "rows-exceptions": (unwind.RANDOM,),
    "rows-frames": (unwind.RANDOM,),
}
COUNTS: Final = {
    "csmith": 2000,
    "corpus": 100,
    "stress": 400,
    SEQUENCES: 240,
    "exceptions": 2000,
    "emulated": 300,
    "exceptions-alone": 300,
    "crashes": 100,
    "rows-csmith": 300,
    "rows-exceptions": 100,
    "rows-frames": 300,
}
"""Random programs, or seeds of every program."""
PROGRAMS: Final = {
    "csmith": "csmith",
    "stress": "llvm-stress",
    SEQUENCES: SEQUENCES,
    **dict.fromkeys(
        ("exceptions", "exceptions-alone", "emulated", "crashes", "rows-exceptions"), "exceptions"
    ),
    "rows-csmith": "csmith",
    "rows-frames": "frames",
}
RECORDS: Final = (":!bench/results", ":!docs")
"""Files whose changes change no case."""
UNITS: Final = {"s": 1, "m": 60, "h": 3600}
"""Seconds."""


def tree() -> str:
    """The commit of this tree, with a `+` if a file is changed that is neither a result nor a document."""
    head = git("rev-parse", "--short", "HEAD")
    return f"{head}+" if head and git("status", "--porcelain", "--", ".", *RECORDS) else head


def git(*arguments: str) -> str:
    """What git says, or nothing where there is none."""
    if not shutil.which("git"):
        return ""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False, text=True)
    return done.stdout.strip()


def judged_before(file: Path) -> list[Case]:
    lines = file.read_text().splitlines() if file.exists() else []
    return [Case(**json.loads(line)) for line in lines]


def sizes(names: Iterable[str]) -> list[str]:
    """Programs of the corpus that are built, small ones first."""
    programs = [all_programs()[name] for name in names if is_built(all_programs()[name])]
    return [
        program.name for program in sorted(programs, key=lambda program: program.whole("O2").stat().st_size)
    ]


def units(names: Iterable[str]) -> Iterator[str]:
    """The units of programs, as ``NAME/UNIT``."""
    for name in names:
        program = all_programs()[name]
        for unit in sorted({program.unit(source, "Oz").name for source in program.sources()}):
            yield f"{name}/{unit}"


def sweep(what: str, arguments: argparse.Namespace) -> Iterator[list[Case]]:
    """The cases of a sweep, those of a program and a seed together.

    They come seed by seed, so that an early end leaves about as many for all programs.
    """
    trials, judge = arguments.trials or SWEEPS[what], tree()
    if problem := unwind.missing(trials):
        print(f"{what}: {problem}", file=sys.stderr)
        return
    seeds = range(1)
    if what in COUNTS:
        first = 0 if what == "corpus" else 1
        seeds = range(first, first + (arguments.count or COUNTS[what]))
    programs = [PROGRAMS[what]] if what in PROGRAMS else sizes(arguments.programs or all_programs())
    if what in ("identity", "llc"):
        programs = list(units(programs))
    for seed in seeds:
        for program in programs:
            yield [Case(trial, program, seed, tree=judge) for trial in trials]


def wanted(arguments: argparse.Namespace, ledger: Ledger) -> Iterator[list[Case]]:
    """The cases of a command line and of its shard that are not done; those of several sweeps in turns."""
    part, parts = arguments.shard
    names = list(SWEEPS) if arguments.what == "sweeps" else [arguments.what]
    for groups in zip_longest(*(sweep(name, arguments) for name in names), fillvalue=()):
        for cases in groups:
            left = [case for case in cases if case not in ledger]
            if left and zlib.crc32(f"{left[0].program} {left[0].seed}".encode()) % parts == part - 1:
                yield left


def run(arguments: argparse.Namespace, ledger: Ledger) -> None:
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    found = list(wanted(arguments, ledger))
    ends = time.monotonic() + arguments.budget
    groups = (group for group in found if time.monotonic() < ends)
    fork = multiprocessing.get_context("fork")
    with (
        ProcessPoolExecutor(arguments.jobs, fork) as pool,
        arguments.file.open("a") as file,
        progress("judging", sum(map(len, found))) as step,
    ):
        work = {pool.submit(judge_all, group) for group in islice(groups, arguments.jobs)}
        while work:
            ready = next(as_completed(work))
            work.remove(ready)
            for case in ready.result():
                file.write(json.dumps(asdict(case)) + "\n")
                step()
                if case.wrong:
                    place = f"{case.trial}, {case.program}, seed {case.seed}"
                    print(f"wrong: {place}: {case.wrong}", file=sys.stderr)
            file.flush()
            work |= {pool.submit(judge_all, group) for group in islice(groups, 1)}


def show(ledger: Ledger) -> int:
    """Print the counts; returns how many cases are wrong."""
    heads = ("trial, programs", "cases", "decisions", "left out", "wrong", "seeds of all")
    rows = []
    for name, row in sorted(ledger.rows.items()):
        seeds = None if name.endswith(", units") else row.seeds
        rows.append((name, row.cases, row.decisions, row.left_out, len(row.wrong), seeds))
    show_rows("sweeps", heads, rows)
    for name, row in sorted(ledger.rows.items()):
        for place, text in row.wrong.items():
            print(f"wrong: {name.partition(',')[0]}, {place}: {text}")
    return sum(len(row.wrong) for row in ledger.rows.values())


def names(text: str) -> list[str]:
    return text.split(",")


def duration(text: str) -> float:
    """The seconds of ``90m``, ``2h`` or ``30s``."""
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in UNITS:
        raise argparse.ArgumentTypeError(f"expected a time as 90m, got {text!r}")
    return float(number) * UNITS[unit]


def shard(text: str) -> tuple[int, int]:
    """The part and the parts of ``1/4``."""
    part, slash, parts = text.partition("/")
    if not slash or not part.isdecimal() or not parts.isdecimal() or not 1 <= int(part) <= int(parts):
        raise argparse.ArgumentTypeError(f"expected a part as 1/4, got {text!r}")
    return int(part), int(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description="Many programs, with random or default advice.")
    parser.add_argument("what", choices=["sweeps", *SWEEPS, "show"])
    parser.add_argument("--count", type=int, help="random programs, or seeds of the corpus")
    parser.add_argument("--trials", type=names, help=f"among {', '.join(TRIALS)}, or those of a sweep")
    parser.add_argument("--programs", type=names, help="of the corpus; all that are built")
    parser.add_argument("--file", type=Path, default=ROOT / "build" / "soak.jsonl")
    parser.add_argument("--results", type=Path, default=RESULTS / "soak.json")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--budget", type=duration, default=float("inf"), help="the time, as 90m")
    parser.add_argument("--shard", type=shard, default=(1, 1), help="a part of the cases, as 1/4")
    arguments = parser.parse_args()
    if arguments.what == "sweeps" and (arguments.trials or arguments.count):
        parser.error("expected --trials and --count with one sweep, got them with all")
    ledger = Ledger(arguments.results)
    ledger.add(judged_before(arguments.file))
    try:
        if arguments.what != "show":
            run(arguments, ledger)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
    ledger.add(judged_before(arguments.file))
    ledger.write()
    return 1 if show(ledger) else 0


if __name__ == "__main__":
    sys.exit(main())
