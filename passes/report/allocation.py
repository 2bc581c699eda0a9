# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the cost of an advised register allocation with LLVM's default, function by function.

The core takes the costs at the end of each function's allocation: the counts of spills, reloads, folded
spills and reloads, copies and rematerialisations, the sum of block frequencies for each kind, and the total
with the weights of LLVM's RegAllocScore. RegAllocScore itself counts all loads and stores of a function.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from passpilot.passes.emit import generate
from passpilot.plugin import _core
from passpilot.plugin.compile import file_type
from passpilot.plugin.module import Module

if TYPE_CHECKING:
    from passpilot.passes.advisor import Advisor

    Cost = tuple[str, dict[str, tuple[int, float]], float]


class Side(TypedDict, total=False):
    """One allocation of one function; `cycles` only if llvm-mca was run."""

    cost: float
    counts: dict[str, int]
    frequencies: dict[str, float]
    cycles: float | None


class CostRow(TypedDict):
    """One function: both allocations, and the ratio of their costs, advised / default."""

    name: str
    advised: Side
    default: Side
    ratio: float | None


def allocation_report(
    before: Module,
    wanted: _core.EmitOptions,
    advised: Iterable[Cost],
    replaying: Sequence[Advisor] | None,
    llvm: Sequence[str],
) -> bytes:
    """The report as JSON; compiles `before` again with LLVM's default.

    Args:
        before: the module as it was before code generation.
        wanted: the options of the advised code generation; their file type is changed.
        advised: the costs of the advised code generation.
        replaying: advisors that repeat the advised decisions, to run llvm-mca; None to leave it out.
        llvm: LLVM's own options from the command line.

    Raises:
        InputError: llvm-mca cannot be run.
    """
    default = before.copy()
    wanted.filetype, wanted.remarks.file, wanted.output_asm_variant = file_type("null"), "", None
    rows = _rows(advised, generate(default, wanted, ()).costs)
    if replaying is not None:
        for side, advisors in (("advised", replaying), ("default", ())):
            cycles = _cycles(before.copy(), wanted, advisors, llvm)
            for row in rows:
                row[side]["cycles"] = cycles.get(row["name"])  # type: ignore[literal-required]
    total = {"advised": _sum(rows, "advised"), "default": _sum(rows, "default")}
    whole = {**total, "ratio": _ratio(*total.values())}
    report = {"module": before.name, "triple": before.triple, "total": whole, "functions": rows}
    return json.dumps(report, indent=1).encode() + b"\n"


def _rows(advised: Iterable[Cost], default: Iterable[Cost]) -> list[CostRow]:
    others = {cost[0]: cost for cost in default}
    return [_row(cost, others.get(cost[0], (cost[0], {}, 0.0))) for cost in advised]


def _row(advised: Cost, default: Cost) -> CostRow:
    ratio = _ratio(advised[2], default[2])
    return {"name": advised[0], "advised": _side(advised), "default": _side(default), "ratio": ratio}


def _side(cost: Cost) -> Side:
    _, kinds, total = cost
    return {
        "cost": total,
        "counts": {kind: count for kind, (count, _) in kinds.items()},
        "frequencies": {kind: frequency for kind, (_, frequency) in kinds.items()},
    }


def _sum(rows: Iterable[CostRow], side: str) -> float:
    chosen: list[Mapping[str, float]] = [row[side] for row in rows]  # type: ignore[literal-required]
    return sum(allocation["cost"] for allocation in chosen)


def _ratio(advised: float, default: float) -> float | None:
    """Advised / default; None if the default costs nothing."""
    return advised / default if default else None


def _cycles(
    module: Module, wanted: _core.EmitOptions, advisors: Sequence[Advisor], llvm: Sequence[str]
) -> dict[str, float]:
    """llvm-mca's cycles per call of each function, compiled with these advisors."""
    from passpilot.passes.report.throughput import block_throughput

    triple = module.triple
    wanted.filetype, wanted.frequencies, wanted.asm_verbose = file_type("asm"), True, True
    emitted = generate(module, wanted, advisors)
    flags = [f"-mtriple={triple}", *processor_flags(triple, llvm)]
    return block_throughput(emitted.code.decode("utf-8", "surrogateescape"), flags, emitted.frequencies)


def processor_flags(triple: str, llvm: Sequence[str]) -> list[str]:
    """llvm-mca's processor flags: those of the command line, else LLVM's default processor."""
    flags: list[str] = []
    for argument in llvm:
        if flags and flags[-1] in ("-mcpu", "-mattr"):  # the value is a separate argument
            flags[-1] += f"={argument}"
        else:
            flags.append("-" + argument.lstrip("-"))
    named = [flag for flag in flags if flag.startswith(("-mcpu=", "-mattr="))]
    if any(flag.startswith("-mcpu=") for flag in named):
        return named
    return [f"-mcpu={'x86-64' if triple.startswith('x86_64') else 'generic'}", *named]
