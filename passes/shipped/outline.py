# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-outliner` and `advised-outline`: what LLVM's machine outliner makes functions of.

The outliner works at the end of code generation, and leaves functions with the attribute ``nooutline`` alone.
Both passes run when code generation begins, in `passpilot.emit`, `passpilot llc`, stock llc and clang, if
their points are advised; no pipeline needs to name them. If `advised-outliner` is advised, the outliner
always runs, and the attributes are all that decides. `advised-outline` may also run in a pipeline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.features.llvm.outline import (
    MODULE_TABLE,
    RUNS,
    TABLE,
    Repeats,
    observe,
    observe_module,
    outlines_by_default,
)
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.python.api import module_pass
from passpilot.plugin.errors import UsageError
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function
    from passpilot.plugin.module import Module

OUTLINER: Final = DecisionPoint[int].of(MODULE_TABLE, lambda _: RUNS.index("as the target"))
"""The decision about a module: an index into `RUNS`."""

OUTLINE: Final = DecisionPoint[bool].of(TABLE, lambda _: True)
"""The decision about a function: whether the outliner may take from it."""

_CLOSED: Final = "nooutline" if MAJOR >= 23 else '"nooutline"'
"""As the text of an attribute: before LLVM 23 it was a string, and strings are quoted."""


@module_pass("advised-outliner", required=True)
@dataclass(frozen=True)
class AdvisedOutliner:
    """Lets LLVM's machine outliner run as the runner of `advised-outliner` says; as the target by default."""

    codegen: bool = False

    def run(self, module: Module) -> bool:
        """Ask about the module, and close the functions that the outliner must leave alone."""
        if not self.codegen:
            where = "passpilot llc, passpilot.emit or a stock tool that is told to advise it"
            raise UsageError(f"a pipeline cannot run it; run it at code generation, in {where}")
        functions = [function for function in module.functions if not function.is_declaration]
        values = observe_module(functions, module.triple, Repeats(functions)) if OUTLINER.is_asked else {}
        choice = RUNS[OUTLINER.ask(values, module.source_file)] if OUTLINER.is_asked else RUNS[0]
        if choice == "as the target":
            functions = [f for f in functions if not outlines_by_default(f, module.triple)]
        return choice != "everywhere" and _close(functions)


@module_pass("advised-outline", required=True)
@dataclass(frozen=True)
class AdvisedOutline:
    """Closes functions to the machine outliner as the runner of `advised-outline` says; none by default."""

    def run(self, module: Module) -> bool:
        if not OUTLINE.is_asked:
            return False
        functions = [function for function in module.functions if not function.is_declaration]
        asked = [function for function in functions if _CLOSED not in function.attributes]
        repeats, calls = Repeats(functions), _call_sites(functions)
        observed = [observe(function, calls.get(function, 0), module.triple, repeats) for function in asked]
        answers = OUTLINE.ask_all(observed, asked)
        return _close(function for function, open_ in zip(asked, answers, strict=True) if not open_)


def _close(functions: Iterable[Function]) -> bool:
    """Close functions to the outliner; returns whether any was open."""
    changed = False
    for function in functions:
        if _CLOSED not in function.attributes:
            function.add_attribute(_CLOSED)
            changed = True
    return changed


def _call_sites(functions: Iterable[Function]) -> Mapping[Function, int]:
    return Counter(
        call.callee for function in functions for call in function.call_sites if call.callee is not None
    )
