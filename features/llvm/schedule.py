# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of the instructions that LLVM's machine scheduler could place next (``schedule``).

The scheduler orders the instructions of a region of a basic block before registers are allocated, from its
top, its bottom, or from both ends; the target decides which. A column is an instruction that is ready: all
that it must follow (from the top) or precede (from the bottom) has its place. Columns are in the order of
the code. If more than 32 are ready, those around LLVM's choice have columns.

Latencies and cycles are those of the target's scheduling model. Pressure is in the units of LLVM's register
pressure sets, and 0 where the target does not track it.

plugin/native/llvm/allocator_points.h has the same table; a test compares them.
Source: llvm/lib/CodeGen/MachineScheduler.cpp.
"""

from __future__ import annotations

from typing import Final

from passpilot.features.point import Feature, row
from passpilot.features.table import choice_table

COLUMNS: Final = 32
"""The most instructions of one question."""


def _column(name: str, doc: str) -> Feature:
    return row(name, doc, "int64", (1, COLUMNS))


TABLE: Final = choice_table(
    "schedule",
    "instruction_to_place",
    COLUMNS,
    (
        _column("mask", "1 for each column with an instruction"),
        _column("order", "its place in the region before scheduling"),
        _column("depth", "cycles from the region's top to it on the longest path"),
        _column("height", "cycles from it to the region's bottom on the longest path"),
        _column("latency", "cycles until its result is there"),
        _column("stall", "cycles that the processor would wait for its operands or users"),
        _column("predecessors", "results of other instructions of the region that it reads"),
        _column("successors", "reads of its results in the region"),
        _column("freed", "instructions that become ready once it is placed"),
        _column("excess_pressure", "change of the register pressure above the target's limit"),
        _column("critical_pressure", "change of the pressure above the region's most"),
        _column("max_pressure", "change of the pressure above the most so far"),
        _column("is_copy", "1 if it copies a register"),
        _column("is_load", "1 if it may read memory"),
        _column("is_store", "1 if it may write memory"),
        _column("is_clustered", "1 if it accesses memory beside the instruction that was placed last"),
        row("from_top", "1 if the instruction comes below those at the top, 0 if above those at the bottom"),
        row("cycle", "the cycle of this end of the region"),
        row("resource_limited", "1 if the processor's units limit this end, not latencies"),
        row("remaining", "instructions of the region that have no place yet"),
        row("loop_depth", "loops around the block"),
    ),
)
"""The answer is the column of the instruction that is next."""
