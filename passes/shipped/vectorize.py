# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-vectorize`: a runner chooses vectorization factor and interleave count of each innermost loop.

The pass writes both into the loop's metadata, so put it before LLVM's vectorizer:
``--at vectorizer-start=advised-vectorize``. LLVM still decides whether they are possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.features.llvm.vectorize import TABLE, VECTOR_PLANS, observe
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.python.api import PreservedAnalyses, function_pass
from passpilot.passes.shipped.hints import add_hints, has_hint

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function

VECTORIZE: Final = DecisionPoint[int].of(TABLE, lambda _: VECTOR_PLANS.index((0, 0)))
"""The decision: an index into `VECTOR_PLANS`."""

_WIDTH: Final = "llvm.loop.vectorize.width"
_COUNT: Final = "llvm.loop.interleave.count"
_DECIDED: Final = ("llvm.loop.vectorize.", "llvm.loop.interleave.", "llvm.loop.isvectorized")


@function_pass("advised-vectorize")
@dataclass(frozen=True)
class AdvisedVectorize:
    """Sets how inner loops are vectorized as the runner of `advised-vectorize` says; as LLVM by default."""

    def run(self, function: Function) -> PreservedAnalyses:
        """Ask about each innermost loop that LLVM can vectorize and the source says nothing about."""
        if not VECTORIZE.is_asked:
            return PreservedAnalyses.all()
        open_loops = [loop for loop in function.loops if not (loop.subloops or has_hint(loop, _DECIDED))]
        asked = [(loop, known) for loop in open_loops if (known := loop.vectorization)]
        observed = [observe(loop, known) for loop, known in asked]
        choices = VECTORIZE.ask_all(observed, [loop for loop, _ in asked])
        for (loop, _), choice in zip(asked, choices, strict=True):
            width, count = VECTOR_PLANS[choice]
            if width:
                add_hints(loop, (_WIDTH, width), (_COUNT, count))
        return PreservedAnalyses.cfg() if any(choices) else PreservedAnalyses.all()
