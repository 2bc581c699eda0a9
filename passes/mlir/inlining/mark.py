# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decides on all calls first, marks the refused ones, and runs MLIR's own pass `inline`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from passpilot.features.mlir.call_graph import call_graphs
from passpilot.features.mlir.calls import NO_INLINE
from passpilot.features.mlir.contents import contents_of
from passpilot.passes.mlir.inlining.isolated import pass_manager
from passpilot.passes.mlir.inlining.legality import Legality
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from passpilot.features.mlir.call_graph import CallGraph, CallGraphNode
    from passpilot.features.mlir.contents import Call
    from passpilot.plugin.mlir.protocols import Operation

    Question = tuple[Call, CallGraphNode, CallGraphNode, CallGraph]
    AskAll = Callable[[Sequence[Question]], Sequence[bool]]
    """Decides on a list of (call, caller, callee, graph)."""


OURS: Final = "passpilot.no_inline"
"""The attribute of calls that we have marked, so that the program's own marks are kept."""


def mark_and_inline(root: Operation, pipeline: str, iterations: int, ask_all: AskAll) -> None:
    """Let MLIR's inliner inline the calls in and below `root` that `ask_all` accepts.

    If it refuses all calls, nothing is changed.

    Raises:
        InputError: MLIR cannot parse the pipeline.
    """
    options = f"default-pipeline={pipeline} max-iterations={iterations}"
    inliner = pass_manager(f"{root.name}(inline{{{options}}})", root.context)
    questions = [question for graph in call_graphs(root) for question in _questions(graph)]
    for name in {callee.kind.function for _, _, callee, _ in questions if pipeline}:
        pass_manager(f"{name}({pipeline})", root.context)  # MLIR's pass would ignore an error
    answers = ask_all(questions)
    refused = [call.operation for (call, *_), answer in zip(questions, answers, strict=True) if not answer]
    if refused and not any(answers):
        return
    try:
        _mark(refused)
        inliner.run(root)
    finally:
        if refused:
            _unmark(call.operation for call in contents_of(root).calls)


def _questions(graph: CallGraph) -> Iterator[Question]:
    """The calls that MLIR's inliner may inline, callees before callers."""
    legality = Legality()
    for component in graph.components():
        for caller in component:
            for call in caller.contents.calls:
                callee = graph.target(call)
                if callee and _is_open(caller, callee) and legality.allows(call, caller, callee):
                    yield call, caller, callee, graph


def _is_open(caller: CallGraphNode, callee: CallGraphNode) -> bool:
    recursive = callee is caller or callee in callee.targets or caller in callee.targets
    return callee.kind.upstream and not recursive


def _mark(calls: Sequence[Operation]) -> None:
    for call in calls:
        call.attributes[NO_INLINE] = call.attributes[OURS] = bindings().ir.UnitAttr.get(call.context)


def _unmark(calls: Iterable[Operation]) -> None:
    for call in calls:
        if OURS in call.attributes:
            del call.attributes[NO_INLINE], call.attributes[OURS]
