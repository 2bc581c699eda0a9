# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The result of an evaluation as tables: for the terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from passpilot.plugin.failures import for_terminal
from passpilot.training.evaluation.results import (
    METRICS,
    EvaluationResult,
    MeanRatio,
    ProgramResult,
    ratio_of,
)
from passpilot.training.timing.paired_times import NOT_KNOWN, WIDEST

HEADS: Final = {
    "allocated": "allocated",
    "text": ".text",
    "stripped": "stripped",
    "xz": "xz",
    "objects": "objects",
    "compile": "compile time",
    "run": "run time",
    "instructions": "instructions",
}
"""The metrics in the order of the tables, and how they are called."""

SIZES: Final = ("allocated", "text", "stripped", "xz")
"""The metrics that every table of sizes has."""

_SIZE_HEADS: Final = [HEADS[size] for size in SIZES]

WITH_INTERVAL: Final = ("allocated", "run")
"""The metrics whose intervals the table of means has."""

TIMES: Final = ("compile", "run")
"""The metrics that vary from run to run: a mean with a wide interval is not known."""

WORST: Final = 10
"""The regressions that are listed."""


def markdown(result: EvaluationResult) -> str:
    """All tables: the means, the programs, the worst regressions, the problems."""
    parts = [_means(result), _programs(result), _regressions(result), _problems(result)]
    return "\n\n".join(["# Evaluation", _words(result), *filter(None, parts)]) + "\n"


def mean_text(mean: MeanRatio | None, *, interval: bool = True) -> str:
    """A geometric mean with its interval: ``0.943 (0.921-0.966)``."""
    if mean is None:
        return "-"
    if mean["low"] is None or mean["high"] is None or not interval:
        return f"{mean['ratio']:.3f}"
    return f"{mean['ratio']:.3f} ({mean['low']:.3f}-{mean['high']:.3f})"


def mean_texts(summary: Mapping[str, Mapping[str, MeanRatio]], name: str) -> list[str]:
    """The means of a competitor, by the metrics of `HEADS`."""
    means = [(metric, summary.get(metric, {}).get(name)) for metric in HEADS]
    return [
        NOT_KNOWN
        if mean and metric in TIMES and mean["high"] and mean["high"] > WIDEST * (mean["low"] or 0)
        else mean_text(mean, interval=metric in WITH_INTERVAL)
        for metric, mean in means
    ]


def mean_table(result: EvaluationResult) -> list[list[str]]:
    """The heads, and the means of all competitors against the first baseline."""
    base = result.baselines[0]
    summary = result.summary(base)
    heads = [f"against {base}", *HEADS.values(), "decisions", "as LLVM"]
    others = (name for name in result.names if name != base)
    return [
        heads,
        *([name, *mean_texts(summary, name), *decision_text(result.programs, name)] for name in others),
    ]


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The rows as lines of columns; the first `left` are aligned to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(f"{cell:{'<' if at < left else '>'}{widths[at]}}" for at, cell in enumerate(row)).rstrip()
        for row in rows
    ]


def table_text(result: EvaluationResult) -> str:
    """The means against the first baseline, for people."""
    count = len(result.programs)
    title = f"{count} program{'s' * (count != 1)}, geometric means with 95 % intervals; smaller is better"
    return "\n".join([title, *map(for_terminal, aligned(mean_table(result))), ""])


def decision_text(programs: Sequence[ProgramResult], name: str) -> tuple[str, str]:
    """The decisions of a policy, and the share that agrees with LLVM's default."""
    found = [program["results"][name] for program in programs if name in program["results"]]
    counted = [result for result in found if result["decisions"] is not None]
    decisions = sum(result["decisions"] or 0 for result in counted)
    agreed = sum(result["agreed"] or 0 for result in counted)
    if not counted:
        return "-", "-"
    return f"{decisions:,}", f"{agreed / decisions:.1%}" if decisions else "-"


def regressions(result: EvaluationResult) -> list[tuple[float, str, str]]:
    """The programs that a policy makes larger than the first baseline does, the worst first."""
    base = result.baselines[0]
    policies = [contender["name"] for contender in result.contenders if contender["kind"] == "policy"]
    found = [
        (ratio, program["name"], name)
        for program in result.programs
        for name in policies
        if (ratio := ratio_of(program, "allocated", name, base) or 0) > 1
    ]
    return sorted(found, reverse=True)


def problems(result: EvaluationResult) -> Iterator[str]:
    for program in result.programs:
        for name, figures in program["results"].items():
            yield from (f"{program['name']}, {name}: {text}" for text in figures["errors"])


def _words(result: EvaluationResult) -> str:
    facts = result.facts
    count = len(result.programs)
    lto = "All sides are compiled with `-flto`. " if facts.get("lto") else ""
    return (
        f"{count} program{'s' * (count != 1)} of {escaped(str(facts.get('corpus', '')))}, "
        f"{escaped(str(facts.get('compiler', '')))}. Ratios are geometric means over the programs, with "
        f"95 % intervals by bootstrap; smaller is better. {lto}*allocated* is what the linked program "
        "loads, with `--gc-sections --icf=safe`; *.text* is its machine code; *stripped* is the file "
        "without symbols, *xz* that file compressed; *objects* is what its object files load. "
        "Times are processor time; a mean whose interval is wider than 5 % is not known."
    )


def _means(result: EvaluationResult) -> str:
    """All competitors against the first baseline, then the sizes of policies against the other baselines."""
    heads, *rows = ([escaped(first), *cells] for first, *cells in mean_table(result))
    tables = [table(heads, rows)]
    policies = [contender["name"] for contender in result.contenders if contender["kind"] == "policy"]
    for base in result.baselines[1:] if policies else ():
        summary = result.summary(base)
        rows = [
            [escaped(name), *(mean_text(summary.get(size, {}).get(name)) for size in SIZES)]
            for name in policies
        ]
        tables.append(table([f"against {escaped(base)}", *_SIZE_HEADS], rows))
    return "\n\n".join(tables)


def _programs(result: EvaluationResult) -> str:
    """The bytes of every program with the first baseline, and the ratios of the others."""
    base, rows = result.baselines[0], []
    for program in result.programs:
        own = program["results"].get(base)
        sizes = [METRICS[size](own) if own else None for size in SIZES]
        cells = ["-" if size is None else f"{size:,.0f}" for size in sizes]
        rows.append([escaped(program["name"]), escaped(base), *cells])
        others = (name for name in result.names if name != base)
        rows += [["", escaped(name), *_size_ratios(program, name, base)] for name in others]
    return "## By program\n\n" + table(["program", "", *_SIZE_HEADS], rows)


def _size_ratios(program: ProgramResult, name: str, base: str) -> list[str]:
    ratios = [ratio_of(program, size, name, base) for size in SIZES]
    return ["-" if ratio is None else f"{ratio:.3f}" for ratio in ratios]


def _regressions(result: EvaluationResult) -> str:
    found = regressions(result)[:WORST]
    if not found:
        return ""
    programs = {program["name"]: program for program in result.programs}
    rows = [
        [escaped(program), escaped(name), *_size_ratios(programs[program], name, result.baselines[0])]
        for _, program, name in found
    ]
    return "## Worst regressions\n\n" + table(["program", "policy", *_SIZE_HEADS], rows)


def _problems(result: EvaluationResult) -> str:
    lines = [
        *problems(result),
        *(
            f"{program['name']}, {text}"
            for program in result.programs
            for text in program.get("warnings", ())
        ),
    ]
    return "## Problems\n\n" + "\n".join(f"* {escaped(line)}" for line in lines) if lines else ""


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---", *("---:" for _ in heads[1:])], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escaped(text: str) -> str:
    """A text without the characters that Markdown and HTML would read."""
    plain = " ".join(text.split())
    for mark in "\\`*_|[]":
        plain = plain.replace(mark, f"\\{mark}")
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
