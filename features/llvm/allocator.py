# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a step of the advised register allocator (``-regalloc=advised``): four tables.

The allocator repeats one step. ``ra-order`` chooses a live range among those that wait, ``ra-action`` what
happens to it, ``ra-colour`` the register that it gets, ``ra-split`` where it is split. Columns that the mask
forbids are 0. Frequencies are relative to the function's entry. Costs are in the units of LLVM's
RegAllocScore: 4 for a reload and 1 for a spill, times the frequency. Lengths are 16 per instruction.

plugin/native/llvm/allocator_points.cpp has the same tables; a test compares them.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from passpilot.features.point import Feature, row
from passpilot.features.table import choice_table

COLUMNS: Final = 32
"""The most live ranges, registers or regions of one question."""


class AllocatorAction(IntEnum):
    """The answers of ``ra-action``."""

    ASSIGN = 0
    """Take a register that is free."""
    EVICT = 1
    """Take a register from live ranges that may give way; they wait again."""
    SPLIT = 2
    """Divide it into parts, which wait."""
    SPILL = 3
    """Keep it in memory; what is left of it waits and must get registers."""
    WAIT = 4
    """Let all others go first; possible once."""


def _column(name: str, doc: str, dtype: str = "int64") -> Feature:
    return row(name, doc, dtype, (1, COLUMNS))


ORDER: Final = choice_table(
    "ra-order",
    "range_to_allocate",
    COLUMNS,
    (
        _column("mask", "1 for each column with a live range; the first is LLVM's own choice"),
        _column("size", "length of all its segments"),
        _column("weight", "its spill weight; infinite if it must not be spilled", "float32"),
        _column("is_local", "1 if it is within one basic block"),
        _column("is_hinted", "1 if a copy hints at a register for it"),
        _column("is_split", "1 if it is a part of a split live range"),
        _column("has_waited", "1 if it has let all others go first"),
        _column("class_size", "registers of its class that can be allocated"),
        _column("instructions", "instructions that read or write it"),
        _column("priority", "its place in the queue of LLVM's greedy allocator; the largest is first"),
        row("waiting", "live ranges that wait, with those that have no column"),
    ),
)
"""The answer is the column of the live range that is next. Columns are in LLVM's order."""

ACTION: Final = choice_table(
    "ra-action",
    "allocator_action",
    len(AllocatorAction),
    (
        row("mask", "1 for each action that is possible: assign, evict, split, spill, wait", shape=(1, 5)),
        row("size", "length of all its segments"),
        row("weight", "its spill weight; infinite if it must not be spilled", "float32"),
        row("is_local", "1 if it is within one basic block"),
        row("is_hinted", "1 if a copy hints at a register for it"),
        row("generation", "splits that have led to it"),
        row("has_waited", "1 if it has let all others go first"),
        row("evictions", "how often it was evicted"),
        row("class_size", "registers of its class that can be allocated"),
        row("instructions", "instructions that read or write it"),
        row("spill_cost", "cost of its reads and writes if it is in memory", "float32"),
        row("free_registers", "registers that are free"),
        row("free_hint", "1 if one of them is hinted at by a copy"),
        row("evictable_registers", "registers whose live ranges may be evicted"),
        row(
            "cheapest_eviction", "the smallest of their largest spill weights; 0 if there are none", "float32"
        ),
        row("splits", "regions at which it can be split"),
        row("split_gain", "gain of the most promising region; 0 if there is none", "float32"),
    ),
)
"""The answer is an `AllocatorAction`."""

COLOUR: Final = choice_table(
    "ra-colour",
    "register_to_take",
    COLUMNS,
    (
        _column("mask", "1 if the register may be taken: it is free, or evictable if `evicting` is 1"),
        _column("is_free", "1 if the register is free"),
        _column("is_hint", "1 if a copy hints at it"),
        _column("is_wanted", "1 if the live range was split because this register was free"),
        _column("is_callee_saved", "1 if the function must save it before its first use"),
        _column("is_in_use", "1 if some live range of the function has it"),
        _column("encoding_cost", "extra bytes of instructions that use it, as the target says"),
        _column("interferences", "live ranges that would be evicted"),
        _column("max_weight", "largest spill weight among them", "float32"),
        _column("broken_hints", "live ranges among them in the register they are hinted to"),
        row("evicting", "1 if the action is to evict, 0 if it is to assign"),
        row("size", "length of the live range's segments"),
        row("weight", "its spill weight; infinite if it must not be spilled", "float32"),
        row("class_size", "registers of its class that can be allocated"),
    ),
)
"""The answer is the column of a register: hints first, then in the class's order."""

SPLIT: Final = choice_table(
    "ra-split",
    "region_to_split",
    COLUMNS,
    (
        _column("mask", "1 for each column with a region; the first is the most promising"),
        _column("kind", "0 loop, 1 block, 2 the blocks where a register is free, 3 a part of a block"),
        _column("gain", "`work` less `copy_cost`", "float32"),
        _column("work", "cost that the region saves if only it gets a register", "float32"),
        _column("copy_cost", "cost of its copies if the rest is in memory", "float32"),
        _column("copies", "copies between the region and the rest"),
        _column("instructions", "instructions of the region that read or write the live range"),
        _column("blocks", "basic blocks of the region"),
        _column("loop_depth", "depth of the deepest loop that it has blocks of"),
        _column("has_free_register", "1 if some register is free in the whole region"),
        _column("defines", "1 if the region writes the live range"),
        row("size", "length of the live range's segments"),
        row("weight", "its spill weight", "float32"),
        row("spill_cost", "cost of its reads and writes if all of it is in memory", "float32"),
        row("generation", "splits that have led to it"),
    ),
)
"""The answer is the column of the region that becomes a live range of its own."""
