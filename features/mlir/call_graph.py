# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The call graph of an MLIR module, with what has been counted in its functions.

Calls are operations that name their callee by a symbol: ``func.call`` of a ``func.func``, ``llvm.call`` of an
``llvm.func``, and those that `register_call` adds. Who can be dropped once nobody uses it, and the order of
functions, callees first, are as MLIR's own inliner has them.

Source: mlir/lib/Analysis/CallGraph.cpp and mlir/lib/Transforms/Utils/Inliner.cpp for both.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from passpilot.plugin import _core
from passpilot.plugin.errors import RegistrationError
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from passpilot.plugin.mlir.protocols import Attribute, Operation


@dataclass(frozen=True, slots=True)
class CallKind:
    """The operations of one dialect that call, that are called, and that end what is called."""

    call: str
    callee: str
    """The attribute of the call that has the callee's symbol."""
    function: str
    terminator: str
    upstream: bool = False
    """Whether MLIR's own inliner knows them, and says what is legal; else registration is the word for it."""
    by_mlir: bool = False
    """Whether inlining is more than putting the body in the place of the call, and so left to MLIR."""


_KINDS: Final = {
    "func.call": CallKind("func.call", "callee", "func.func", "func.return", upstream=True),
    "llvm.call": CallKind("llvm.call", "callee", "llvm.func", "llvm.return", upstream=True, by_mlir=True),
}

LOOPS: Final = frozenset(
    ("scf.for", "scf.while", "scf.parallel", "scf.forall", "affine.for", "affine.parallel")
)
"""Operations whose regions may run several times."""

NO_INLINE: Final = "no_inline"
"""The attribute by which functions and calls of upstream's dialects refuse to be inlined."""

_FLAT: Final = ("arith", "math", "cf", "complex", "index")
"""Dialects whose operations have no regions and refer to no symbols."""


def register_call(call: str, *, function: str, terminator: str, callee: str = "callee") -> None:
    """Let `mlir-inline` decide on calls of another dialect, such as ``toy.generic_call`` of a ``toy.func``.

    Args:
        call: the operation that calls; its operands are the arguments.
        function: the operation with one region that is called, with a ``sym_name``.
        terminator: the operation that ends a block of it; its operands are the results of the call.
        callee: the attribute of the call that has the symbol.

    Raises:
        RegistrationError: the calling operation is known already.
    """
    if call in _KINDS:
        raise RegistrationError(f"call {call!r}: expected an operation of its own, got one that is known")
    _KINDS[call] = CallKind(call, callee, function, terminator)


def unregister_call(call: str) -> None:
    """Take a registered call back; for notebooks and tests.

    Raises:
        RegistrationError: it has not been registered.
    """
    if call not in _KINDS or _KINDS[call].upstream:
        raise RegistrationError(f"call {call!r}: expected one that was registered, got none of this name")
    del _KINDS[call]


class Call:
    """A call, as it was when its function was counted."""

    __slots__ = ("_capsule", "_operation", "kind", "refuses", "symbol")

    def __init__(self, capsule: object, symbol: str | None, kind: CallKind, refuses: bool) -> None:
        self._capsule = capsule
        self._operation: Operation | None = None
        self.symbol = symbol
        """The callee's; None for an indirect call."""
        self.kind = kind
        self.refuses = refuses
        """Whether it is not to be inlined."""

    @property
    def operation(self) -> Operation:
        """The calling operation."""
        if self._operation is None:
            self._operation = bindings().ir.Operation._CAPICreate(self._capsule)
        return self._operation


@dataclass(slots=True)
class Contents:
    """What there is in the body of a function."""

    names: Counter[str] = field(default_factory=Counter)
    """How many operations there are of each name."""
    blocks: int = 0
    is_straight: bool = False
    """Whether the body itself is one block, which returns."""
    depth: int = 1
    """Of regions within each other."""
    calls: list[Call] = field(default_factory=list)
    """In the order of MLIR's inliner: last block first, regions after the block around."""
    calls_in_text: list[Call] = field(default_factory=list)
    """The same, in the order of the text."""
    references: Counter[str] = field(default_factory=Counter)
    """How often each symbol is mentioned, in calls and elsewhere."""
    places: dict[str, bool] = field(default_factory=dict)
    """Whether MLIR puts the body into an operation of a name, where it has said so for good."""
    row: Mapping[str, object] | None = None
    """The features that follow from it, once somebody has asked."""

    @property
    def operations(self) -> int:
        """How many operations there are."""
        return self.names.total()


class CallGraphNode:
    """A function: `name`, `operation`, who it calls, and what is in it."""

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
        """Whether it is not to be inlined."""
        self.erased = False
        self.grown = False
        """Whether bodies have come into it since it was counted."""
        self.uses = 0
        """How often its symbol is mentioned in functions."""
        self.targets: dict[CallGraphNode, None] = {}
        """Who it calls, when the graph is built."""
        self.height = 0
        self.component_size = 1
        self.operations = 0
        """How many there are now; after an inlined call, by what was counted in the callee."""
        self.blocks = 0
        self.calls = 0
        self.is_flat = False
        """Whether its calls are known to be in no region but its own."""
        self._contents: Contents | None = None
        self._references = Counter[str]()

    @property
    def contents(self) -> Contents:
        """What is in it, counted again where that has changed."""
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
        """Whether its body is one block, which returns."""
        return (self._contents or self.contents).is_straight

    @property
    def is_dead(self) -> bool:
        """Whether nobody uses it, nor can from elsewhere."""
        return self.discardable and self.uses == 0 and not self.erased

    @property
    def mentions(self) -> bool:
        """Whether it uses any symbol; what does not never will."""
        return any(self._references.values())

    def changed(self) -> None:
        """Forget what has been counted."""
        self._contents = None
        self.grown = False


class CallGraph:
    """The functions of a module that have a body, by name, and whom each calls.

    Functions of nested modules have graphs of their own: see `call_graphs`.
    """

    def __init__(self, container: Operation, *, all_uses_visible: bool) -> None:
        self.nodes: dict[str, CallGraphNode] = {}
        others: list[Operation] = []
        kinds = {kind.function: kind for kind in _KINDS.values()}
        hidden = ("private", "nested") if all_uses_visible else ("private",)
        for operation in _children(container):
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
        """The symbols that are mentioned outside of the bodies of functions."""
        elsewhere = Counter[str]()
        for other in others:
            elsewhere += contents_of(other).references
        for operation in (*others, *(node.operation for node in self.nodes.values())):
            for attribute in operation.attributes.values():
                _refer(attribute, elsewhere)
        return elsewhere

    def target(self, call: Call) -> CallGraphNode | None:
        """The function that a call means; None if it has no body here."""
        node = self.nodes.get(call.symbol) if call.symbol is not None else None
        return node if node is not None and node.kind.function == call.kind.function else None

    def components(self) -> Iterator[list[CallGraphNode]]:
        """The functions that call each other, together; callees before their callers."""
        yield from self._components

    def recount(self, node: CallGraphNode) -> None:
        """Note that a function has changed, and whom it uses now."""
        if not node.mentions:
            node.changed()  # it uses nobody, and will not begin to
            return
        self._use(node.contents.references, -1)
        node.changed()
        self._use(node.contents.references, 1)

    def merge(self, callee: CallGraphNode, caller: CallGraphNode, *, moved: bool) -> None:
        """Note that a call has been replaced by its callee's body, which is lost to the callee if `moved`."""
        references = callee.contents.references
        own = caller.contents.references
        own[callee.name] -= 1
        if references:
            own.update(references)
        # The call and what returns are gone, or have become branches to and from the body.
        straight = callee.is_straight
        caller.operations += callee.operations - 2 * straight
        caller.blocks += callee.blocks + (-1 if straight else 1)
        caller.calls += callee.calls - 1
        caller.is_flat &= callee.is_flat
        caller.grown = True
        callee.uses -= 1
        if moved:
            self.erase(callee)
        elif references:
            self._use(references, 1)

    def erase(self, node: CallGraphNode) -> None:
        """Erase a function that nobody uses; whom it uses keeps that use, as in MLIR's own inliner."""
        node.erased = True
        del self.nodes[node.name]
        node.operation.erase()

    def _use(self, references: Counter[str], sign: int) -> None:
        for symbol, count in references.items():
            if target := self.nodes.get(symbol):
                target.uses += sign * count


def call_graphs(root: Operation) -> Iterator[CallGraph]:
    """A graph of each operation in and below `root` that has functions with a body directly in it."""
    functions = {kind.function for kind in _KINDS.values()}
    inner = list(_children(root))
    for operation in inner:
        if operation.name not in functions and len(operation.regions):
            yield from call_graphs(operation)
    if any(operation.name in functions for operation in inner):
        yield CallGraph(root, all_uses_visible=root.parent is None)


def contents_of(operation: Operation) -> Contents:
    """What there is in an operation."""
    kinds = list(_KINDS.values())
    calling = [(kind.call, kind.callee) for kind in kinds]
    counted = _api().count(operation._CAPIPtr, calling, _FLAT)
    names, blocks, own_blocks, depth, references, found, order = counted
    calls = [Call(capsule, symbol, kinds[kind], refuses) for capsule, kind, symbol, refuses in found]
    return Contents(
        names=Counter(names),
        blocks=blocks,
        is_straight=own_blocks == 1,
        depth=depth,
        calls=[calls[number] for number in order] if order else calls,
        calls_in_text=calls,
        references=Counter(references),
    )


@cache
def _api() -> _core.MlirApi:
    return _core.MlirApi(str(bindings().capi))


def around(operation: Operation, function: Operation) -> Iterator[Operation]:
    """The operations around one in a function, the innermost first, without the function."""
    parent = operation.parent
    while parent is not None and parent != function:
        yield parent
        parent = parent.parent


def _children(operation: Operation) -> Iterator[Operation]:
    for region in operation.regions:
        for block in region:
            for each in block.operations:
                yield each.operation


def _visibility(operation: Operation) -> str:
    attributes = operation.attributes
    return attributes["sym_visibility"].value if "sym_visibility" in attributes else "public"


def _refer(attribute: Attribute, references: Counter[str]) -> None:
    """Count the symbols that an attribute mentions."""
    if refer := _readers().get(type(attribute)):
        refer(attribute, references)


@cache
def _readers() -> Mapping[type, Callable[[Any, Counter[str]], None]]:
    """How the attributes are read that may mention symbols."""
    ir = bindings().ir

    def flat(attribute: Any, references: Counter[str]) -> None:
        references[attribute.value] += 1

    def path(attribute: Any, references: Counter[str]) -> None:
        references[attribute.value[0]] += 1

    def array(attribute: Any, references: Counter[str]) -> None:
        for each in attribute:
            _refer(each, references)

    def dictionary(attribute: Any, references: Counter[str]) -> None:
        for named in attribute:
            _refer(named.attr, references)

    return {ir.FlatSymbolRefAttr: flat, ir.SymbolRefAttr: path, ir.ArrayAttr: array, ir.DictAttr: dictionary}


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
    """The component that begins with `first`, last come first."""
    component = [pending.pop()]
    while component[-1] is not first:
        component.append(pending.pop())
    below = [target.height + 1 for node in component for target in node.targets if target in done]
    for node in component:
        node.height, node.component_size = max(below, default=0), len(component)
    done.update(component)
    return component
