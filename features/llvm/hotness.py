# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a conditional branch: its condition, and the two blocks that it may go to.

Rows of shape (2,) have a value for the block where the branch goes if its condition is true, then one for the
other block. Frequencies and probabilities are LLVM's, in executions per call of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from passpilot.features.domain import Number
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable
from passpilot.plugin._core import BasicBlock, CallBase, Constant, Instruction, Loop, Value

PREDICATES: Final = ("", "eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
"""The comparisons of integers and pointers, by the values of ``predicate``; 0 is any other condition."""

_FREQUENCY_LIMIT: Final = 1e30

FEATURES: Final = (
    row("probability", "how probable LLVM finds it that the condition is true, 0 to 1", "float64"),
    row("frequency", "how often the branch runs per call of the function", "float64"),
    row("loop_depth", "how many loops the branch is in"),
    row("function_instructions", "instructions of the function"),
    row(
        "predicate",
        "1 eq, 2 ne, 3 ugt, 4 uge, 5 ult, 6 ule, 7 sgt, 8 sge, 9 slt, 10 sle; else 0",
    ),
    row("compares_pointers", "1 if it compares pointers"),
    row("with_zero", "1 if it compares with 0 or null"),
    row("with_constant", "1 if it compares with any constant"),
    row("of_call", "1 if it tests the result of a call"),
    row("instructions", "instructions of the block", shape=(2,)),
    row("calls", "calls in it that are no intrinsics", shape=(2,)),
    row("cold_calls", "calls in it of functions that are marked cold or noreturn", shape=(2,)),
    row("stores", "stores in it", shape=(2,)),
    row("predecessors", "blocks that go to it", shape=(2,)),
    row("is_back_edge", "1 if it is the header of a loop around the branch", shape=(2,)),
    row("leaves_loop", "1 if it is outside the innermost loop around the branch", shape=(2,)),
    row("returns", "1 if it returns", shape=(2,)),
    row("is_dead_end", "1 if it ends in `unreachable`", shape=(2,)),
)

TABLE: Final = PointTable(
    "advised-hotness",
    FEATURES,
    TensorSpec("likelihood", "float64", (1,)),
    Number(0, 1),
    "what LLVM estimates",
)
"""The answer is the probability that the condition is true."""


def observe(branch: Instruction, instructions: int) -> Mapping[str, object]:
    """The feature values of a conditional branch with two different successors. For function passes.

    `instructions` are those of the function, which are slow to count for every branch.
    """
    block = branch.block
    sides = [_side(block, successor) for successor in block.successors]
    return {
        "probability": block.probability_to(block.successors[0]),
        "frequency": min(block.frequency, _FREQUENCY_LIMIT),
        "loop_depth": block.loop_depth,
        "function_instructions": instructions,
        **_condition(branch.operands[0]),
        **{name: [side[name] for side in sides] for name in sides[0]},
    }


def _condition(condition: Value) -> dict[str, object]:
    """What is known of the condition; a comparison of integers or pointers is looked into."""
    operands, predicate = [condition], ""
    if isinstance(condition, Instruction) and condition.opcode == "icmp":
        operands, predicate = condition.operands, condition.predicate or ""
    constants = [operand for operand in operands if isinstance(operand, Constant)]
    return {
        "predicate": PREDICATES.index(predicate),
        "compares_pointers": operands[0].type.kind == "pointer",
        "with_zero": any(constant.is_null for constant in constants),
        "with_constant": bool(constants),
        "of_call": any(isinstance(operand, CallBase) for operand in operands),
    }


def _side(block: BasicBlock, successor: BasicBlock) -> dict[str, int]:
    """The values of one successor of a block."""
    calls = [inst for inst in successor.instructions if isinstance(inst, CallBase)]
    loop, ahead, last = block.loop, successor.loop, successor.terminator.opcode
    return {
        "instructions": len(successor.instructions),
        "calls": _count(calls, lambda call: call.callee is None or not call.callee.is_intrinsic),
        "cold_calls": _count(calls, _is_cold),
        "stores": sum(inst.opcode == "store" for inst in successor.instructions),
        "predecessors": len(successor.predecessors),
        "is_back_edge": ahead is not None and ahead.header == successor and _is_inside(block, ahead),
        "leaves_loop": loop is not None and not _is_inside(successor, loop),
        "returns": last == "ret",
        "is_dead_end": last == "unreachable",
    }


def _count(calls: list[CallBase], test: Callable[[CallBase], bool]) -> int:
    return sum(map(test, calls))


def _is_cold(call: CallBase) -> bool:
    marks = {*call.attributes, *(call.callee.attributes if call.callee else ())}
    return not marks.isdisjoint({"cold", "noreturn"})


def _is_inside(block: BasicBlock, loop: Loop) -> bool:
    """Whether the loop, or one in it, contains the block."""
    around = block.loop
    while around is not None and around.header != loop.header:
        around = around.parent
    return around is not None
