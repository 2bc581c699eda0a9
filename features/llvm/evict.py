# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of an eviction: the 21 features of LLVM 22's greedy register allocator, in LLVM's order.

LLVM asks when a live range, the candidate, finds no free register. Columns 0 to 31 are the physical registers
that it could take, in the order in which LLVM tries them: first those that copies hint at, then the others of
its class. Column 32, `DO_NOT_EVICT`, is the candidate itself, which LLVM then splits or spills.

LLVM itself computes the values. A value of columns 0 to 31 sums or counts over the live ranges that would be
evicted from that register; a value of column 32 covers the candidate alone; columns that the mask forbids are
0. Frequencies are relative to the function's entry. "Scaled" means that the 33 values are divided by the
largest, which becomes 1. LLVM computes the scaled sums of a live range once and keeps them when it splits the
live range later.

Source: llvm/lib/CodeGen/MLRegAllocEvictAdvisor.cpp and .h, which are not installed: an advisor
compares names, types and order with LLVM's table, and a test compares the tensors with those of stock llc.
"""

from __future__ import annotations

from typing import Final

from passpilot.features.domain import Choice
from passpilot.features.point import Feature, row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable

COLUMNS: Final = 33
"""32 registers and the candidate itself."""

DO_NOT_EVICT: Final = 32
"""The column that evicts nothing."""

STAGES: Final = "0 new, 1 assign or evict, 2 split, 3 split to the end, 4 spill, 5 nothing left to do"
"""The stages of a live range in the allocator, named by what LLVM may still do with it."""


def _count(name: str, doc: str) -> Feature:
    return row(name, doc, shape=(1, COLUMNS))


def _scaled(name: str, doc: str) -> Feature:
    return row(name, f"{doc}; scaled", "float32", (1, COLUMNS))


FEATURES: Final = (
    _count("mask", "1 if the column may be chosen; 32 may not be if some live range has to be evicted"),
    _count("is_free", "1 if nothing would have to be evicted from the register"),
    _scaled("nr_urgent", "live ranges that may be evicted only because the candidate cannot be spilled"),
    _scaled("nr_broken_hints", "live ranges that are in the register they are hinted to"),
    _count("is_hint", "1 if the register is one that the candidate's copies hint at"),
    _count("is_local", "live ranges within one basic block, if the candidate is within one as well"),
    _scaled("nr_rematerializable", "live ranges whose value can be computed again instead of reloaded"),
    _scaled("nr_defs_and_uses", "instructions that define or use them, not weighted"),
    _scaled("weighed_reads_by_max", "frequencies of the instructions that only read them, summed up"),
    _scaled("weighed_writes_by_max", "frequencies of the instructions that only write them, summed up"),
    _scaled("weighed_read_writes_by_max", "frequencies of the instructions that do both, summed up"),
    _scaled("weighed_indvars_by_max", "frequencies of writes in exiting blocks that they leave alive"),
    _scaled("hint_weights_by_max", "frequencies of the copies that hint at a register for them, summed up"),
    _scaled("start_bb_freq_by_max", "frequency of the block in which the first of them begins"),
    _scaled("end_bb_freq_by_max", "frequency of the block in which the last of them ends"),
    _scaled("hottest_bb_freq_by_max", "frequency of the hottest block that reads or writes one of them"),
    _scaled("liverange_size", "distance from the first begin to the last end; 16 per instruction"),
    _scaled("use_def_density", "largest spill weight among them; NaN where it is infinite"),
    _count("max_stage", f"latest stage among them: {STAGES}"),
    _count("min_stage", f"earliest stage among them: {STAGES}"),
    row(
        "progress",
        "live ranges that wait for a register, as a share of the virtual registers at the start",
        "float32",
    ),
)

DECISION: Final = TensorSpec("index_to_evict", "int64", (1,))
"""The advice: the column whose live ranges LLVM evicts, or `DO_NOT_EVICT`."""

TABLE: Final = PointTable(
    "evict",
    FEATURES,
    DECISION,
    Choice(COLUMNS, mask="mask"),
    f"column that LLVM's own heuristic chooses, {DO_NOT_EVICT} for none",
    "evict_default",
)
