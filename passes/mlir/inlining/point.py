# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mlir-inline`: the decision point at which a runner chooses the calls that MLIR inlines.

Two engines use it. ``bottom-up`` is MLIR's inliner in Python; it decides on the present IR. ``mark-and-run``
decides on all calls first and then runs MLIR's own inliner.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from passpilot.features.mlir.inline import FEATURES, TABLE, CallSite, observe
from passpilot.passes.asking import ASKED
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir.inlining.bottom_up import ITERATIONS, inline_bottom_up
from passpilot.passes.mlir.inlining.mark import mark_and_inline
from passpilot.passes.point_advisor import PointAdvisor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.features.mlir.call_graph import CallGraph, CallGraphNode
    from passpilot.features.mlir.contents import Call
    from passpilot.passes.advisor import Advisor
    from passpilot.passes.mlir.inlining.bottom_up import Ask
    from passpilot.passes.mlir.inlining.mark import Question
    from passpilot.plugin.mlir.protocols import Operation

_UNREAD: Final = {row.spec.name: 0 for row in FEATURES}
"""The values for an advisor that does not read them."""

Engine = Literal["bottom-up", "mark-and-run"]

MLIR_INLINE: Final = DecisionPoint[bool].of(TABLE, lambda _: True)
"""The decision: whether to inline a call. By default, yes, as in MLIR's inliner."""


def inline(
    root: Operation,
    *,
    engine: Engine = "bottom-up",
    pipeline: str = "canonicalize",
    max_iterations: int = ITERATIONS,
) -> None:
    """Inline calls in a module as the advisor of `mlir-inline` advises; without one, as MLIR itself does.

    Args:
        root: a module.
        engine: the implementation, see the module's docstring.
        pipeline: the passes that simplify each function before its calls are visited; may be empty.
        max_iterations: how often functions that call each other are simplified and visited.

    Raises:
        InputError: MLIR cannot parse the pipeline.
        Error: the advisor failed.
    """
    advisor = ASKED.get().get(MLIR_INLINE.name)
    if engine == "bottom-up":
        inline_bottom_up(root, pipeline, max_iterations, _ask_one(advisor))
    else:
        mark_and_inline(root, pipeline, max_iterations, partial(_ask_all, advisor))


def _ask_one(advisor: Advisor | None) -> Ask:
    """A function that asks the advisor about a call."""
    if advisor is None:
        return lambda *_: True
    reads = _reads(advisor)

    def ask(call: Call, caller: CallGraphNode, callee: CallGraphNode, graph: CallGraph) -> bool:
        site = CallSite(call, caller, callee)
        try:
            return MLIR_INLINE.ask(observe(call, caller, callee, graph) if reads else _UNREAD, site)
        finally:
            site.end()

    return ask


def _ask_all(advisor: Advisor | None, questions: Sequence[Question]) -> Sequence[bool]:
    if advisor is None:
        return [True] * len(questions)
    sites = [CallSite(call, caller, callee) for call, caller, callee, _ in questions]
    try:
        reads = _reads(advisor)
        values = [observe(*question) if reads else _UNREAD for question in questions]
        return MLIR_INLINE.ask_all(values, sites)
    finally:
        for site in sites:
            site.end()


def _reads(advisor: Advisor) -> bool:
    """Whether the advisor's runner or log reads the features."""
    return not isinstance(advisor, PointAdvisor) or advisor.reads
