# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A ladder for people: a table and a waterfall, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from passpilot.plugin.failures import for_terminal
from passpilot.runners.plurals import size_change
from passpilot.training.evaluation.tables import aligned, escaped, table
from passpilot.training.ladder.ladder import SIZES, LadderResult, LadderRow, LadderSizes, size_ratio

HEADS: Final = ("lever", "alone", *SIZES.values(), "instr.", "build")
"""The columns: the reward of a lever alone, then what it gives on top of those above."""

_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def ratio_text(own: float | None, other: float | None) -> str:
    """A ratio with three digits; a dash where one side is not known."""
    return f"{own / other:.3f}" if own and other else "-"


def ladder_rows(result: LadderResult) -> list[list[str]]:
    """The cells of all levers, and of the whole ladder as the last one."""
    rows = [[row.lever, *_alone(result, row), *_ratios(row.on_top, row.below)] for row in result.rows]
    return [*rows, ["all that is taken", "", *_ratios(result.end, result.start)]]


def _alone(result: LadderResult, row: LadderRow) -> list[str]:
    own = row.alone.of(result.reward) if row.alone else None
    return [ratio_text(own, result.start.of(result.reward))]


def _ratios(own: LadderSizes | None, other: LadderSizes | None) -> list[str]:
    names = (*SIZES, "instructions", "seconds")
    return [ratio_text(getattr(own, name, None), getattr(other, name, None)) for name in names]


def verdict(row: LadderRow) -> str:
    """Whether a lever is taken, or why not, and what is lost by it."""
    if row.is_taken:
        return f"taken; {row.loses}" if row.loses else "taken: it loses nothing"
    lost = row.loses.removeprefix(f"{row.group}: ")
    return f"{row.note}: {lost}" if row.note.startswith("--allow") else row.note


def step_ratio(row: LadderRow, taken: Sequence[LadderRow], reward: str) -> float:
    """What a lever that was measured is worth on top of what is taken, its alternatives included."""
    assert row.on_top
    assert row.below
    other = next((each.on_top for each in taken if each.rung == row.rung), None)
    return size_ratio(row.on_top.of(reward), (other or row.below).of(reward))


def steps(result: LadderResult) -> list[tuple[str, int]]:
    """The levers that are taken, and the size with each of them."""
    return [(row.lever, row.on_top.of(result.reward)) for row in result.taken if row.on_top]


def waterfall(result: LadderResult, width: int = 48) -> list[str]:
    """The size from the recorded build down to the end, a line for each lever that is taken."""
    start = result.start.of(result.reward)
    lines, before = [["as it is", f"{start:,}", "", "█" * width]], start
    for name, size in steps(result):
        lines.append(
            [name, f"{size:,}", size_change(size_ratio(size, start), 1), _bar(size, before, start, width)]
        )
        before = size
    cells = aligned([line[:3] for line in lines])
    return [f"{cell:{max(map(len, cells))}}  {line[3]}" for cell, line in zip(cells, lines, strict=True)]


def _bar(size: int, before: int, start: int, width: int) -> str:
    """A bar of what is left, and in dots what the lever took."""
    eighths = round(size_ratio(size, start) * width * 8)
    left = "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
    return left + "·" * (round(size_ratio(before, start) * width) - len(left))


def ladder_text(result: LadderResult) -> str:
    """The waterfall, the table and the flags, for a terminal."""
    bars = waterfall(result)
    cells = aligned([HEADS, *ladder_rows(result)])
    notes = ["on top of the rows above", *map(verdict, result.rows), ""]
    width = max(map(len, cells))
    rows = [f"{cell:{width}}  {note}".rstrip() for cell, note in zip(cells, notes, strict=True)]
    title = f"{result.program}: {SIZES[result.reward]} bytes"
    return "\n".join(for_terminal(line) for line in (title, *bars, "", *rows))


def ladder_markdown(result: LadderResult, picture: str = "") -> str:
    """A page; `picture` is the path of the waterfall's image."""
    start, end = (sizes.of(result.reward) for sizes in (result.start, result.end))
    heads = [*HEADS, ""]
    notes = [*map(verdict, result.rows), ""]
    rows = [
        [escaped(cell) for cell in (*cells, note)]
        for cells, note in zip(ladder_rows(result), notes, strict=True)
    ]
    image = f"![What every lever takes]({picture})\n\n" if picture else ""
    sentence = (
        f"{start:,} {result.reward} bytes become {end:,} ({size_ratio(end, start):.3f}). "
        "A ratio compares the build with the lever to the build without it, which has what is taken in the "
        "rows above.\n*alone* compares it with the build as it was recorded; *instr.* are executed "
        "instructions, *build* is time."
    )
    line = f"Built with `passpilot cc` and\n\n    {result.flags}\n"
    return f"# {escaped(result.program)}\n\n{sentence}\n\n{image}{table(heads, rows)}\n\n{line}"
