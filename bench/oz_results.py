# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes docs/oz-results.md, its plot and the README's table of a recorded evaluation of `@oz`.

usage: python bench/oz_results.py [--check]

It reads bench/results/oz.json, a result of `passpilot eval`. With --check it writes nothing, and fails if a
file is not what it would write.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from passpilot.training.evaluation.markdown import HEADS, mean_text, mean_texts
from passpilot.training.evaluation.results import EvaluationResult, ratio_of, read_result

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.oz_plot import dots  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from passpilot.training.evaluation.results import ProgramResult

RESULT: Final = "bench/results/oz.json"
PAGE: Final = "docs/oz-results.md"
PLOT: Final = "docs/images/oz-results.svg"
README: Final = "README.md"
MARKS: Final = ("<!-- bench/oz_results.py writes this table -->\n", "<!-- its end -->\n")
LEVEL: Final = "-Oz"
OUTLINED: Final = "-Oz+outline"
NAMES: Final[Mapping[str, str]] = {
    OUTLINED: "`-Oz` with the machine outliner",
    "-Oz @oz": "`@oz`",
    "-Oz @oz?recipe=2": "`@oz?recipe=2`",
    "-Oz @oz?tries=4": "`@oz?tries=4`",
    "best-of:4": "`--best-of=4`",
}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def named(name: str) -> str:
    return "`passpilot tune`" if name.startswith("decisions:") else NAMES.get(name, f"`{name}`")


def means(result: EvaluationResult) -> str:
    """All contenders against -Oz."""
    summary = result.summary(LEVEL)
    rows = [[named(name), *mean_texts(summary, name)] for name in result.names if name != LEVEL]
    return table(["against `-Oz`", *HEADS.values()], rows)


def against_outliner(result: EvaluationResult) -> str:
    summary = result.summary(OUTLINED).get("linked", {})
    policies = [each["name"] for each in result.contenders if each["kind"] == "policy"]
    return table(
        ["against `-Oz` with the machine outliner", "linked"],
        [[named(name), mean_text(summary.get(name))] for name in policies],
    )


def by_program(result: EvaluationResult, metric: str) -> str:
    """The ratios of one metric, by program; with the bytes at -Oz for sizes."""
    others = [name for name in result.names if name != LEVEL]
    sized = metric == "linked"
    rows = []
    for program in sorted(result.programs, key=lambda each: each["name"]):
        ratios = (ratio_of(program, metric, name, LEVEL) for name in others)
        size = [f"{program['results'][LEVEL]['linked']:,}"] * sized
        rows.append([program["name"], *size, *("-" if each is None else f"{each:.3f}" for each in ratios)])
    return table(["program", *["bytes at `-Oz`"] * sized, *map(named, others)], rows)


def plot(result: EvaluationResult) -> str:
    """The linked code of all programs, as SVG."""
    names = [name for name in result.names if name not in (LEVEL, "-Os")]
    programs = sorted(result.programs, key=lambda each: each["name"])
    ratios = {
        each["name"]: {
            named(name).replace("`", ""): ratio
            for name in names
            if (ratio := ratio_of(each, "linked", name, LEVEL)) is not None
        }
        for each in programs
    }
    heads = [named(name).replace("`", "") for name in names]
    return dots("Linked machine code relative to -Oz", heads, ratios)


def weakest(result: EvaluationResult) -> str:
    """A sentence about the programs with which `@oz` is worst."""
    chosen = next(each["name"] for each in result.contenders if each["kind"] == "policy")

    def worst(metric: str) -> tuple[ProgramResult, float]:
        pairs = [(each, ratio_of(each, metric, chosen, LEVEL) or 0) for each in result.programs]
        return max(pairs, key=lambda pair: pair[1])

    (small, size), (slow, time) = worst("linked"), worst("run")
    least = f"It saves least on {small['name']} ({size:.3f} of `-Oz`)"
    return f"{least} and costs most run time on {slow['name']} ({time:.3f})."


def unsteady(result: EvaluationResult) -> str:
    """The rest of the sentence about what the programs print."""
    wrong = [each["name"] for each in result.programs if each["results"][LEVEL]["output"] != "right"]
    for program in result.programs:
        kinds = {each["output"] for each in program["results"].values()}
        assert len(kinds) == 1, f"{program['name']}: expected the same output of all, got {kinds}"
    if not wrong:
        return ", and printed what it should"
    named = ", ".join(wrong)
    return f", and printed what it should, except {named}, which prints something else at `-Oz`, too"


def page(result: EvaluationResult) -> str:
    """The page of the docs."""
    facts = result.facts
    count, rounds = len(result.programs), facts["rounds"]
    return f"""\
# What @oz is worth

These are {count} test programs of the corpus; [the policy `@oz`](policies.md) was made on training programs
and chosen on validation programs, which are others. This is the third evaluation; the policy's card tells of
the earlier ones, of which the second was the reason to choose a part of the policy again.
They were compiled by {facts["compiler"]} on {facts["machine"]}.
Linked is the machine code of the program, linked by lld with `--gc-sections`; objects is that of its object
files together. Means are geometric, with 95 % intervals by bootstrap over the programs; smaller is better.
Every program ran {rounds} times{unsteady(result)}.

{means(result)}
{against_outliner(result)}
## Linked code

![The linked code of every program](images/oz-results.svg)

{by_program(result, "linked")}
## Run time

{by_program(result, "run")}
## What it is bad at

{weakest(result)} The outliner takes code
only from blocks that LLVM's static estimate says run rarely. Where the estimate is wrong, as for functions
that another unit calls in a loop, the program becomes slower. `@oz` has no model for inlining, where
searches find most.

`python bench/oz_results.py` made this page of `bench/results/oz.json`, a result of
[`passpilot eval`](evaluation.md).
"""


def readme_table(result: EvaluationResult) -> str:
    summary = result.summary(LEVEL)
    rows = [[named(name), *mean_texts(summary, name)] for name in result.names if name in NAMES]
    heads = [f"{len(result.programs)} test programs, relative to `clang-22 -Oz`", *HEADS.values()]
    return table(heads, rows)


def texts(root: Path = ROOT) -> dict[str, str]:
    """What the files should say, by their paths."""
    raw = read_result(str(root / RESULT))
    keys = ("contenders", "baselines", "programs")
    result = EvaluationResult({name: value for name, value in raw.items() if name not in keys}, [], [])
    result.contenders = cast("list[dict[str, str]]", raw["contenders"])
    result.baselines = cast("list[str]", raw["baselines"])
    result.programs = cast("list[ProgramResult]", raw["programs"])
    readme = (root / README).read_text()
    start, end = readme.index(MARKS[0]) + len(MARKS[0]), readme.index(MARKS[1])
    return {
        PAGE: page(result),
        PLOT: plot(result),
        README: readme[:start] + readme_table(result) + readme[end:],
    }


def is_current(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


def main(arguments: Sequence[str]) -> int:
    """Write the files, or check them; returns the exit code."""
    stale = [name for name, text in texts().items() if not is_current(ROOT / name, text)]
    if "--check" in arguments:
        print(*(f"{name}: expected what bench/oz_results.py writes" for name in stale), sep="\n")
        return 1 if stale else 0
    for name, text in texts().items():
        (ROOT / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
