# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`contents_of`: what there is in an MLIR operation, counted: operations, blocks, calls, and symbols.

Calls are operations that name their callee by a symbol: ``func.call`` of a ``func.func``, ``llvm.call`` of an
``llvm.func``, and those that `register_call` adds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from passpilot.features.mlir.calls import call_kinds
from passpilot.plugin import _core
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from passpilot.features.mlir.calls import CallKind
    from passpilot.plugin.mlir.protocols import Attribute, Operation

LOOPS: Final = frozenset(
    ("scf.for", "scf.while", "scf.parallel", "scf.forall", "affine.for", "affine.parallel")
)
"""Operations whose regions may run several times."""

_FLAT: Final = ("arith", "math", "cf", "complex", "index")
"""Dialects whose operations have no regions and refer to no symbols."""


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


def contents_of(operation: Operation) -> Contents:
    """What there is in an operation."""
    kinds = call_kinds()
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


def count_symbols(attribute: Attribute, references: Counter[str]) -> None:
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
            count_symbols(each, references)

    def dictionary(attribute: Any, references: Counter[str]) -> None:
        for named in attribute:
            count_symbols(named.attr, references)

    return {ir.FlatSymbolRefAttr: flat, ir.SymbolRefAttr: path, ir.ArrayAttr: array, ir.DictAttr: dictionary}
