# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ChangingGraph`: keeps a call graph up to date while the inliner replaces calls and erases functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter

    from passpilot.features.mlir.call_graph import CallGraph, CallGraphNode


class ChangingGraph:
    """Updates a call graph, and erases functions from the module."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph

    def recount(self, node: CallGraphNode) -> None:
        """Note that a function has changed, and update the uses of its callees."""
        if not node.mentions:
            node.changed()  # it mentions no symbols and never will
            return
        self._use(node.contents.references, -1)
        node.changed()
        self._use(node.contents.references, 1)

    def merge(self, callee: CallGraphNode, caller: CallGraphNode, *, moved: bool) -> None:
        """Note that the callee's body has replaced a call; if `moved`, the callee has lost its body."""
        references = callee.contents.references
        own = caller.contents.references
        own[callee.name] -= 1
        if references:
            own.update(references)
        # A single block goes into the call's block, and call and return disappear. Several blocks split that
        # block, and their returns become branches.
        straight = callee.is_straight
        caller.operations += callee.operations - (2 if straight else 1)
        caller.blocks += callee.blocks - straight
        caller.calls += callee.calls - 1
        caller.is_flat &= callee.is_flat
        caller.grown = True
        callee.uses -= 1
        if moved:
            self.erase(callee)
        elif references:
            self._use(references, 1)

    def erase(self, node: CallGraphNode) -> None:
        """Erase an unused function; as in MLIR's inliner, its callees keep these uses."""
        node.erased = True
        del self._graph.nodes[node.name]
        node.operation.erase()

    def _use(self, references: Counter[str], sign: int) -> None:
        for symbol, count in references.items():
            if target := self._graph.nodes.get(symbol):
                target.uses += sign * count
