# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-unroll`: a runner chooses the unroll factor of each innermost loop.

The pass writes the factor into the loop's metadata, so put it before LLVM's unroller and vectorizer:
``--at vectorizer-start=advised-unroll``. LLVM still decides whether the factor is possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.features.llvm.unroll import FACTORS, TABLE, observe
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.python.api import PreservedAnalyses, function_pass
from passpilot.passes.shipped.hints import add_hints, has_hint

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function

UNROLL: Final = DecisionPoint[int].of(TABLE, lambda _: FACTORS.index(0))
"""The decision: an index into `FACTORS`."""

_PREFIX: Final = "llvm.loop.unroll."


@function_pass("advised-unroll")
@dataclass(frozen=True)
class AdvisedUnroll:
    """Sets the unroll factor of inner loops as the runner of `advised-unroll` says; LLVM's own by default."""

    def run(self, function: Function) -> PreservedAnalyses:
        """Ask about each innermost loop for which the source does not set a factor."""
        asked = [loop for loop in function.loops if not (loop.subloops or has_hint(loop, _PREFIX))]
        choices = UNROLL.ask_all(map(observe, asked), asked)
        for loop, choice in zip(asked, choices, strict=True):
            if factor := FACTORS[choice]:
                add_hints(loop, _hint(factor))
        return PreservedAnalyses.cfg() if any(choices) else PreservedAnalyses.all()


def _hint(factor: int) -> tuple[object, ...]:
    return (f"{_PREFIX}disable",) if factor == 1 else (f"{_PREFIX}count", factor)
