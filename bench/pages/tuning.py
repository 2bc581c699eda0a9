# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/tuning-results.md and its plot of what `passpilot tune` has found.

usage: python -m bench.pages.tuning [--check]

It reads what the modules of bench.measure.tuning have written into bench/results. With --check
it writes nothing, and fails if a file is not what it would write.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import geometric_mean
from typing import Any, Final

from bench.lib import command, read
from bench.pages.dots import dots
from bench.pages.markdown import table, write_or_check

PAGE: Final = "docs/tuning-results.md"
PLOT: Final = "docs/images/tuning-results.svg"
RATIOS: Final = {
    "linked": ("tuned", "oz"),
    "objects, with `--reward=object`": ("small_objects", "oz_objects"),
    "linked, against `-Oz` with the machine outliner": ("tuned", "outliner"),
    "with `-flto`, against `-Oz -flto`": ("lto_tuned", "lto"),
}
"""The numbers of a row of tune.json whose ratio is shown."""
SEARCHES: Final = {
    "ours": "`passpilot tune`",
    "ours, inlining alone": "`passpilot tune --search=inline`",
    "independent flips": "independent flips alone",
    "local search": "local search (Theodoridis and others, 2022)",
    "one flip": "one random flip per compilation",
}
PARTS: Final = (0.25, 0.5, 1.0)

Row = dict[str, Any]


def ratio(row: Row, name: str) -> float:
    over, under = RATIOS[name]
    return float(row[over] / row[under])


def summary(rows: Mapping[str, Row]) -> str:
    """The means of all ratios, and the programs that gain most and least."""
    lines = []
    for name in RATIOS:
        found = sorted((ratio(row, name), program) for program, row in rows.items())
        most, least = (f"{program} {value:.3f}" for value, program in (found[0], found[-1]))
        lines.append((name, f"**{geometric_mean([value for value, _ in found]):.3f}**", most, least))
    return table(["machine code against `-Oz`", "geometric mean", "most", "least"], lines)


def by_program(rows: Mapping[str, Row]) -> str:
    heads = ["program", "units", "compilations per unit", "for objects", "bytes at `-Oz`", "tuned", *RATIOS]
    lines = [
        (
            program,
            *(f"{row[key]:,}" for key in ("units", "compiles", "object_compiles", "oz", "tuned")),
            *(f"{ratio(row, name):.3f}" for name in RATIOS),
        )
        for program, row in rows.items()
    ]
    return table(heads, lines)


def plot(rows: Mapping[str, Row]) -> str:
    """Two ratios of all programs, as SVG."""
    names = {"linked": "linked", "with -flto": "with `-flto`, against `-Oz -flto`"}
    ratios = {
        program: {short: ratio(row, name) for short, name in names.items()} for program, row in rows.items()
    }
    return dots("Tuned machine code relative to -Oz", list(names), ratios)


def searches(units: Mapping[str, Row]) -> str:
    """How much smaller units become by search and share of the compilations."""

    def size(row: Row, name: str, part: float) -> float:
        curve, spent = row["curves"][name], max(part * row["compilations"], row["curves"][name][0][0])
        return float([bytes_ for compiles, bytes_ in curve if compiles <= spent][-1] / curve[0][1])

    lines = [
        (
            shown,
            *(f"{geometric_mean([size(row, name, part) for row in units.values()]):.3f}" for part in PARTS),
        )
        for name, shown in SEARCHES.items()
    ]
    return table(["search", *(f"{part:.0%} of the compilations" for part in PARTS)], lines)


def speed(programs: Mapping[str, Row]) -> str:
    def interval(timed: Mapping[str, float] | None) -> str:
        if timed is None:
            return "no gain found"
        return f"{timed['ratio']:.3f} ({timed['low']:.3f}-{timed['high']:.3f})"

    def curve(row: Row) -> str:
        return ", ".join(f"{compiles}: {value:.3f}" for compiles, _, value in row["curve"])

    lines = [
        (name, str(row["compilations"]), interval(row["confirmed"]), interval(row["unseen"]), curve(row))
        for name, row in programs.items()
    ]
    heads = ("program", "compilations", "the script of the search", "another script", "compilations: ratio")
    return table(heads, lines)


def page(rows: Mapping[str, Row], search: Row, fast: Row) -> str:
    counts = [row["compilations"] for row in search["units"].values()]
    whole = geometric_mean([row["tuned_objects"] / row["oz_objects"] for row in rows.values()])
    return f"""\
# What tune finds

These are the {len(rows)} programs of the corpus that passpilot is developed with.
[`passpilot tune`](tuning.md) searched their decisions, with as many compilations of each unit as the table
says. What a search finds is for the program that it searched; what a policy gains on programs that it has not
seen is [on another page](oz-results.md). Sizes are `.text`, linked by lld with `--gc-sections`; the same
link makes both sides. Small objects are another goal than a small program: a function that is inlined into
its only caller leaves the program, but not its object, where others could call it. So the sums over the
object files are those of a search of their own, as for a library; after the search for small programs they
are {whole:.3f} of `-Oz` in the mean. All programs printed what is recorded for them, and none became larger.

**These figures count machine code alone, and are linked without `--icf=safe`.** What is loaded also has
unwind tables and constants: an outlined function adds an entry to the tables, and a linker that folds
identical code takes a part of the gain without us. So measure the allocated sections of your own program
before you choose. The recipes had LLVM's passes gvn-sink and gvn-hoist then, which are gone: their results
differ from run to run.

{summary(rows)}
![The tuned machine code of all programs](images/tuning-results.svg)

{by_program(rows)}
`python -m bench.measure.tuning.tune --compiles=N` measures it.

## Beside other searches

{len(search["units"])} units of bullet, box2d, re2, libsvm, zstd, lua and sqlite, by object size after `-Oz`
and `llc -O2`. Independent flips alone had {search["seconds"]:g} seconds for each unit, and the other searches
as many compilations as they then had made: {min(counts)} to {max(counts)} by the size of the unit. The table
has geometric means, relative to `-Oz` (`python -m bench.measure.tuning.search`).

{searches(search["units"])}
## Faster programs

`--reward='run: …'` for two interpreters, relative to `-O2`: processor time of runs in turns, with its 95 %
interval. The search saw one script; the other one it did not see (`python -m bench.measure.tuning.speed`,
{fast["budget"]:g} seconds per unit).

{speed(fast["programs"])}
`python -m bench.pages.tuning` made this page of the files in `bench/results`.
"""


@command
def main(*, check: bool = False) -> None:
    rows = read("tune.json")
    pages = {PAGE: page(rows, read("search.json"), read("speed.json")), PLOT: plot(rows)}
    write_or_check(pages, check=check)
