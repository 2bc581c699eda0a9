# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-pipeline` and `advised-function-pipeline`: a runner chooses the pipelines to run on a unit.

Put them after LLVM's own pipeline, as in ``default<Oz>,advised-pipeline``; they look for what it has left.
`advised-pipeline` may also run before it, as in ``--at pipeline-start=advised-pipeline``: some of its choices
are LLVM's pipelines of other levels. Without a runner they change nothing. Use `Phases` for a table and an
embedding of your own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from passpilot.features.llvm.phases import (
    FUNCTION_LIMITS,
    FUNCTION_PIPELINES,
    FUNCTION_TABLE,
    MODULE_LIMITS,
    MODULE_PIPELINES,
    MODULE_TABLE,
    count_opcodes,
)
from passpilot.passes.python.api import function_pass, module_pass
from passpilot.passes.shipped.phases import Phases
from passpilot.plugin.ir import Function, ModuleIR

MODULE: Final = Phases.of(MODULE_TABLE, MODULE_PIPELINES, count_opcodes, MODULE_LIMITS)
FUNCTION: Final = Phases.of(FUNCTION_TABLE, FUNCTION_PIPELINES, count_opcodes, FUNCTION_LIMITS)


@module_pass("advised-pipeline")
@dataclass(frozen=True)
class AdvisedPipeline:
    """Runs pipelines on the module as the runner of `advised-pipeline` picks them; none by default."""

    budget: int = 12

    def __post_init__(self) -> None:
        _check(self.budget)

    def run(self, module: ModuleIR) -> bool:
        """Run at most `budget` of them."""
        return MODULE.run(module, self.budget)


@function_pass("advised-function-pipeline")
@dataclass(frozen=True)
class AdvisedFunctionPipeline:
    """Runs pipelines on each function as the runner of `advised-function-pipeline` picks; none by default."""

    budget: int = 6

    def __post_init__(self) -> None:
        _check(self.budget)

    def run(self, function: Function) -> bool:
        """Run at most `budget` of them."""
        return FUNCTION.run(function, self.budget)


def _check(budget: int) -> None:
    if budget < 0:
        raise ValueError(f"expected a budget of 0 or more pipelines, got {budget}")
