# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares walks over all instructions of a real program with llvmlite's binding layer.

Three walks over functions, blocks and instructions read the opcode; the opcode and the operands; the opcode
and the text of every operand's type. Rounds alternate; the figure is the median of instructions per second.
Writes bench/results/ir.json.

usage: bench_ir.py [PROGRAM]      (lz4)
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import llvmlite.binding
from rich.console import Console
from rich.table import Table

from passpilot import Module, optimize

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, arguments, settle  # noqa: E402
from tests.corpus.build import build  # noqa: E402
from tests.corpus.programs import programs  # noqa: E402
from tests.stock import run  # noqa: E402

ROUNDS: Final = 5


def opcodes(module: Any) -> int:
    """Read every opcode; the number of instructions."""
    count = 0
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                instruction.opcode  # noqa: B018
                count += 1
    return count


def operands(module: Any) -> int:
    """Read every opcode and operand; the number of instructions."""
    count = 0
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                instruction.opcode  # noqa: B018
                for _ in instruction.operands:
                    pass
                count += 1
    return count


def types(module: Any) -> int:
    """Read every opcode and operand type; the number of instructions."""
    count = 0
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                instruction.opcode  # noqa: B018
                for operand in instruction.operands:
                    str(operand.type)
                count += 1
    return count


def rate(walk: Callable[[Any], int], module: Any) -> float:
    """Instructions per second of one walk, in processor time, as the machine may be busy."""
    start = time.process_time()
    count = walk(module)
    return count / (time.process_time() - start)


def parsed(name: str) -> tuple[Module, Any, str]:
    """Parse the same text in both; it leaves out what llvmlite's older LLVM cannot read."""
    assert not build([name])
    path = programs()[name].whole("O2")
    ours = Module.read(path, strip_debug=True)
    optimize(ours, "default<O1>")
    try:
        return ours, llvmlite.binding.parse_assembly(str(ours)), name
    except RuntimeError:
        plain = run("opt", "-S", "--strip-debug", "-passes=mem2reg", path).decode()
        return Module.read(plain.encode()), llvmlite.binding.parse_assembly(plain), name


def main() -> None:
    """Measure and print."""
    ours, theirs, name = parsed((*arguments(), "lz4")[0])
    rows: dict[str, dict[str, float]] = {}
    table = Table(title=f"instructions per second, {name}")
    for column in ("walk", "passpilot", "llvmlite", "ratio"):
        table.add_column(column, justify="right")
    for walk in (opcodes, operands, types):
        assert walk(ours) == walk(theirs)
        rounds = [(rate(walk, ours), rate(walk, theirs)) for _ in range(ROUNDS)]
        mine, other = (statistics.median(each) for each in zip(*rounds, strict=True))
        rows[walk.__name__] = {"passpilot": mine, "llvmlite": other}
        table.add_row(walk.__name__, f"{mine:,.0f}", f"{other:,.0f}", f"{mine / other:.1f}")
    Console().print(table)
    results = ROOT / "bench/results"
    results.mkdir(exist_ok=True)
    (results / "ir.json").write_text(json.dumps({"program": name, **rows}, indent=2) + "\n")
    times = {walk: row["passpilot"] / row["llvmlite"] for walk, row in rows.items()}
    settle(
        "ir",
        *(
            Bar(f"walk that reads {walk}, times as fast", each, 1, "llvmlite", least=True)
            for walk, each in times.items()
        ),
    )


if __name__ == "__main__":
    main()
