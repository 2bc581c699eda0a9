# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A plot of ratios by program, as SVG: a row for a program, a dot for a competitor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

LEFT: Final = 120
WIDTH: Final = 560
ROW: Final = 26
TOP: Final = 56
STEP: Final = 0.05
COLOURS: Final = ("#767676", "#c2571a", "#1a6fb5", "#2c8a4b", "#8a4fb0", "#b01a5a")
"""Readable on the background, which the plot brings along for dark pages."""


def dots(
    title: str,
    names: Sequence[str],
    rows: Mapping[str, Mapping[str, float]],
    *,
    step: float = STEP,
    left: int = LEFT,
) -> str:
    """The plot.

    Args:
        title: stands above it.
        names: the competitors.
        rows: the ratios of a program by competitor, by program; those that are missing have no dot.
        step: the distance of the marks.
        left: the width of the programs' names.
    """
    values = [value for row in rows.values() for value in row.values()]
    low = int(min(values) / step) * step
    high = (int(max(*values, 1.0) / step) + 1) * step
    key, below = legend(names, left)
    top = TOP + below
    bottom = top + ROW * len(rows)

    def x(value: float) -> float:
        return round(left + (value - low) / (high - low) * WIDTH, 1)

    lines = []
    for mark in range(round((high - low) / step) + 1):
        value = low + mark * step
        heavy = abs(value - 1) < step / 2
        lines += [
            f'<line x1="{x(value)}" x2="{x(value)}" y1="{top - 6}" y2="{bottom}" '
            f'stroke="{"#444" if heavy else "#ddd"}"/>',
            f'<text x="{x(value)}" y="{bottom + 16}" text-anchor="middle">{value:.2f}</text>',
        ]
    for number, (program, row) in enumerate(rows.items()):
        y = top + ROW * number + ROW / 2
        lines.append(f'<text x="{left - 10}" y="{y + 4}" text-anchor="end">{escape(program)}</text>')
        for name, colour in zip(names, COLOURS, strict=False):
            if name in row:
                tip = f"<title>{escape(program)}, {escape(name)}: {row[name]:.3f}</title>"
                lines.append(f'<circle cx="{x(row[name])}" cy="{y}" r="5" fill="{colour}">{tip}</circle>')
    lines += key
    size = f'width="{left + WIDTH + 30}" height="{bottom + 28}"'
    font = 'font-family="sans-serif" font-size="12"'
    body = "\n".join(lines)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {font}>\n'
        f"<title>{escape(title)}</title>\n"
        f'<rect width="100%" height="100%" fill="#fff"/>\n'
        f'<text x="10" y="18" font-weight="bold">{escape(title)}</text>\n{body}\n</svg>\n'
    )


def legend(names: Sequence[str], left: int) -> tuple[list[str], int]:
    """The names of the competitors beside their dots, and the height of its lines behind the first."""
    lines, at, y = [], left, 38
    for name, colour in zip(names, COLOURS, strict=False):
        width = 30 + 7 * len(name)
        if at + width > left + WIDTH:
            at, y = left, y + 20
        lines.append(f'<circle cx="{at}" cy="{y}" r="5" fill="{colour}"/>')
        lines.append(f'<text x="{at + 10}" y="{y + 4}">{escape(name)}</text>')
        at += width
    return lines, y - 38
