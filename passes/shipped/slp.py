# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-slp`: a runner chooses the functions in which LLVM vectorizes straight-line code.

Where the answer is no, LLVM skips its SLP vectorizer, so put the pass before it:
``--at vectorizer-start=advised-slp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.features.llvm.slp import TABLE, observe
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.python.api import PreservedAnalyses, function_pass

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function

SLP: Final = DecisionPoint[bool].of(TABLE, lambda _: True)
"""The decision: whether LLVM may vectorize straight-line code in a function."""

_VECTORIZER: Final = "slp-vectorizer"


@function_pass("advised-slp")
@dataclass(frozen=True)
class AdvisedSLP:
    """Lets LLVM's SLP vectorizer skip functions as the runner of `advised-slp` says; none by default."""

    def run(self, function: Function) -> PreservedAnalyses:
        if SLP.is_asked and not SLP.ask(observe(function), function):
            function.skip(_VECTORIZER)
        return PreservedAnalyses.all()
