# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The ladder of a build: test programs with all that can be switched on, relative to -Oz --gc-sections.

Everything is allowed but a fixed address, which is measured on top. Both programs run once under valgrind,
which counts instructions, and must print the same. Programs that are in bench/results/ladder.json are not
measured again; with --again they are. `--levers NAME,...` measures no others, and keeps what is known of
them. `--compiles N` also searches decisions on top, with so many compilations of the whole program.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench.lib import Bar, command, geometric_means, read, settle, show, write
from bench.lib.corpus import built, exported, part
from passpilot.training.file_sizes import file_sizes
from passpilot.training.ladder.ladder import SIZES, Ladder, LadderSizes
from passpilot.training.ladder.levers import ALL, DECISIONS, LEVERS, Allowed, Lever, LeverSet
from passpilot.training.ladder.program_build import ProgramBuild
from passpilot.training.ladder.programs import searched_decisions

RESULT: Final = "ladder.json"
REFERENCE: Final = "sections"
"""The lever whose build is the reference: -Oz, a section for everything, --gc-sections."""
COMPRESS_BADLY: Final = ("outlining", "outlining-long")
"""Levers that must be named, since the compressed file grows more than what is loaded shrinks."""
FIXED: Final = "no-pie"
"""The lever of hardening."""


def ratios(own: LadderSizes, other: LadderSizes) -> dict[str, float]:
    """The four sizes of a build relative to another one's."""
    return {size: own.of(size) / other.of(size) for size in SIZES}


def lever_set(names: Iterable[str]) -> LeverSet:
    levers = LeverSet()
    for lever in LEVERS:
        levers = levers.with_lever(lever) if lever.name in names else levers
    return levers


def dot(*_: object) -> None:
    print(".", end="", file=sys.stderr, flush=True)


def measured(name: str, levers: Sequence[Lever]) -> dict[str, Any]:
    """The ladder of a program."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "corpus")
        corpus = exported(name, "Oz", folder)
        work = ProgramBuild(corpus, corpus.programs[0], scratch, 2)
        allowed = Allowed.parse([ALL, *COMPRESS_BADLY])
        result = Ladder(work, allowed, step=dot, brief=True).run(levers)
        taken = [row.lever for row in result.taken]
        fixed = file_sizes(work.build(lever_set([*taken, FIXED])).path)
        executed = [work.instructions(work.build(lever_set(names)).path) for names in ([REFERENCE], taken)]
    base = next(row.on_top for row in result.rows if row.lever == REFERENCE)
    assert base
    steps = {row.lever: ratios(row.on_top, row.below) for row in result.rows if row.on_top and row.below}
    return {
        "bytes": base.allocated,
        **ratios(result.end, base),
        "instructions": executed[1] / executed[0] if all(executed) else None,  # type: ignore[operator]
        "build": result.end.seconds / base.seconds,
        "fixed address": {size: own / base.of(size) for size, own in zip(SIZES, fixed, strict=True)},
        "taken": taken,
        "steps": steps,
    }


def decided(name: str, row: dict[str, Any], compiles: int) -> dict[str, Any]:
    """A program's row with decisions on top, in place of a policy, if they make it smaller."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "corpus")
        corpus = exported(name, "Oz", folder)
        work = ProgramBuild(corpus, corpus.programs[0], scratch, 2)
        taken = lever_set(row["taken"])
        below = taken.without(DECISIONS.rung)
        search = {"compiles": compiles, "search": ["inline", "pipeline"]}
        path = searched_decisions(work, below, scratch, search)
        lever = replace(DECISIONS, passpilot=(f"decisions={path}",))
        image = work.build(lever_set([REFERENCE])).path
        base, count = file_sizes(image), work.instructions(image)
        before = file_sizes(work.build(below).path)
        above = below.with_lever(lever)
        image = work.build(above).path
        after, executed = file_sizes(image), work.instructions(image)
        fixed = file_sizes(work.build(above.with_lever(lever_set([FIXED]).levers[0])).path)
    step = {size: own / other for size, own, other in zip(SIZES, after, before, strict=True)}
    found = {**row, "steps": {**row["steps"], DECISIONS.name: step}, "compiles": compiles}
    whole = {size: own / other for size, own, other in zip(SIZES, after, base, strict=True)}
    if whole["allocated"] > row["allocated"]:
        return found
    names = [lever.name for lever in below.levers]
    more = {
        "instructions": executed / count if executed and count else None,
        "fixed address": {size: own / other for size, own, other in zip(SIZES, fixed, base, strict=True)},
    }
    return {**found, **whole, **more, "taken": [*names, DECISIONS.name]}


@command
def main(*programs: str, compiles: int = 0, again: bool = False, levers: str = "") -> None:
    found: dict[str, Any] = {} if again else read(RESULT, {})
    for program in built(programs or part("test")):
        if levers or program.name not in found:
            known = found.get(program.name, {}).get("steps", {})
            row = measured(
                program.name, [each for each in LEVERS if not levers or each.name in levers.split(",")]
            )
            found[program.name] = {**row, "steps": {**known, **row["steps"]}}
        if compiles and DECISIONS.name not in found[program.name]["steps"]:
            found[program.name] = decided(program.name, found[program.name], compiles)
        print(program.name, found[program.name]["allocated"], file=sys.stderr, flush=True)
        write(RESULT, found)
    rows = {name: found[name] for name in programs or part("test")}
    columns = [*SIZES, "build"]
    means = geometric_means(rows.values(), columns)
    shown = {
        name: {column: row[column] for column in [*columns, "instructions"]} for name, row in rows.items()
    }
    show("the ladder, everything allowed, relative to -Oz --gc-sections", "program", shown, means)
    worst = max(row[size] for row in rows.values() for size in ("allocated", "xz"))
    fixed = geometric_means((row["fixed address"] for row in rows.values()), SIZES)
    settle(
        Bar("allocated bytes, hardening allowed, too", fixed["allocated"], 0.75, "-Oz --gc-sections"),
        Bar("compressed by xz, hardening allowed, too", fixed["xz"], 0.86, "-Oz --gc-sections"),
        Bar("the worst program's, allocated or compressed", worst, 1.0, "-Oz --gc-sections"),
    )
