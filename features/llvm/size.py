# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a function that may be compiled for size: its body and its callers.

Frequencies are LLVM's block frequencies, in executions per call of the block's function.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from passpilot.features.point import row
from passpilot.features.table import choice_table
from passpilot.plugin._core import CallBase, Function

GOALS: Final = ("", "optsize", "minsize")
"""The function attribute of each choice; the empty one leaves the function unchanged."""

_FREQUENCY_LIMIT: Final = 1e30


FEATURES: Final = (
    row("instructions", "instructions of the function"),
    row("blocks", "basic blocks of the function"),
    row("loops", "loops of the function, inner ones included"),
    row("loop_depth", "depth of its innermost loop"),
    row("calls", "calls in it, those of intrinsics included"),
    row("work", "instructions that one call of it runs, by block frequencies; no callees", "float64"),
    row("hottest", "how often its hottest block runs per call", "float64"),
    row("is_local", "1 if nothing outside the module can call it"),
    row("call_sites", "direct calls of it in the module"),
    row("call_depth", "depth of the innermost loop around one of these"),
    row("call_frequency", "how often these run per call of their functions, in all", "float64"),
    row("is_cold", "1 if it is marked cold"),
    row("mask", "1 for each goal that is allowed: as it is, optsize, minsize", shape=(1, len(GOALS))),
)

TABLE: Final = choice_table("advised-size", "size_choice", len(GOALS), FEATURES)
"""The answer is an index into `GOALS`."""


def calls_by_callee(functions: Iterable[Function]) -> Mapping[Function, list[CallBase]]:
    """The direct calls of each callee, intrinsics excluded."""
    calls: dict[Function, list[CallBase]] = {}
    for function in functions:
        for call in function.call_sites:
            if (callee := call.callee) is not None and not callee.is_intrinsic:
                calls.setdefault(callee, []).append(call)
    return calls


def observe(function: Function, calls: Sequence[CallBase]) -> Mapping[str, object]:
    """The feature values of a function with a body; `calls` are the direct calls of it. For module passes."""
    blocks, loops, attributes = function.blocks, function.loops, function.attributes
    frequencies = [block.frequency for block in blocks]
    sizes = (len(block.instructions) for block in blocks)
    callers = [call.block for call in calls]
    return {
        "instructions": function.instruction_count,
        "blocks": len(blocks),
        "loops": len(loops),
        "loop_depth": max((loop.depth for loop in loops), default=0),
        "calls": len(function.call_sites),
        "work": _bounded(sum(f * size for f, size in zip(frequencies, sizes, strict=True))),
        "hottest": _bounded(max(frequencies)),
        "is_local": function.linkage in ("internal", "private"),
        "call_sites": len(calls),
        "call_depth": max((block.loop_depth for block in callers), default=0),
        "call_frequency": _bounded(sum(block.frequency for block in callers)),
        "is_cold": "cold" in attributes,
        "mask": [[True, "optsize" not in attributes, True]],
    }


def _bounded(frequency: float) -> float:
    return min(frequency, _FREQUENCY_LIMIT)
