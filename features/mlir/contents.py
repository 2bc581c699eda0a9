# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`contents_of`: the operations, blocks, calls and symbols in an MLIR operation, as the core counts them.

Calls are operations that name their callee by a symbol: ``func.call``, ``llvm.call``, and those that
`register_call` adds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from passpilot.features.mlir.calls import call_kinds
from passpilot.plugin import _core
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from passpilot.features.mlir.calls import CallKind
    from passpilot.plugin.mlir.protocols import Operation

LOOPS: Final = frozenset(
    ("scf.for", "scf.while", "scf.parallel", "scf.forall", "affine.for", "affine.parallel")
)
"""Operations whose regions may run several times."""

_PLAIN: Final = (
    *("arith", "cf", "complex", "index", "linalg", "math", "scf", "tensor", "vector"),
    *("memref.alloc", "memref.alloca", "memref.cast", "memref.collapse_shape", "memref.copy"),
    *("memref.dealloc", "memref.dim", "memref.expand_shape", "memref.load", "memref.reinterpret_cast"),
    *("memref.store", "memref.subview", "memref.transpose", "memref.view"),
)
"""Dialects and operations whose own attributes mention no symbols; only their other attributes are read.

MLIR builds a dictionary when it is asked for an operation's own attributes, which takes longer than all else.
"""


class Call:
    """A call, as found when its function was counted."""

    __slots__ = ("_capsule", "_operation", "kind", "refuses", "symbol")

    def __init__(self, capsule: object, symbol: str | None, kind: CallKind, refuses: bool) -> None:
        self._capsule = capsule
        self._operation: Operation | None = None
        self.symbol = symbol
        """The callee's symbol; None for an indirect call."""
        self.kind = kind
        self.refuses = refuses
        """Whether the call must not be inlined."""

    @property
    def operation(self) -> Operation:
        """The calling operation."""
        if self._operation is None:
            self._operation = bindings().ir.Operation._CAPICreate(self._capsule)
        return self._operation


@dataclass(slots=True)
class Contents:
    """The counted contents of a function's body."""

    names: Counter[str] = field(default_factory=Counter)
    """The number of operations by name."""
    dialects: Sequence[int] = ()
    """The number of operations by dialect, as the table of `mlir-inline` orders them."""
    loops: int = 0
    blocks: int = 0
    is_straight: bool = False
    """Whether the body is a single block that returns."""
    depth: int = 1
    """The depth of nested regions; 1 for the body alone."""
    calls: list[Call] = field(default_factory=list)
    """The calls in the order of MLIR's inliner: last block first, nested regions after their block."""
    calls_in_text: list[Call] = field(default_factory=list)
    """The same calls in the order of the text."""
    references: Counter[str] = field(default_factory=Counter)
    """How often each symbol is mentioned, in calls and elsewhere."""
    places: dict[str, bool] = field(default_factory=dict)
    """Cached answers: whether MLIR may inline the body into an operation of this name."""
    row: Mapping[str, object] | None = None
    """Cached feature values of the function as a callee."""

    @property
    def operations(self) -> int:
        """The number of operations."""
        return self.names.total()


def contents_of(operation: Operation) -> Contents:
    """Counts the contents of an operation."""
    kinds = call_kinds()
    calling = [(kind.call, kind.callee) for kind in kinds]
    counted = core_api().count(operation._CAPIPtr, calling)
    names, dialects, loops, blocks, own_blocks, depth, references, found, order = counted
    calls = [Call(capsule, symbol, kinds[kind], refuses) for capsule, kind, symbol, refuses in found]
    return Contents(
        names=_counter(names),
        dialects=dialects,
        loops=loops,
        blocks=blocks,
        is_straight=own_blocks == 1,
        depth=depth,
        calls=[calls[number] for number in order] if order else calls,
        calls_in_text=calls,
        references=_counter(references),
    )


def mentions_of(operation: Operation, *, inside: bool) -> Counter[str]:
    """How often an operation's attributes mention each symbol; with `inside`, also those of its contents."""
    return _counter(core_api().mentions(operation._CAPIPtr, inside))


def _counter(counts: dict[str, int]) -> Counter[str]:
    """The same counts; `Counter` itself takes three times as long to copy a few."""
    counter = Counter.__new__(Counter)
    dict.update(counter, counts)
    return counter


@cache
def core_api() -> _core.MlirApi:
    """The core's functions on operations of the installed bindings."""
    return _core.MlirApi(str(bindings().capi), _PLAIN)


def around(operation: Operation, function: Operation) -> Iterator[Operation]:
    """The operations that enclose `operation` within `function`, innermost first, without the function."""
    parent = operation.parent
    while parent is not None and parent != function:
        yield parent
        parent = parent.parent
