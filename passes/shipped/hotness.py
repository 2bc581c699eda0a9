# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-hotness`: a runner says how probable each branch is.

The pass writes the probabilities into the program as a profile would (`branch_weights`), so that all passes
behind it heed them: inliner, outliner, spilling, the order of blocks. Put it where the passes begin that
shall know: ``--at pipeline-start=advised-hotness``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from passpilot.features.llvm.hotness import TABLE, observe
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.python.api import PreservedAnalyses, function_pass

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function, Instruction

HOTNESS: Final = DecisionPoint[float].of(TABLE, lambda values: cast("float", values["probability"]))
"""The decision: the probability that a branch's condition is true."""

SUM: Final = 1 << 20
"""The weights of both sides together."""


@function_pass("advised-hotness")
@dataclass(frozen=True)
class AdvisedHotness:
    """Gives branches the probabilities that the runner of `advised-hotness` says; LLVM's own by default."""

    def run(self, function: Function) -> PreservedAnalyses:
        """Ask about each conditional branch that has no profile."""
        if not HOTNESS.is_asked:
            return PreservedAnalyses.all()
        branches, instructions = list(_open_branches(function)), function.instruction_count
        observed = [observe(branch, instructions) for branch in branches]
        answers = HOTNESS.ask_all(observed, branches)
        changed = False
        for branch, values, answer in zip(branches, observed, answers, strict=True):
            if answer != values["probability"]:
                branch.set_metadata("prof", ("branch_weights", *_weights(answer)))
                changed = True
        # LLVM's own probabilities count as analyses of the control flow, which are no longer true.
        return PreservedAnalyses.none() if changed else PreservedAnalyses.all()


def _open_branches(function: Function) -> Iterator[Instruction]:
    for block in function.blocks:
        last = block.terminator
        if last.opcode == "br" and len(block.successors) == 2 and "prof" not in last.metadata:
            yield last


def _weights(probability: float) -> tuple[int, int]:
    """Weights of the two sides; none of them is 0, which LLVM takes for code that is never reached."""
    first = min(max(round(probability * SUM), 1), SUM - 1)
    return first, SUM - first
