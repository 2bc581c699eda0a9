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
from bench.lib.corpus import part
from bench.pages.dots import dots
from bench.pages.markdown import table, write_or_check
from passpilot.training.ladder.ladder import SIZES

PAGE: Final = "docs/tuning-results.md"
PLOT: Final = "docs/images/tuning-results.svg"
FIGURES: Final = {**SIZES, "instructions": "instructions"}
BUILDS: Final = {"@oz": "`@oz`", "tune": "tuned"}
REFERENCES: Final = ("R1", "R2")

Row = dict[str, Any]


def ratio(row: Row, reference: str, build: str, figure: str) -> float:
    sizes = row[reference]
    return float(sizes[build][figure] / sizes["-Oz"][figure])


def means(rows: Mapping[str, Row]) -> str:
    """The geometric means by reference and build, and the programs that gain most and least."""
    lines = []
    for reference in REFERENCES:
        for build, shown in BUILDS.items():
            found = sorted((ratio(row, reference, build, "allocated"), name) for name, row in rows.items())
            most, least = (f"{program} {value:.3f}" for value, program in (found[0], found[-1]))
            cells = [
                f"{geometric_mean([ratio(row, reference, build, figure) for row in rows.values()]):.3f}"
                for figure in FIGURES
            ]
            lines.append((f"{shown}, against {reference}", *cells, most, least))
    return table(["geometric mean", *FIGURES.values(), "most", "least"], lines)


def by_program(rows: Mapping[str, Row], reference: str) -> str:
    heads = ["program", "", "bytes at `-Oz`", *FIGURES.values()]
    lines = [
        (
            program if build == "@oz" else "",
            shown,
            f"{row[reference]['-Oz']['allocated']:,}" if build == "@oz" else "",
            *(f"{ratio(row, reference, build, figure):.3f}" for figure in FIGURES),
        )
        for program, row in rows.items()
        for build, shown in BUILDS.items()
    ]
    return table(heads, lines)


def plot(rows: Mapping[str, Row]) -> str:
    """The loaded bytes and the compressed file of all tuned programs, as SVG."""
    ratios = {
        program: {
            f"{SIZES[size]}, {reference}": ratio(row, reference, "tune", size)
            for reference in REFERENCES
            for size in ("allocated", "xz")
        }
        for program, row in rows.items()
    }
    return dots("Tuned programs relative to -Oz", list(next(iter(ratios.values()))), ratios)


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


def page(rows: Mapping[str, Row], fast: Row) -> str:
    counts, whole = (
        ", ".join(map(str, sorted({row[key] for row in rows.values()}))) for key in ("compiles", "lto")
    )
    parts = " and ".join(
        f"{', '.join(found)} for {name}"
        for name in ("validation", "test")
        if (found := [program for program in rows if program in part(name)])
    )
    return f"""\
# What tune finds

This page has what `passpilot tune` finds in programs of the corpus.

These are {len(rows)} programs of the corpus, {parts}; the others have not
been searched since loaded bytes count. [`passpilot tune`](tuning.md) searched their decisions, with
{counts} compilations of each unit, and {whole} of the whole program for link-time optimization. What a
search finds is for the program that it searched; what a policy gains on programs that it has not seen is
[on another page](oz-results.md). `passpilot eval` built all sides with the flags of [R1 or
R2](evaluation.md#the-flags-of-both-sides) and linked them; they printed what is recorded for them.
*allocated* is what the program loads, *.text* its machine code, *stripped* the file without symbols, *xz*
that file compressed, *instructions* what its runs execute. Most of what is gained against R1 is of
[smaller unwind tables](unwind.md), which `@oz` has, too; C programs have none in R2.

{means(rows)}
![The tuned programs, what they load and their files compressed](images/tuning-results.svg)

## Unit by unit, against R1

{by_program(rows, "R1")}
## Link-time optimization, against R2

{by_program(rows, "R2")}
`python -m bench.measure.tuning.tune` measures it.

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
    write_or_check({PAGE: page(rows, read("speed.json")), PLOT: plot(rows)}, check=check)
