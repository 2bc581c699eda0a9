# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a live range that waits for a register: the 3 features of LLVM 22, in LLVM's order.

The greedy register allocator takes live ranges from a queue, the largest priority first. The advice is the
priority: a number from 0 to 2^32 - 1, whose fraction LLVM drops. It is a float64, because a float32 cannot
hold all of LLVM's 32-bit priorities.

Source: llvm/lib/CodeGen/MLRegAllocPriorityAdvisor.cpp, where the answer is a float32; a test compares the
table with the core and with stock llc.
"""

from __future__ import annotations

from typing import Final

from passpilot.features.domain import Number
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable

FEATURES: Final = (
    row("li_size", "length of all its segments; 16 per instruction"),
    row(
        "stage",
        "how far LLVM has come: 0 new, 1 assign or evict, 2 split, 3 split to the end, 4 spill, 5 all done",
    ),
    row("weight", "its spill weight; infinite if it must not be spilled", "float32"),
)

DECISION: Final = TensorSpec("priority", "float64", (1,))
"""The advice: the larger it is, the earlier the live range gets a register."""

TABLE: Final = PointTable(
    "priority", FEATURES, DECISION, Number(0.0, 4294967295.0), "priority that LLVM's own heuristic gives it"
)
