# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ladder of a build: test programs with all that can be switched on, relative to -Oz --gc-sections.

Everything is allowed, also a fixed address. Both programs run once under valgrind, which counts instructions,
and must print the same. Programs that are in bench/results/ladder.json are not measured again; with --again
they are. `--compiles N` also searches decisions, with so many compilations of the whole program.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.lib import Bar, command, geometric_means, read, settle, show, write
from bench.lib.corpus import built, exported, part
from passpilot.training.ladder.ladder import SIZES, LadderResult, LadderSizes
from passpilot.training.ladder.levers import HARDENING, LEVERS, LeverSet
from passpilot.training.ladder.program_build import ProgramBuild
from passpilot.training.ladder.programs import ladder

RESULT: Final = "ladder.json"
REFERENCE: Final = "sections"
"""The lever whose build is the reference: -Oz, a section for everything, --gc-sections."""


def ratios(own: LadderSizes, other: LadderSizes) -> dict[str, float]:
    """The four sizes of a build relative to another one's."""
    return {size: own.of(size) / other.of(size) for size in SIZES}


def counted(work: ProgramBuild, names: set[str]) -> int | None:
    """The instructions of the program's runs, built with these levers."""
    levers = LeverSet()
    for lever in LEVERS:
        levers = levers.with_lever(lever) if lever.name in names else levers
    return work.instructions(work.build(levers).path)


def dot(_: object) -> None:
    print(".", end="", file=sys.stderr, flush=True)


def measured(name: str, compiles: int) -> dict[str, Any]:
    """The ladder of a program."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "corpus")
        corpus = exported(name, "Oz", folder)
        search = {"compiles": compiles, "search": ["inline", "pipeline"]} if compiles else None
        allow = ["all", HARDENING]
        (result,) = ladder(folder, root="/", allow=allow, search=search, brief=True, step=dot)
        work = ProgramBuild(corpus, corpus.programs[0], scratch, 2)
        taken = {row.lever for row in result.taken}
        executed = [counted(work, names) for names in ({REFERENCE}, taken)]
    base = next(row.on_top for row in result.rows if row.lever == REFERENCE)
    assert base
    steps = {row.lever: ratios(row.on_top, row.below) for row in result.rows if row.on_top and row.below}
    return {
        "bytes": base.allocated,
        **ratios(result.end, base),
        "instructions": executed[1] / executed[0] if all(executed) else None,  # type: ignore[operator]
        "build": result.end.seconds / base.seconds,
        "taken": [row.lever for row in result.taken],
        "flags": flags_without_paths(result),
        "steps": steps,
    }


def flags_without_paths(result: LadderResult) -> str:
    """The line of flags, which names no file of this machine."""
    return result.flags.replace(result.decisions, "FILE") if result.decisions else result.flags


@command
def main(*programs: str, compiles: int = 0, again: bool = False) -> None:
    found: dict[str, Any] = {} if again else read(RESULT, {})
    for program in built(programs or part("test")):
        if program.name not in found:
            print(program.name, end=" ", file=sys.stderr, flush=True)
            found[program.name] = measured(program.name, compiles)
            print(found[program.name]["allocated"], file=sys.stderr, flush=True)
            write(RESULT, found)
    rows = {name: found[name] for name in programs or part("test")}
    columns = [*SIZES, "build"]
    means = geometric_means(rows.values(), columns)
    shown = {
        name: {column: row[column] for column in [*columns, "instructions"]} for name, row in rows.items()
    }
    show("the ladder, everything allowed, relative to -Oz --gc-sections", "program", shown, means)
    worst = max(row[size] for row in rows.values() for size in ("allocated", "xz"))
    settle(
        Bar("allocated bytes", means["allocated"], 0.75, "-Oz --gc-sections"),
        Bar("compressed by xz", means["xz"], 0.86, "-Oz --gc-sections"),
        Bar("the worst program's, allocated or compressed", worst, 1.0, "-Oz --gc-sections"),
    )
