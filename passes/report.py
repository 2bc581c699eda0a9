# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an advised register allocation costs, function by function, beside LLVM's default.

The costs are the core's, taken at the end of each function's allocation: counts of spills, reloads, folded
spills and reloads, copies and rematerialisations, each with the sum of its block frequencies, and their sum by
the weights of LLVM's RegAllocScore. A reward for training is the ratio of the two costs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Cost = tuple[str, dict[str, tuple[int, float]], float]
    """Function, kind -> (count, frequency), weighted sum: as the core gives it."""


class Side(TypedDict, total=False):
    """One allocation of one function."""

    cost: float
    counts: dict[str, int]
    frequencies: dict[str, float]
    cycles: float


class Row(TypedDict):
    """One function: both allocations, and the first's cost by the second's."""

    name: str
    advised: Side
    default: Side
    ratio: float | None


def allocation_report(
    module: str,
    triple: str,
    advised: Iterable[Cost],
    default: Iterable[Cost],
    cycles: tuple[Mapping[str, float], Mapping[str, float]] | None = None,
) -> bytes:
    """The report as JSON.

    Args:
        module: the module's name.
        triple: its target.
        advised: the costs of the advised allocation.
        default: the costs of LLVM's own.
        cycles: llvm-mca's cycles per call of each, where asked for.
    """
    others = {name: (kinds, cost) for name, kinds, cost in default}
    rows: list[Row] = []
    for name, kinds, cost in advised:
        row = _row(name, _side(kinds, cost), _side(*others.get(name, ({}, 0.0))))
        if cycles is not None:
            row["advised"]["cycles"] = cycles[0].get(name, 0.0)
            row["default"]["cycles"] = cycles[1].get(name, 0.0)
        rows.append(row)
    total = [sum(row[side]["cost"] for row in rows) for side in ("advised", "default")]
    whole = {"advised": total[0], "default": total[1], "ratio": _ratio(*total)}
    report = {"module": module, "triple": triple, "total": whole, "functions": rows}
    return json.dumps(report, indent=1).encode() + b"\n"


def _side(kinds: Mapping[str, tuple[int, float]], cost: float) -> Side:
    counts = {kind: count for kind, (count, _) in kinds.items()}
    return {
        "cost": cost,
        "counts": counts,
        "frequencies": {kind: frequency for kind, (_, frequency) in kinds.items()},
    }


def _row(name: str, advised: Side, default: Side) -> Row:
    ratio = _ratio(advised["cost"], default["cost"])
    return {"name": name, "advised": advised, "default": default, "ratio": ratio}


def _ratio(advised: float, default: float) -> float | None:
    """None where the default costs nothing."""
    return advised / default if default else None
