# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets MLIR's own pass `inline` inline a single call, in a temporary module without other callees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from passpilot.features.mlir.contents import contents_of, mentions_of
from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from passpilot.features.mlir.call_graph import CallGraphNode
    from passpilot.features.mlir.contents import Call
    from passpilot.plugin.mlir.protocols import Attribute, Block, Operation, PassManager, Value

_INLINE: Final = "builtin.module(inline{default-pipeline= max-iterations=1})"
"""MLIR's inliner without its simplifications."""

_CALLER: Final = "passpilot.caller"
_CALLEE: Final = "passpilot.callee"
_OTHER: Final = "passpilot.other"
_RENAMED: Final = ("sym_name", "sym_visibility")


def is_inlined(call: Operation, caller: CallGraphNode, callee: CallGraphNode) -> bool:
    """Whether MLIR can inline a call; leaves the program unchanged and ignores the call graph."""
    attributes, kind = call.attributes, callee.kind
    name = attributes[kind.callee]
    attributes[kind.callee] = _callee_symbol(call)
    copy = caller.operation.clone(ip=False).operation
    attributes[kind.callee] = name
    return _is_inlined_in(copy, callee)


def is_inlined_alone(call: Operation, caller: CallGraphNode, callee: CallGraphNode) -> bool:
    """As `is_inlined`, if of the caller only the operation directly around the call matters.

    It costs less, because the rest of the caller is not copied.
    """
    ir, around = bindings().ir, call.parent
    assert around is not None, "a call is in a function"
    unknown = ir.Location.unknown(call.context)
    function = _emptied(caller.operation, ())
    values = [*call.operands, *(around.operands if around != caller.operation else ())]
    place = _body(function, values, unknown)
    operands, others = place.arguments[: len(call.operands)], place.arguments[len(call.operands) :]
    if around != caller.operation:
        inner = _emptied(around, others)
        place.append(inner)
        place = _body(inner, (), unknown)
    copy = _emptied(call, operands)
    copy.attributes[callee.kind.callee] = _callee_symbol(call)
    place.append(copy)
    return _is_inlined_in(function, callee)


def _body(operation: Operation, like: Sequence[Value], location: object) -> Block:
    """A new block in an operation, with arguments of the types of other values."""
    blocks: Any = operation.regions[0].blocks
    block: Block = blocks.append(*types_of(like), arg_locs=[location] * len(like))
    return block


def _emptied(operation: Operation, operands: Sequence[Value]) -> Operation:
    """A copy of an operation with other operands and with empty regions."""
    copy: Operation = bindings().ir.Operation.create(
        operation.name,
        results=types_of(operation.results),
        operands=operands,
        attributes=dict(operation.attributes.items()),
        regions=len(operation.regions),
        loc=operation.location,
        ip=False,
    )
    return copy


def types_of(values: Iterable[Value]) -> list[object]:
    """The types of values, in order."""
    return [value.type for value in values]


def _callee_symbol(call: Operation) -> Attribute:
    symbol: Attribute = bindings().ir.FlatSymbolRefAttr.get(_CALLEE, call.context)
    return symbol


def _is_inlined_in(caller: Operation, callee: CallGraphNode) -> bool:
    """Whether MLIR inlines the call of `_CALLEE` in a detached function, which may be changed."""
    _inline(caller, callee, _CALLEE)
    return _CALLEE not in mentions_of(caller, inside=True)


def inline_in_place(call: Operation, caller: CallGraphNode, callee: CallGraphNode) -> Sequence[Call]:
    """Let MLIR inline a call that `is_inlined` accepts; returns the calls of the inlined body.

    The callee keeps its name, which MLIR writes into alias scopes; other calls of it get another meanwhile.
    """
    ir, function, attribute = bindings().ir, caller.operation, callee.kind.callee
    before = contents_of(function).calls
    others = [old.operation for old in before if old.symbol == callee.name and old.operation != call]
    hidden = ir.FlatSymbolRefAttr.get(_OTHER, call.context)
    name = call.attributes[attribute]
    names = {name: function.attributes[name] for name in _RENAMED if name in function.attributes}
    here, unknown = ir.InsertionPoint(function), ir.Location.unknown(call.context)
    place = ir.Operation.create("builtin.module", regions=1, loc=unknown, ip=here)
    for other in others:
        other.attributes[attribute] = hidden
    _inline(function, callee, callee.name)
    ir.InsertionPoint(place).insert(function)
    place.erase()
    for other in others:
        other.attributes[attribute] = name
    del function.attributes["sym_visibility"]
    for renamed, value in names.items():
        function.attributes[renamed] = value
    known = [old.operation for old in before]
    return [inner for inner in contents_of(function).calls if inner.operation not in known]


def _inline(caller: Operation, callee: CallGraphNode, name: str) -> None:
    """Let MLIR inline the call of `name`, the callee, and detach `caller`."""
    ir, context = bindings().ir, caller.context
    module = ir.Module.create(ir.Location.unknown(context))
    body = callee.operation.clone(ip=False).operation
    for function, symbol in ((body, name), (caller, _CALLER)):
        module.body.append(function)
        function.attributes["sym_name"] = ir.StringAttr.get(symbol, context)
        function.attributes["sym_visibility"] = ir.StringAttr.get("public", context)
    pass_manager(_INLINE, context).run(module.operation)
    caller.detach_from_parent()


def pass_manager(pipeline: str, context: object) -> PassManager:
    """MLIR's pass manager for a pipeline, without verifier, because the IR may be incomplete.

    Raises:
        InputError: MLIR cannot parse the text.
    """
    passes = bindings().passmanager.PassManager
    try:
        manager: PassManager = passes.parse(pipeline, context)
    except Exception as error:
        got = str(error).partition("\n")[0].rpartition("error: ")[2]
        raise InputError(f"pipeline {pipeline!r}: expected one that MLIR takes, got: {got}") from error
    manager.enable_verifier(False)
    return manager
