# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of any innermost loop: its trip count, body and surroundings.

Trip counts come from LLVM's scalar evolution, costs from the target's cost model, and frequencies from LLVM's
block frequencies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from passpilot.features.point import Feature, row
from passpilot.plugin._core import CallBase, Instruction, Loop

LOOP_FEATURES: Final = (
    row("trip_count", "how often the body runs per entry, if that is a known constant; else 0"),
    row("max_trip_count", "the most that it can run, if known; else 0"),
    row("trip_multiple", "a number that divides the trip count; 1 if none is known"),
    row("is_countable", "1 if the trip count can be computed before the loop is entered"),
    row("depth", "1 for a loop in no other"),
    row("blocks", "basic blocks of the loop"),
    row("exits", "blocks that may leave the loop"),
    row("latch_exits", "1 if the last block of the body may leave the loop"),
    row("phis", "values that the header carries from one iteration to the next"),
    row("instructions", "instructions, without phis"),
    row("size", "code size of the body by the target's cost model"),
    row("throughput", "reciprocal throughput of the body by the target's cost model"),
    row("latency", "sum of the latencies of the body by the target's cost model"),
    row("loads", "loads"),
    row("stores", "stores"),
    row("calls", "calls that are no intrinsics"),
    row("branches", "conditional branches and switches"),
    row("floating_point", "floating-point operations"),
    row("divisions", "divisions and remainders, of integers and of floating-point numbers"),
    row("iterations", "iterations per entry that branch probabilities suggest", "float64"),
    row("frequency", "how often the header runs per call of the function", "float64"),
    row("function_instructions", "instructions of the function"),
    row("for_size", "1 if the function is optsize or minsize"),
)

_FREQUENCY_LIMIT: Final = 1e30
_DIVISIONS: Final = ("sdiv", "udiv", "srem", "urem", "fdiv", "frem")
_FLOATING: Final = ("fadd", "fsub", "fmul", "fdiv", "frem", "fneg", "fcmp")


def body_of(loop: Loop) -> list[Instruction]:
    """The instructions of a loop, without phis."""
    return [inst for block in loop.blocks for inst in block.instructions if inst.opcode != "phi"]


def observe_loop(loop: Loop, body: Iterable[Instruction]) -> dict[str, object]:
    """The values of `LOOP_FEATURES`; `body` is that of `body_of`. For function passes."""
    function, frequency, exiting = loop.function, loop.header.frequency, loop.exiting_blocks
    before = loop.preheader.frequency if loop.preheader else 0.0
    counts = Counter(inst.opcode for inst in body)
    return {
        "trip_count": loop.trip_count or 0,
        "max_trip_count": loop.max_trip_count or 0,
        "trip_multiple": loop.trip_multiple,
        "is_countable": loop.backedge_taken_count is not None,
        "depth": loop.depth,
        "blocks": len(loop.blocks),
        "exits": len(exiting),
        "latch_exits": any(latch in exiting for latch in loop.latches),
        "phis": sum(inst.opcode == "phi" for inst in loop.header.instructions),
        "instructions": counts.total(),
        "size": _cost(body, "code-size"),
        "throughput": _cost(body, "throughput"),
        "latency": _cost(body, "latency"),
        "loads": counts["load"],
        "stores": counts["store"],
        "calls": sum(map(_is_call, body)),
        "branches": sum(inst.opcode in ("br", "switch") and len(inst.operands) > 1 for inst in body),
        "floating_point": sum(counts[opcode] for opcode in _FLOATING),
        "divisions": sum(counts[opcode] for opcode in _DIVISIONS),
        "iterations": min(frequency / before, _FREQUENCY_LIMIT) if before else 0.0,
        "frequency": min(frequency, _FREQUENCY_LIMIT),
        "function_instructions": function.instruction_count,
        "for_size": not {"optsize", "minsize"}.isdisjoint(function.attributes),
    }


def same_attributes(rows: Iterable[Feature], known: object) -> dict[str, object]:
    """The values of those rows beyond `LOOP_FEATURES` that are attributes of `known` by the same name."""
    names = {row.spec.name for row in rows} - {row.spec.name for row in LOOP_FEATURES}
    return {name: getattr(known, name) for name in names if hasattr(known, name)}


def _is_call(instruction: Instruction) -> bool:
    if not isinstance(instruction, CallBase):
        return False
    return (callee := instruction.callee) is None or not callee.is_intrinsic


def _cost(body: Iterable[Instruction], kind: str) -> int:
    """The total cost of the instructions; those without a known cost count as 0."""
    return sum(inst.cost(kind) or 0 for inst in body)
