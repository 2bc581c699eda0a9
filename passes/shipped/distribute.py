# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-distribute`: a runner chooses the innermost loops that LLVM splits into several.

LLVM isolates the part of a loop that cannot be vectorized, so that the rest can. It does so only where the
loop's metadata ask for it, and LLVM's own legality check allows it: put the pass before it, as in
``--at vectorizer-start=advised-distribute``. LLVM chooses the parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.features.llvm.distribute import TABLE, observe
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.python.api import PreservedAnalyses, function_pass
from passpilot.passes.shipped.hints import add_hints, has_hint

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function, Loop

DISTRIBUTE: Final = DecisionPoint[bool].of(TABLE, lambda _: False)
"""The decision: whether LLVM distributes a loop."""

_PREFIX: Final = "llvm.loop.distribute."


@function_pass("advised-distribute")
@dataclass(frozen=True)
class AdvisedDistribute:
    """Lets LLVM distribute inner loops as the runner of `advised-distribute` says; none by default."""

    def run(self, function: Function) -> PreservedAnalyses:
        """Ask about each innermost loop that LLVM can distribute and the source says nothing about."""
        if not DISTRIBUTE.is_asked:
            return PreservedAnalyses.all()
        open_loops = [loop for loop in function.loops if not (loop.subloops or has_hint(loop, _PREFIX))]
        asked = [(loop, known) for loop in open_loops if (known := loop.distribution)]
        observed = [observe(loop, known) for loop, known in asked]
        choices = DISTRIBUTE.ask_all(observed, [loop for loop, _ in asked])
        for (loop, _), distributes in zip(asked, choices, strict=True):
            if distributes:
                _distribute(loop)
        return PreservedAnalyses.cfg() if any(choices) else PreservedAnalyses.all()


def _distribute(loop: Loop) -> None:
    """Add the hint. Each part gets the other hints of the loop, and not this one: LLVM would warn of it."""
    others = tuple(hint for hint in loop.metadata or () if hint is not ...)
    add_hints(loop, (f"{_PREFIX}enable", True), (f"{_PREFIX}followup_all", *others))
