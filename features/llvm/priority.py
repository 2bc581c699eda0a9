# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a live range that waits for a register: the 3 features of LLVM 22, in LLVM's order.

The greedy register allocator takes live ranges from a queue, the one of the largest priority first. The
advice is that number: from 0 to 2^32 - 1, of which LLVM drops the fraction. It is a float64, because LLVM's
own priorities are integers of 32 bits, which a float32 cannot hold.

Source: llvm/lib/CodeGen/MLRegAllocPriorityAdvisor.cpp, where LLVM's own answer is a float32; a test compares
the table with the core and with stock llc.
"""

from __future__ import annotations

from typing import Final

from passpilot.features.custom import custom_rows
from passpilot.features.domain import Number
from passpilot.features.point import Feature, Point, row
from passpilot.features.spec import TensorSpec

FEATURES: Final = (
    row("li_size", "length of all its segments; 16 per instruction"),
    row(
        "stage",
        "how far LLVM has come: 0 new, 1 assign or evict, 2 split, 3 split to the end, 4 spill, 5 all done",
    ),
    row("weight", "its spill weight; infinite if it must not be spilled", "float32"),
)

DECISION: Final = TensorSpec("priority", "float64", (1,))
"""The advice: the larger, the earlier it gets a register."""

DEFAULT: Final = TensorSpec("priority_default", "float64", (1,))
"""The priority that LLVM's own heuristic gives it."""

DOMAIN: Final = Number(0.0, 4294967295.0)


def table() -> tuple[Feature, ...]:
    """What `priority` offers: the 3 rows, then the default decision, then the custom features of now."""
    doc = "priority that LLVM's own heuristic gives it; computed only if asked for"
    return (*FEATURES, Feature(DEFAULT, doc), *custom_rows("priority"))


def point() -> Point:
    """The decision point `priority`."""
    return Point("priority", tuple(row.spec for row in table()), DECISION, DEFAULT, DOMAIN)
