# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/oz-results.md and its plot of a recorded evaluation of `@oz`.

usage: python -m bench.pages.oz [--check] [--record=RESULT.json]

It reads bench/results/oz.jsonl.
--record writes oz.jsonl, of a result of `passpilot eval`. With --check it writes no page, and fails if a file
is not what it would write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bench.lib import RESULTS, command
from bench.pages.dots import dots
from bench.pages.markdown import table, write_or_check
from passpilot.training.evaluation.results import EvaluationResult, ProgramResult, ratio_of
from passpilot.training.evaluation.tables import HEADS, mean_text

RESULT: Final = "oz.jsonl"
PAGE: Final = "docs/oz-results.md"
PLOT: Final = "docs/images/oz-results.svg"
LEVEL: Final = "-Oz"
OUTLINED: Final = "-Oz+outline"
SIZE: Final = "allocated"
RECORDED: Final = ("allocated", "text", "stripped", "xz", "objects", "compile_seconds", "run", "output")
"""What is recorded of a program and a competitor."""
NAMES: Final[Mapping[str, str]] = {
    OUTLINED: "`-Oz` with the machine outliner",
    "-Oz @oz": "`@oz`",
    "-Oz @oz?recipe=2": "`@oz?recipe=2`",
    "-Oz @oz?tries=4": "`@oz?tries=4`",
    "best-of:4": "`--best-of=4`",
}


def named(name: str) -> str:
    return NAMES.get(name, f"`{name}`")


def means(result: EvaluationResult) -> str:
    """All contenders against -Oz."""
    summary = result.summary(LEVEL)
    heads = [metric for metric in HEADS if metric in summary]
    rows = [
        [named(name), *(mean_text(summary[metric].get(name)) for metric in heads)]
        for name in result.names
        if name != LEVEL
    ]
    return table(["against `-Oz`", *(HEADS[metric] for metric in heads)], rows)


def against_outliner(result: EvaluationResult) -> str:
    summary = result.summary(OUTLINED)[SIZE]
    policies = [row["name"] for row in result.contenders if row["kind"] == "policy"]
    return table(
        ["against `-Oz` with the machine outliner", HEADS[SIZE]],
        [[named(name), mean_text(summary.get(name))] for name in policies],
    )


def by_program(result: EvaluationResult, metric: str) -> str:
    """The ratios of one metric, by program; with the bytes at -Oz for sizes."""
    others = [name for name in result.names if name != LEVEL]
    sized = metric == SIZE
    rows = []
    for program in sorted(result.programs, key=lambda program: program["name"]):
        ratios = [ratio_of(program, metric, name, LEVEL) for name in others]
        size = [f"{program['results'][LEVEL][SIZE]:,}"] * sized
        cells = ["not known" if ratio is None else f"{ratio:.3f}" for ratio in ratios]
        rows.append([program["name"], *size, *cells])
    return table(["program", *["bytes at `-Oz`"] * sized, *map(named, others)], rows)


def plot(result: EvaluationResult) -> str:
    """The loaded bytes of all programs, as SVG."""
    names = [name for name in result.names if name not in (LEVEL, "-Os")]
    ratios = {}
    for program in sorted(result.programs, key=lambda program: program["name"]):
        found = {named(name): ratio_of(program, SIZE, name, LEVEL) for name in names}
        ratios[program["name"]] = {
            name.replace("`", ""): value for name, value in found.items() if value is not None
        }
    heads = [*map(named, names)]
    return dots("Loaded bytes relative to -Oz", [head.replace("`", "") for head in heads], ratios)


def weakest(result: EvaluationResult) -> str:
    """A sentence about the programs with which `@oz` is worst."""
    chosen = next(row["name"] for row in result.contenders if row["kind"] == "policy")

    def worst(metric: str) -> tuple[ProgramResult, float]:
        pairs = [(program, ratio_of(program, metric, chosen, LEVEL) or 0) for program in result.programs]
        return max(pairs, key=lambda pair: pair[1])

    (small, size), (slow, time) = worst(SIZE), worst("run")
    least = f"It saves least on {small['name']} ({size:.3f} of `-Oz`)"
    return f"{least} and costs most run time on {slow['name']} ({time:.3f})."


def unsteady(result: EvaluationResult) -> str:
    """The rest of the sentence about what the programs print."""
    wrong = [program["name"] for program in result.programs if program["results"][LEVEL]["output"] != "right"]
    for program in result.programs:
        kinds = {row["output"] for row in program["results"].values()}
        assert len(kinds) == 1, f"{program['name']}: expected the same output of all, got {kinds}"
    if not wrong:
        return ", and printed what it should"
    named = ", ".join(wrong)
    return f", and printed what it should, except {named}, which prints something else at `-Oz`, too"


def page(result: EvaluationResult) -> str:
    facts = result.facts
    count, rounds = len(result.programs), facts["rounds"]
    return f"""\
# What @oz is worth

These are {count} test programs of the corpus; [the policy `@oz`](policies.md) was made on training programs
and chosen on validation programs, which are others. This is the fourth evaluation, so the programs are not
unseen in the strict sense; the policy's card tells of the earlier ones, of which the second was the reason to
choose a part of the policy again. The recipes were chosen by machine code. `@oz` writes
[unwind tables](unwind.md) that are exact where a program can stop, which is most of what it gains here.
They were compiled by {facts["compiler"]} on {facts["machine"]}.
All programs are linked by lld with `--gc-sections --icf=safe`, `-Oz` too, and have a section for every
function and variable. *allocated* is what the program loads: code, constants, data, unwind tables and
relocations; *.text* is its machine code; *stripped* is the file without symbols, *xz* that file compressed;
*objects* is what the object files load. Means are geometric, with 95 % intervals by bootstrap over the
programs; smaller is better. Every program ran {rounds} times{unsteady(result)}.

{means(result)}
{against_outliner(result)}
## Loaded bytes

![The loaded bytes of every program](images/oz-results.svg)

{by_program(result, SIZE)}
The policy was not made on these programs. [What searches of the programs find](tuning-results.md) is on
another page.

## Run time

{by_program(result, "run")}
## What it is bad at

{weakest(result)} The outliner takes code
only from blocks that LLVM's static estimate says run rarely. Where the estimate is wrong, as for functions
that another unit calls in a loop, the program becomes slower. `@oz` has no model for inlining, where
searches find most.

`python -m bench.pages.oz` made this page of `bench/results/oz.jsonl`, which
has what it reads of a result of [`passpilot eval`](evaluation.md).
"""


def recorded() -> EvaluationResult:
    """The record: its first line has the facts, the others a program each."""
    facts, *programs = map(json.loads, (RESULTS / RESULT).read_text().splitlines())
    return EvaluationResult(facts, facts.pop("contenders"), facts.pop("baselines"), programs)


def write_record(path: str) -> None:
    """Record what the page shows of a result of `passpilot eval`."""
    raw = json.loads(Path(path).read_text())
    lines = [{key: value for key, value in raw.items() if key not in ("programs", "summary")}]
    for program in raw["programs"]:
        results = {name: {key: row[key] for key in RECORDED} for name, row in program["results"].items()}
        lines.append({**{key: program[key] for key in ("name", "language", "units")}, "results": results})
    (RESULTS / RESULT).write_text("".join(json.dumps(line) + "\n" for line in lines))


@command
def main(*, check: bool = False, record: str = "") -> None:
    if record:
        write_record(record)
    result = recorded()
    write_or_check({PAGE: page(result), PLOT: plot(result)}, check=check)
