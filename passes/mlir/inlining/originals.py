# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Originals`: undoes the simplification of functions if the runner refuses all calls.

A function is copied before its first change. After the first inlined call nothing is copied any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from passpilot.features.mlir.call_graph import CallGraph, CallGraphNode
    from passpilot.plugin.mlir.protocols import Operation


class Originals:
    """The functions as they were, as long as no call has been inlined."""

    def __init__(self) -> None:
        self._copies: dict[CallGraphNode, Operation] = {}
        self._refused = self._accepted = False

    def note(self, answer: bool) -> None:
        """Note the answer to a question; call it before the call is inlined."""
        self._refused |= not answer
        self._accepted |= answer
        if answer:
            self._copies.clear()

    def keep(self, node: CallGraphNode) -> None:
        """Note that a function is about to change."""
        if not self._accepted and node not in self._copies:
            self._copies[node] = node.operation.clone(ip=False).operation

    def restore(self, graphs: Iterable[CallGraph]) -> None:
        """Put the functions of the graphs back if there were answers and all were no."""
        if self._accepted or not self._refused:
            return
        changed = {id(node.operation): node for node in self._copies}
        for block, child in (pair for graph in graphs for pair in graph.children):
            node = changed.get(id(child))
            if node is not None and not node.erased:
                child.erase()
            block.append(child if node is None else self._copies[node])
