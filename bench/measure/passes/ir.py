# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares walks over all instructions of a real program with llvmlite's binding layer.

Three walks over functions, blocks and instructions read the opcode; the opcode and the operands; the opcode
and the text of every operand's type. Rounds alternate; the figure is the median of instructions per second.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Final

import llvmlite.binding

from bench.lib import Bar, command, in_turns, medians, settle, show
from bench.lib.corpus import built
from passpilot import Module, optimize
from tests.stock import run

ROUNDS: Final = 5


def walk(module: Any, reads: str) -> int:
    """Read every opcode, and the operands or the text of their types; the number of instructions."""
    count, operands, types = 0, reads == "operands", reads == "types"
    for function in module.functions:
        for block in function.blocks:
            for instruction in block.instructions:
                instruction.opcode  # noqa: B018
                if operands:
                    for _ in instruction.operands:
                        pass
                if types:
                    for operand in instruction.operands:
                        str(operand.type)
                count += 1
    return count


def rate(module: Any, reads: str) -> float:
    """Instructions per second of one walk, in processor time, as the machine may be busy."""
    start = time.process_time()
    count = walk(module, reads)
    return count / (time.process_time() - start)


def parsed(name: str) -> tuple[Module, Any]:
    """Parse the same text in both; it leaves out what llvmlite's older LLVM cannot read."""
    path = built([name])[0].whole("O2")
    ours = Module.read(path, strip_debug=True)
    optimize(ours, "default<O1>")
    try:
        return ours, llvmlite.binding.parse_assembly(str(ours))
    except RuntimeError:
        plain = run("opt", "-S", "--strip-debug", "-passes=mem2reg", path).decode()
        return Module.read(plain.encode()), llvmlite.binding.parse_assembly(plain)


@command
def main(program: str = "lz4") -> None:
    modules = dict(zip(("passpilot", "llvmlite"), parsed(program), strict=True))
    rows = {}
    for reads in ("opcodes", "operands", "types"):
        assert len({walk(module, reads) for module in modules.values()}) == 1
        runs = {name: partial(rate, module, reads) for name, module in modules.items()}
        rates = medians(in_turns(runs, ROUNDS))
        rows[reads] = {**rates, "ratio": rates["passpilot"] / rates["llvmlite"]}
    show(f"instructions per second, {program}", "walk that reads", rows)
    settle(
        *(
            Bar(f"walk that reads {reads}, times as fast", row["ratio"], 1, "llvmlite", least=True)
            for reads, row in rows.items()
        )
    )
