# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets MLIR's inliner inline calls of dialects that it does not know, such as ``toy.call`` of a ``toy.func``.

During the inlining they are calls and functions of the dialect ``func``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from passpilot.plugin.mlir.bindings import UPSTREAM, bindings_of
from passpilot.plugin.mlir.inliner import inliner
from passpilot.plugin.origin import definition_origin
from passpilot.plugin.registry import Registry

MARK: Final = "passpilot.registered_call"
"""The attribute of operations that stand for those of another dialect; its value is the kind of call."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """The names of one dialect's operations for calls, functions and returns."""

    callee: str
    """The attribute of the call that holds the callee's symbol."""
    function: str
    terminator: str
    origin: str


CALLS: Final = Registry[CallKind]("call", own=dict.fromkeys(("func.call", "llvm.call"), __name__))
"""The registered kinds, by calling operation."""


def register_call(call: str, *, function: str, terminator: str, callee: str = "callee") -> None:
    """Let `mlir-inline` decide on calls of another dialect, such as ``toy.generic_call`` of a ``toy.func``.

    Args:
        call: the operation that calls; its operands are the arguments.
        function: the operation that is called; it has one region and a ``sym_name``.
        terminator: the operation that returns from the function; its operands are the results of the call.
        callee: the attribute of the call that holds the callee's symbol.

    Raises:
        RegistrationError: the calling operation is already known.
    """
    CALLS.add(call, CallKind(callee, function, terminator, definition_origin()))


def unregister_call(call: str) -> None:
    """Remove a registered call; for notebooks and tests.

    Raises:
        RegistrationError: the call is not registered.
    """
    CALLS.unregister(call)


def allow_calls(context: Any) -> None:
    """Let the bodies of registered functions be inlined in a context; not while a pass runs."""
    for call in CALLS:
        inliner().allow(context, call.partition(".")[0])


@contextmanager
def as_calls_of_func(root: Any) -> Iterator[None]:
    """Within the block, registered calls that fit their callees, and these, are operations of ``func``."""
    if not CALLS:
        yield
        return
    known = {kind.function: (call, kind) for call, kind in CALLS.items()}
    operations = list(_operations_in(root))
    functions = [op for op in operations if op.name in known]
    types = {(op.parent, _name(op)): found for op in functions if (found := _types(op, known[op.name][1]))}
    for op in operations:
        if op.name in CALLS:
            _disguise_call(op, CALLS[op.name], types, known)
    for op in functions:
        if (op.parent, _name(op)) in types:
            _disguise_function(op, *known[op.name], *types[op.parent, _name(op)])
    try:
        yield
    finally:
        for op in list(_operations_in(root)):
            if MARK in op.attributes:
                _restore(op)


def _operations_in(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region:
            for view in block.operations:
                yield view.operation
                yield from _operations_in(view.operation)


def _name(function: Any) -> str:
    """The name as in MLIR's text, where a byte that is not UTF-8 has an escape."""
    return str(function.attributes["sym_name"]).strip('"')


def _returns(function: Any, terminator: str) -> list[Any]:
    ends = [list(block.operations)[-1:] for block in function.regions[0]]
    return [end.operation for last in ends for end in last if end.operation.name == terminator]


def _types(function: Any, kind: CallKind) -> tuple[Sequence[Any], Sequence[Any]] | None:
    """The types of a function's parameters and results; None if it cannot be inlined."""
    blocks = list(function.regions[0])
    results = [[value.type for value in end.operands] for end in _returns(function, kind.terminator)]
    if not results or any(other != results[0] for other in results):
        return None
    return [argument.type for argument in blocks[0].arguments], results[0]


def _disguise_call(call: Any, kind: CallKind, types: dict[Any, Any], known: dict[str, Any]) -> None:
    ir = bindings_of(UPSTREAM).ir
    around = call.parent
    while around is not None and around.name not in known:
        around = around.parent
    callee = call.attributes.get(kind.callee)
    if around is None or not isinstance(callee, ir.FlatSymbolRefAttr):
        return
    values = [value.type for value in call.operands], [value.type for value in call.results]
    if types.get((around.parent, str(callee).lstrip("@").strip('"'))) != values:
        return
    kept = {name: value for name, value in call.attributes.items() if name != kind.callee}
    marks = {name: kept[name] for name in ("no_inline",) if name in kept}
    _become(call, "func.call", {**marks, "callee": callee, MARK: _mark(call.name, kept, call.context)})


def _disguise_function(function: Any, call: str, kind: CallKind, inputs: Any, results: Any) -> None:
    ir = bindings_of(UPSTREAM).ir
    kept = dict(function.attributes.items())
    shown = {name: kept[name] for name in ("sym_name", "sym_visibility", "no_inline") if name in kept}
    signature = ir.TypeAttr.get(ir.FunctionType.get(inputs, results, function.context), function.context)
    mark = _mark(call, kept, function.context)
    for end in _returns(function, kind.terminator):
        _become(end, "func.return", dict(end.attributes.items()))
    _become(function, "func.func", {**shown, "function_type": signature, MARK: mark})


def _mark(call: str, kept: dict[str, Any], context: Any) -> Any:
    ir = bindings_of(UPSTREAM).ir
    parts = {"call": ir.StringAttr.get(call, context), "attributes": ir.DictAttr.get(kept, context)}
    return ir.DictAttr.get(parts, context)


def _restore(operation: Any) -> None:
    """Turn a call or function back into that of its dialect."""
    mark = operation.attributes[MARK]
    call = mark["call"].value
    attributes = {named.name: named.attr for named in mark["attributes"]}
    if operation.name == "func.call":
        _become(operation, call, {**attributes, CALLS[call].callee: operation.attributes["callee"]})
        return
    for end in _returns(operation, "func.return"):
        _become(end, CALLS[call].terminator, dict(end.attributes.items()))
    _become(operation, CALLS[call].function, attributes)


def _become(operation: Any, name: str, attributes: dict[str, Any]) -> None:
    """Replace an operation by one of another name that has its operands, results and blocks."""
    ir = bindings_of(UPSTREAM).ir
    new = ir.Operation.create(
        name,
        results=[value.type for value in operation.results],
        operands=list(operation.operands),
        attributes=attributes,
        regions=len(operation.regions),
        loc=operation.location,
        ip=ir.InsertionPoint(operation),
    )
    for old, region in zip(operation.regions, new.regions, strict=True):
        for block in list(old):
            block.append_to(region)
    for old, value in zip(operation.results, new.results, strict=True):
        old.replace_all_uses_with(value)
    operation.erase()
