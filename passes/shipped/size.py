# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-size`: a runner chooses the functions to compile for size.

Most functions of a program hardly ever run. The pass gives them the attribute `optsize` or `minsize`, which
LLVM's inliner, loop passes and code generator heed. So put it before them:
``--at pipeline-early-simplification=advised-size``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.features.llvm.size import GOALS, TABLE, calls_by_callee, observe
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.python.api import module_pass

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function
    from passpilot.plugin.module import Module

SIZE: Final = DecisionPoint[int].of(TABLE, lambda _: GOALS.index(""))
"""The decision: an index into `GOALS`."""


@module_pass("advised-size")
@dataclass(frozen=True)
class AdvisedSize:
    """Makes functions optsize or minsize as the runner of `advised-size` advises; none by default."""

    def run(self, module: Module) -> bool:
        """Ask about each function that has a body and is not minsize or optnone."""
        calls = calls_by_callee(module.functions)
        asked = [function for function in module.functions if _is_open(function)]
        observed = [observe(function, calls.get(function, ())) for function in asked]
        advice = SIZE.ask_all(observed, asked)
        for function, choice in zip(asked, advice, strict=True):
            if goal := GOALS[choice]:
                function.add_attribute(goal)
        return any(advice)


def _is_open(function: Function) -> bool:
    return not function.is_declaration and not {"minsize", "optnone"} & set(function.attributes)
