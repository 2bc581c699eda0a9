# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The call graph of an MLIR module, with the counted contents of its functions.

As in MLIR's own inliner, functions are ordered callees first, and some can be dropped once nothing uses them.
The graph only reads: `passes/mlir/inlining/graph.py` changes the module and the graph.

Source: mlir/lib/Analysis/CallGraph.cpp and mlir/lib/Transforms/Utils/Inliner.cpp.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from passpilot.features.mlir.calls import NO_INLINE, call_kinds
from passpilot.features.mlir.contents import contents_of, mentions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from passpilot.features.mlir.calls import CallKind
    from passpilot.features.mlir.contents import Call, Contents
    from passpilot.plugin.mlir.protocols import Block, Operation


class CallGraphNode:
    """A function: its `name`, `operation`, callees and contents."""

    __slots__ = (
        "_contents",
        "_references",
        "blocks",
        "calls",
        "component_size",
        "discardable",
        "erased",
        "grown",
        "height",
        "is_flat",
        "kind",
        "name",
        "operation",
        "operations",
        "refuses",
        "targets",
        "uses",
    )

    def __init__(self, operation: Operation, kind: CallKind, *, discardable: bool) -> None:
        self.operation = operation
        self.kind = kind
        self.name = operation.attributes["sym_name"].value
        self.discardable = discardable
        self.refuses = NO_INLINE in operation.attributes
        """Whether the function must not be inlined."""
        self.erased = False
        self.grown = False
        """Whether bodies have been inlined into it since it was counted."""
        self.uses = 0
        """How often functions mention its symbol."""
        self.targets: dict[CallGraphNode, None] = {}
        """Its callees when the graph was built."""
        self.height = 0
        self.component_size = 1
        self.operations = 0
        """The present number of operations; each inlined call adds the count of the callee."""
        self.blocks = 0
        self.calls = 0
        self.is_flat = False
        """Whether all its calls are known to be directly in its body region."""
        self._contents: Contents | None = None
        self._references = Counter[str]()

    @property
    def contents(self) -> Contents:
        """The contents of the function; counted again after `changed`."""
        if self._contents is None:
            self._contents = contents_of(self.operation)
            self._contents.is_straight &= self.kind.terminator in self._contents.names
            self._references = self._contents.references
            self.operations, self.blocks = self._contents.operations, self._contents.blocks
            self.calls = len(self._contents.calls)
            self.is_flat = self._contents.depth == 1
        return self._contents

    @property
    def is_straight(self) -> bool:
        """Whether its body is a single block that returns."""
        return (self._contents or self.contents).is_straight

    @property
    def is_dead(self) -> bool:
        """Whether nothing uses it and nothing outside can."""
        return self.discardable and self.uses == 0 and not self.erased

    @property
    def mentions(self) -> bool:
        """Whether it mentions any symbol; if not, inlining cannot make it do so."""
        return any(self._references.values())

    def changed(self) -> None:
        """Discard the counts after the function has changed."""
        self._contents = None
        self.grown = False


class CallGraph:
    """The functions of a module that have a body, by name, with their callees.

    A nested module has its own graph: see `call_graphs`.
    """

    def __init__(self, container: Operation, *, all_uses_visible: bool) -> None:
        self.nodes: dict[str, CallGraphNode] = {}
        self.children = list(_children(container))
        """The operations directly in the container, with their blocks, when the graph was built."""
        others: list[Operation] = []
        kinds = {kind.function: kind for kind in call_kinds()}
        hidden = ("private", "nested") if all_uses_visible else ("private",)
        for _, operation in self.children:
            kind = kinds.get(operation.name)
            if kind and len(operation.regions[0].blocks):
                node = CallGraphNode(operation, kind, discardable=_visibility(operation) in hidden)
                self.nodes[node.name] = node
            else:
                others.append(operation)
        self._count_uses(others)
        self._components = list(_components(self.nodes.values()))

    def _count_uses(self, others: Iterable[Operation]) -> None:
        for node in self.nodes.values():
            for symbol, count in node.contents.references.items():
                if target := self.nodes.get(symbol):
                    target.uses += count
            for call in node.contents.calls_in_text:
                if target := self.target(call):
                    node.targets[target] = None
        for symbol in self._used_elsewhere(others):
            if target := self.nodes.get(symbol):
                target.discardable = False

    def _used_elsewhere(self, others: Iterable[Operation]) -> Counter[str]:
        """The symbols that are mentioned outside the bodies of functions."""
        elsewhere = Counter[str]()
        for other in others:
            elsewhere.update(mentions_of(other, inside=True))
        for node in self.nodes.values():
            elsewhere.update(mentions_of(node.operation, inside=False))
        return elsewhere

    def target(self, call: Call) -> CallGraphNode | None:
        """The callee of a call; None if it has no body in this graph."""
        node = self.nodes.get(call.symbol) if call.symbol is not None else None
        return node if node is not None and node.kind.function == call.kind.function else None

    def components(self) -> Iterator[list[CallGraphNode]]:
        """The strongly connected components, callees before callers."""
        yield from self._components


def call_graphs(root: Operation) -> Iterator[CallGraph]:
    """A graph for each operation in and below `root` that directly contains functions; inner ones first."""
    functions = {kind.function for kind in call_kinds()}
    inner = [operation for _, operation in _children(root)]
    for operation in inner:
        if operation.name not in functions and len(operation.regions):
            yield from call_graphs(operation)
    if any(operation.name in functions for operation in inner):
        yield CallGraph(root, all_uses_visible=root.parent is None)


def _children(operation: Operation) -> Iterator[tuple[Block, Operation]]:
    for region in operation.regions:
        for block in region:
            for view in block.operations:
                yield block, view.operation


def _visibility(operation: Operation) -> str:
    attributes = operation.attributes
    return attributes["sym_visibility"].value if "sym_visibility" in attributes else "public"


def _components(nodes: Iterable[CallGraphNode]) -> Iterator[list[CallGraphNode]]:
    """The strongly connected components, by Tarjan's algorithm without recursion; sets heights and sizes."""
    order: dict[CallGraphNode, int] = {}
    lowest: dict[CallGraphNode, int] = {}
    pending: list[CallGraphNode] = []
    done: set[CallGraphNode] = set()
    for root in nodes:
        if root in order:
            continue
        path = [(root, iter(root.targets))]
        while path:
            node, rest = path[-1]
            if node not in order:
                order[node] = lowest[node] = len(order)
                pending.append(node)
            for target in rest:
                if target not in order:
                    path.append((target, iter(target.targets)))
                    break
                if target not in done:
                    lowest[node] = min(lowest[node], order[target])
            else:
                path.pop()
                if path:
                    caller = path[-1][0]
                    lowest[caller] = min(lowest[caller], lowest[node])
                if lowest[node] == order[node]:
                    yield _component(node, pending, done)


def _component(
    first: CallGraphNode, pending: list[CallGraphNode], done: set[CallGraphNode]
) -> list[CallGraphNode]:
    """Pops the component whose first visited function is `first`, last visited first."""
    component = [pending.pop()]
    while component[-1] is not first:
        component.append(pending.pop())
    below = [target.height + 1 for node in component for target in node.targets if target in done]
    for node in component:
        node.height, node.component_size = max(below, default=0), len(component)
    done.update(component)
    return component
