# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the figures of docs/ladder.md, and their plot, of what bench.measure.policies.ladder has recorded.

usage: python -m bench.pages.ladder [--check]
"""

from __future__ import annotations

from typing import Any, Final

from bench.lib import command, geometric_means, read
from bench.lib.corpus import part
from bench.measure.policies.ladder import RESULT
from bench.measure.policies.levers import LEVERS as CODE_LEVERS
from bench.measure.policies.levers import LINKS, ON_TOP, Record, worth
from bench.measure.policies.levers import RECORD as CODE_RECORD
from bench.pages.dots import dots
from bench.pages.markdown import replaced, table, write_or_check
from passpilot.training.ladder.ladder import SIZES
from passpilot.training.ladder.levers import LEVERS

PAGE: Final = "docs/ladder.md"
PLOT: Final = "docs/images/ladder.svg"


def figures(rows: dict[str, dict[str, Any]]) -> str:
    """The programs, and what the levers gave them."""
    means = geometric_means(rows.values(), [*SIZES, "build"])
    counts = [row["instructions"] for row in rows.values() if row["instructions"]]
    lines = [
        [
            name,
            f"{row['bytes']:,}",
            *(f"{row[size]:.3f}" for size in SIZES),
            f"{row['instructions']:.3f}" if row["instructions"] else "-",
            f"{row['build']:.2f}",
        ]
        for name, row in rows.items()
    ]
    executed = f"{sum(counts) / len(counts):.3f}" if counts else "-"
    lines.append(
        ["mean", "", *(f"**{means[size]:.3f}**" for size in SIZES), executed, f"{means['build']:.2f}"]
    )
    heads = ["program", "bytes", *SIZES.values(), "instructions", "build time"]
    return table(heads, lines)


def against_best(rows: dict[str, dict[str, Any]]) -> str:
    """A sentence that compares with R1, which folds identical code, too."""
    ratios = [{size: row[size] / row["steps"]["icf-safe"][size] for size in SIZES} for row in rows.values()]
    means = geometric_means(ratios, SIZES)
    shown = ", ".join(f"{head} {means[size]:.3f}" for size, head in SIZES.items())
    return (
        "Against [R1](evaluation.md#the-flags-of-both-sides), which has `--icf=safe`, too, the means are\n"
        f"{shown}."
    )


def fixed_address(rows: dict[str, dict[str, Any]]) -> str:
    """A sentence about the lever of hardening."""
    means = geometric_means((row["fixed address"] for row in rows.values()), SIZES)
    shown = ", ".join(f"{head} {means[size]:.3f}" for size, head in SIZES.items())
    return f"With a fixed address (`hardening`) on top, the means are {shown}."


def levers(rows: dict[str, dict[str, Any]]) -> str:
    """What the levers gave in the mean, on top of those below, and how often they were taken."""
    lines = []
    for name in dict.fromkeys([*(lever.name for lever in LEVERS), "decisions"]):
        steps = [row["steps"][name] for row in rows.values() if name in row["steps"]]
        if steps:
            means = geometric_means(steps, SIZES)
            taken = sum(name in row["taken"] for row in rows.values())
            lines.append([f"`{name}`", *(f"{means[size]:.3f}" for size in SIZES), f"{taken} of {len(steps)}"])
    known = {name for row in rows.values() for name in row["steps"]}
    missing = [f"`{lever.name}`" for lever in LEVERS if lever.name not in known]
    rest = f"\nNot measured on these programs: {', '.join(missing)}.\n" if missing else ""
    return table(["lever", *SIZES.values(), "taken"], lines) + rest


def code_levers(record: Record) -> str:
    """The levers of code generation on training programs, relative to the same flags without them."""
    lines = []
    for name in list(CODE_LEVERS)[1:]:
        base = ON_TOP.removesuffix(", ") if name.startswith(ON_TOP) else "nothing"
        rows = [worth(record, link, name, base) for link in LINKS]
        if not all(rows):
            continue
        means = [geometric_means(each, SIZES) for each in rows]
        counts = " and ".join(map(str, dict.fromkeys(map(len, rows))))
        lines.append([name, counts, *(f"{each[size]:.3f}" for each in means for size in SIZES)])
    return table(["", "programs", *(f"{link} {head}" for link in LINKS for head in SIZES.values())], lines)


def searched(rows: dict[str, dict[str, Any]]) -> str:
    """A sentence about the searches of decisions."""
    counts = {row["compiles"] for row in rows.values() if "compiles" in row}
    programs = sum("compiles" in row for row in rows.values())
    if not counts:
        return "No decisions were searched."
    compiles = "/".join(map(str, sorted(counts)))
    return (
        f"Decisions were searched for {programs} of the programs, with {compiles} compilations of the whole "
        "program;\nthe build time is without them."
    )


@command
def main(*, check: bool = False) -> None:
    found = read(RESULT, {})
    rows = {name: found[name] for name in part("test") if name in found}
    named = {name: {size: row[size] for size in SIZES} for name, row in rows.items()}
    text = (
        "The test programs of the corpus with `--allow=all,outlining,outlining-long`, against\n"
        "clang-22 `-Oz` with a section for every function and variable and `--gc-sections`. They print the\n"
        "same. Means are geometric. `python -m bench.measure.policies.ladder --compiles=40` measures them.\n"
        f"{searched(rows)}\n\n"
        f"{figures(rows)}\n"
        f"{against_best(rows)}\n{fixed_address(rows)}\n\n"
        "![The four sizes of every program](images/ladder.svg)\n\n"
        "Every lever on top of those above it, in the mean of the programs where it applies:\n\n"
        f"{levers(rows)}\n"
        "### Levers of code generation\n\n"
        "Each lever alone, then on top of the three that help everywhere: `block-placement`,\n"
        '`no-machine-licm` and `unwind-faults` ("tables at stops"). These are geometric means of training\n'
        "programs, against [R1 and R2](evaluation.md#the-flags-of-both-sides) with the same flags.\n"
        "`python -m bench.measure.policies.levers` measures them.\n\n"
        f"{code_levers(read(CODE_RECORD, {}))}"
    )
    plot = dots("The ladder, everything allowed, relative to -Oz --gc-sections", list(SIZES), named)
    write_or_check({PAGE: replaced(PAGE, "bench.pages.ladder", text), PLOT: plot}, check=check)
