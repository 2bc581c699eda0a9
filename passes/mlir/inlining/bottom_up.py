# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MLIR's inliner in Python: callees before callers, every decision on the present IR.

It visits, inlines and erases like MLIR's own pass ``inline``: it simplifies the functions of a component,
then looks at their calls, including those from inlined bodies, and repeats this until nothing is inlined any
more, four times by default. If all decisions are no, the module stays unchanged.

Source: mlir/lib/Transforms/Utils/Inliner.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.features.mlir.call_graph import call_graphs
from passpilot.features.mlir.contents import contents_of
from passpilot.passes.mlir.inlining.graph import ChangingGraph
from passpilot.passes.mlir.inlining.isolated import inline_in_place, pass_manager
from passpilot.passes.mlir.inlining.legality import Legality
from passpilot.passes.mlir.inlining.originals import Originals
from passpilot.passes.mlir.inlining.splice import replace_call

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from passpilot.features.mlir.call_graph import CallGraph, CallGraphNode
    from passpilot.features.mlir.contents import Call
    from passpilot.plugin.mlir.protocols import Operation, PassManager

    Ask = Callable[[Call, CallGraphNode, CallGraphNode, CallGraph], bool]
    """Decides on (call, caller, callee, graph)."""

ITERATIONS: Final = 4
"""How often a component is simplified and its calls are visited, at most; the default, as in MLIR."""


class _Question(NamedTuple):
    call: Call
    caller: CallGraphNode
    callee: CallGraphNode
    history: _History | None


class _History(NamedTuple):
    """The inline history of a call, innermost first."""

    inlined: CallGraphNode
    before: _History | None


def inline_bottom_up(root: Operation, pipeline: str, iterations: int, ask: Ask) -> None:
    """Inline the calls in and below `root` that `ask` says yes to.

    Args:
        root: a module.
        pipeline: the passes that simplify a function, such as ``canonicalize``; may be empty.
        iterations: how often a component is simplified and visited at most; 0 is 1, as in MLIR.
        ask: decides whether to inline a call.

    Raises:
        InputError: the passes cannot be parsed.
    """
    originals = Originals()
    simplify = _Simplifier(pipeline, originals)
    graphs: list[CallGraph] = []
    for graph in call_graphs(root):
        graphs.append(graph)
        inliner = _Inliner(graph, simplify, ask, originals)
        for component in graph.components():
            inliner.run(component, max(iterations, 1))
    originals.restore(graphs)


class _Simplifier:
    """Runs a pipeline on single functions."""

    def __init__(self, pipeline: str, originals: Originals) -> None:
        self._pipeline = pipeline
        self._originals = originals
        self._managers: dict[str, PassManager] = {}

    def __call__(self, node: CallGraphNode) -> bool:
        """Simplify a function, unless the pipeline is empty; returns whether it may have changed."""
        name, context = node.kind.function, node.operation.context
        if not (self._pipeline and context.is_registered_operation(name)):
            return False
        if name not in self._managers:
            self._managers[name] = pass_manager(f"{name}({self._pipeline})", context)
        self._originals.keep(node)
        self._managers[name].run(node.operation)
        return True


class _Inliner:
    """Inlines the calls of one call graph."""

    def __init__(
        self,
        graph: CallGraph,
        simplify: Callable[[CallGraphNode], bool],
        ask: Ask,
        originals: Originals,
    ) -> None:
        self._graph = graph
        self._changing = ChangingGraph(graph)
        self._simplify = simplify
        self._ask = ask
        self._originals = originals
        self._legality = Legality()

    def run(self, component: Sequence[CallGraphNode], iterations: int) -> None:
        """Simplify the functions of a component and inline their calls, until nothing is inlined."""
        for _ in range(iterations):
            for node in component:
                if not node.erased and (self._simplify(node) or node.grown):
                    self._changing.recount(node)
            if not self._inline_calls(component):
                return

    def _inline_calls(self, component: Sequence[CallGraphNode]) -> bool:
        """Visit each call once, including calls of inlined bodies; returns whether any was inlined."""
        questions: list[_Question] = []
        for node in component:
            if node.is_dead:
                self._originals.keep(node)
                self._changing.erase(node)
            elif not node.erased and node.mentions:
                questions += self._questions(node, node.contents.calls, None)
        inlined = False
        for question in questions:  # grows during the loop
            if not question.caller.erased and self._is_wanted(question):
                questions += self._inline(question)
                inlined = True
        return inlined

    def _questions(
        self, caller: CallGraphNode, calls: Sequence[Call], history: _History | None
    ) -> Iterator[_Question]:
        for call in calls:
            if callee := self._graph.target(call):
                yield _Question(call, caller, callee, history)

    def _is_wanted(self, question: _Question) -> bool:
        call, caller, callee, history = question
        if callee.erased or callee in callee.targets or caller in callee.targets:
            return False
        while history is not None:
            if history.inlined is callee:
                return False
            history = history.before
        if callee.grown:  # it is in the same component
            self._changing.recount(callee)
        if callee is caller or not self._legality.allows(call, caller, callee):
            return False
        answer = self._ask(call, caller, callee, self._graph)
        self._originals.note(answer)
        return answer

    def _inline(self, question: _Question) -> Iterator[_Question]:
        """Replace a call by its callee's body; returns the calls in the body."""
        call, caller, callee, history = question
        last = callee.discardable and callee.uses == 1
        if callee.kind.by_mlir:
            inner = inline_in_place(call.operation, caller, callee)
        else:
            inner = self._splice(call.operation, callee, last=last)
        self._changing.merge(callee, caller, moved=last)
        if callee.kind.by_mlir:  # MLIR may have added operations of its own
            self._changing.recount(caller)
        return self._questions(caller, inner, _History(callee, history))

    def _splice(self, call: Operation, callee: CallGraphNode, *, last: bool) -> Sequence[Call]:
        """Replace a call by a copy of its callee's body, or by the body itself if this is the last call."""
        body = callee.operation if last else callee.operation.clone(ip=False).operation
        inner = contents_of(body).calls if callee.contents.calls else []
        replace_call(call, callee.kind, body, straight=callee.is_straight)
        return inner
