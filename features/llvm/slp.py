# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a function whose straight-line code LLVM may vectorize.

Frequencies are LLVM's block frequencies, in executions per call of the function.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from passpilot.features.domain import Flag
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable
from passpilot.plugin._core import BasicBlock, Constant, Function, Instruction

FEATURES: Final = (
    row("instructions", "instructions of the function"),
    row("blocks", "basic blocks of the function"),
    row("loops", "loops of the function, inner ones included"),
    row("largest_block", "instructions of its largest block"),
    row("loads", "loads"),
    row("stores", "stores"),
    row("store_groups", "groups of stores in one block at constant distances from one pointer"),
    row("grouped_stores", "stores in these groups"),
    row("grouped_loads", "loads in such groups"),
    row("integer", "additions, multiplications, shifts and logic of integers"),
    row("floating_point", "floating-point operations"),
    row("vectors", "instructions that have a vector as result"),
    row("calls", "calls, those of intrinsics included"),
    row("work", "instructions that one call of it runs, by block frequencies; no callees", "float64"),
    row("grouped_work", "stores in groups that one call of it runs", "float64"),
    row("for_size", "1 if the function is optsize or minsize"),
)

TABLE: Final = PointTable("advised-slp", FEATURES, TensorSpec("slp", "int64", (1,)), Flag())
"""The answer is 1 to let LLVM vectorize straight-line code in the function."""

_FREQUENCY_LIMIT: Final = 1e30
_INTEGER: Final = ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor")
_FLOATING: Final = ("fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp")


def observe(function: Function) -> Mapping[str, object]:
    """The feature values of a function with a body. For function passes."""
    blocks = function.blocks
    counts = Counter(inst.opcode for block in blocks for inst in block.instructions)
    sizes = [len(block.instructions) for block in blocks]
    frequencies = [block.frequency for block in blocks]
    attributes = function.attributes
    groups = [_groups(block, "store") for block in blocks]
    return {
        "instructions": counts.total(),
        "blocks": len(blocks),
        "loops": len(function.loops),
        "largest_block": max(sizes),
        "loads": counts["load"],
        "stores": counts["store"],
        "store_groups": sum(map(len, groups)),
        "grouped_stores": sum(map(sum, groups)),
        "grouped_loads": sum(sum(_groups(block, "load")) for block in blocks),
        "integer": sum(counts[opcode] for opcode in _INTEGER),
        "floating_point": sum(counts[opcode] for opcode in _FLOATING),
        "vectors": sum(inst.type.kind == "vector" for block in blocks for inst in block.instructions),
        "calls": len(function.call_sites),
        "work": _weighed(sizes, frequencies),
        "grouped_work": _weighed(map(sum, groups), frequencies),
        "for_size": "optsize" in attributes or "minsize" in attributes,
    }


def _groups(block: BasicBlock, opcode: str) -> list[int]:
    """The sizes of the groups of loads or stores of one type whose addresses differ by constants."""
    inside = [inst for inst in block.instructions if inst.opcode == opcode]
    found = Counter((_base(inst.operands[-1]), inst.access_type) for inst in inside)
    return [count for count in found.values() if count > 1]


def _base(address: object) -> tuple[object, ...]:
    """What is left of an address without constant offsets: a pointer and indices."""
    while isinstance(address, Instruction) and address.opcode == "getelementptr":
        pointer, *indices = address.operands
        if variable := [_variable(index) for index in indices if not isinstance(index, Constant)]:
            return pointer, *variable
        address = pointer
    return (address,)


def _variable(index: object) -> object:
    """An index without the constant that is added to it, and without extensions."""
    while isinstance(index, Instruction):
        extends = index.opcode in ("sext", "zext")
        if not extends and not (index.opcode in ("add", "or") and isinstance(index.operands[1], Constant)):
            break
        index = index.operands[0]
    return index


def _weighed(sizes: Iterable[int], frequencies: Iterable[float]) -> float:
    return min(sum(f * size for f, size in zip(frequencies, sizes, strict=True)), _FREQUENCY_LIMIT)
