# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The report of `passpilot llc --report` as a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import for_terminal
from passpilot.plugin.json_and_toml import read_json
from passpilot.runners.plurals import size_change

if TYPE_CHECKING:
    from passpilot.passes.report.allocation import CostRow, Side

KINDS: Final[Mapping[str, Sequence[str]]] = {
    "spills": ("spills", "folded_spills", "folded_both"),
    "reloads": ("reloads", "folded_reloads", "folded_both"),
    "copies": ("copies",),
}
"""The kinds of instructions that each column counts."""

_LEGEND: Final = """\
cost: spills, reloads and copies per call by block frequency, with the weights of LLVM's RegAllocScore;
lower is better. Instructions are counted once each: advised, and in brackets LLVM's default."""


def read_report(path: str) -> Mapping[str, object]:
    """The report in a file.

    Raises:
        InputError: the file cannot be read, or is not a report.
    """
    who = f"report {path}"
    report = cast("Mapping[str, object]", read_json(path, "the report of `passpilot llc --report`"))
    try:
        table_of(report)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        text = f"{type(error).__name__} {error}"
        raise InputError(f"{who}: expected the report of `passpilot llc --report`, got: {text}") from error
    return report


def table_of(report: Mapping[str, object], limit: int | None = None) -> str:
    """The table: the functions whose cost changes most come first, at most `limit`, then the totals."""
    rows = cast("Sequence[CostRow]", report["functions"])
    ordered = sorted(rows, key=lambda row: -abs(row["advised"]["cost"] - row["default"]["cost"]))
    shown = ordered[:limit]
    cycles = any("cycles" in row["advised"] for row in rows)
    heads = ["function", "cost", "default", "change", *KINDS, *(["cycles", "default"] if cycles else [])]
    cells = [heads, *(_cells(row["name"], row["advised"], row["default"], cycles) for row in shown)]
    cells.append(_cells("total", _sum(rows, "advised"), _sum(rows, "default"), cycles))
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = [_line(row, widths) for row in cells]
    lines.insert(-1, "-" * len(lines[0]))
    if len(shown) < len(rows):
        lines.insert(-2, f"... {len(rows) - len(shown)} more")
    title = f"module {for_terminal(str(report['module']))}, {report['triple']}"
    return "\n".join([title, *lines, _LEGEND, ""])


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers = (
        cell.ljust(width) if not column else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join([name, *numbers])


def _cells(name: str, advised: Side, default: Side, cycles: bool) -> list[str]:
    change = size_change(advised["cost"] / default["cost"], 1) if default["cost"] else "-"
    counts = [f"{_count(advised, kinds)} ({_count(default, kinds)})" for kinds in KINDS.values()]
    measured = [_number(side.get("cycles")) for side in (advised, default)] if cycles else []
    costs = [_number(advised["cost"]), _number(default["cost"])]
    return [for_terminal(name), *costs, change, *counts, *measured]


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _count(side: Side, kinds: Sequence[str]) -> int:
    return sum(side.get("counts", {}).get(kind, 0) for kind in kinds)


def _sum(rows: Sequence[CostRow], side: str) -> Side:
    sides = cast("Sequence[Side]", [row[side] for row in rows])  # type: ignore[literal-required]
    kinds = {kind for allocation in sides for kind in allocation["counts"]}
    known = [cycles for allocation in sides if (cycles := allocation.get("cycles")) is not None]
    return {
        "cost": sum(allocation["cost"] for allocation in sides),
        "counts": {kind: sum(allocation["counts"].get(kind, 0) for allocation in sides) for kind in kinds},
        "cycles": sum(known) if known else None,
    }
