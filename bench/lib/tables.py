# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tables of figures on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean
from typing import Any

from rich.console import Console
from rich.table import Table

WIDTH = 140


def text(value: object) -> str:
    """A figure as readers see it: four digits, thousands with commas, nothing for None."""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else str(value)


def show_rows(title: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; columns of numbers are on the right."""
    cells = list(rows)
    table = Table(title=title)
    for place, head in enumerate(heads):
        is_text = any(isinstance(row[place], str) for row in cells)
        table.add_column(head, justify="left" if is_text else "right")
    for row in cells:
        table.add_row(*map(text, row))
    Console(width=WIDTH).print(table)


def show(
    title: str,
    head: str,
    rows: Mapping[str, Mapping[str, object]],
    means: Mapping[str, float] | None = None,
) -> None:
    """Print rows that have the same columns.

    Args:
        title: stands above the table.
        head: the head of the first column, which has the names of the rows.
        rows: the values by column, by row.
        means: geometric means of some columns, for a last row.
    """
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    lines = [[name, *(row.get(column) for column in columns)] for name, row in rows.items()]
    if means:
        lines.append(["geometric mean", *(means.get(column) for column in columns)])
    show_rows(title, [head, *columns], lines)


def geometric_means(rows: Iterable[Mapping[str, Any]], columns: Iterable[str]) -> dict[str, float]:
    found = list(rows)
    return {column: geometric_mean(row[column] for row in found) for column in columns}
