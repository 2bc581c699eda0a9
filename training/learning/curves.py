# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Curve`: what training measures, as CSV, as events for TensorBoard, and as a plot (SVG)."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from passpilot.plugin.extras import needs
from passpilot.plugin.files import write_file

CSV: Final = "curve.csv"
PLOT: Final = "curve.svg"
EVENTS: Final = "tensorboard"

_WIDTH: Final = 640
_HEIGHT: Final = 200
_LEFT: Final = 64
_COLOURS: Final = ("#3366cc", "#dc3912", "#109618", "#990099")


class Curve:
    """Rows of numbers by name, in a folder; the first number of a row is its step.

    The CSV file is written whole with every row. TensorBoard's events are added to a file for every run.

    Args:
        folder: where the files come.
        rows: those of an earlier run that goes on.
    """

    def __init__(self, folder: str, rows: Sequence[Mapping[str, float]] = ()) -> None:
        with needs("train", "training"):
            from tensorboardX import SummaryWriter
        self._folder = folder
        self.rows: list[dict[str, float]] = [dict(row) for row in rows]
        step = int(next(iter(self.rows[-1].values()))) + 1 if self.rows else None
        self._writer = SummaryWriter(os.path.join(folder, EVENTS), purge_step=step, write_to_disk=True)

    def add(self, row: Mapping[str, float]) -> None:
        """Add a row and write it.

        Raises:
            InputError: a file cannot be written.
        """
        self.rows.append(dict(row))
        (_, step), *values = row.items()
        for name, value in values:
            if math.isfinite(value):
                self._writer.add_scalar(name, value, int(step))
        self._writer.flush()
        write_file(os.path.join(self._folder, CSV), table_text(self.rows))

    def close(self, title: str, charts: Sequence[Sequence[str]]) -> None:
        """Write the plot, with a chart for every group of names, and close the files.

        Raises:
            InputError: a file cannot be written.
        """
        self._writer.close()
        if self.rows:
            write_file(os.path.join(self._folder, PLOT), plot(title, self.rows, charts))


def table_text(rows: Sequence[Mapping[str, float]]) -> str:
    file = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: f"{value:.9g}" for name, value in row.items()} for row in rows)
    return file.getvalue()


def plot(title: str, rows: Sequence[Mapping[str, float]], charts: Sequence[Sequence[str]]) -> str:
    """An SVG picture with a chart for every group of names, over the first column."""
    step = next(iter(rows[0]))
    shown = [[name for name in names if any(name in row for row in rows)] for names in charts]
    shown = [names for names in shown if names]
    height = 40 + len(shown) * (_HEIGHT + 60)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH + _LEFT + 20}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="20" font-size="14">{escape(title)}</text>',
    ]
    for place, names in enumerate(shown):
        parts.append(f'<g transform="translate({_LEFT},{50 + place * (_HEIGHT + 60)})">')
        parts += _chart(rows, step, names)
        parts.append("</g>")
    return "\n".join((*parts, "</svg>")) + "\n"


def _chart(rows: Sequence[Mapping[str, float]], step: str, names: Sequence[str]) -> list[str]:
    values = [row[name] for row in rows for name in names if math.isfinite(row.get(name, math.nan))]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    span = high - low or 1.0
    first, last = rows[0][step], rows[-1][step]
    width = last - first or 1.0
    parts = [f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#999"/>']
    for share in (0.0, 0.5, 1.0):
        y = _HEIGHT * (1 - share)
        parts.append(f'<text x="-6" y="{y + 4:.0f}" text-anchor="end">{low + share * span:.4g}</text>')
    ends = ((0, "start", first), (_WIDTH, "end", last))
    parts += [
        f'<text x="{x}" y="{_HEIGHT + 16}" text-anchor="{anchor}">{escape(step)} {value:g}</text>'
        for x, anchor, value in ends
    ]
    for name, colour, x in zip(names, _COLOURS, range(0, _WIDTH, 160), strict=False):
        points = " ".join(
            f"{(row[step] - first) / width * _WIDTH:.1f},{(high - row[name]) / span * _HEIGHT:.1f}"
            for row in rows
            if math.isfinite(row.get(name, math.nan))
        )
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{x}" y="-8" fill="{colour}">{escape(name)}</text>')
    return parts
