# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets MLIR's own pass `inline` inline a single call, in a temporary module without other callees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from passpilot.features.mlir.contents import contents_of
from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.features.mlir.call_graph import CallGraphNode
    from passpilot.features.mlir.contents import Call
    from passpilot.plugin.mlir.protocols import Operation, PassManager

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
    attributes[kind.callee] = bindings().ir.FlatSymbolRefAttr.get(_CALLEE, call.context)
    copy = caller.operation.clone(ip=False).operation
    attributes[kind.callee] = name
    return _inline(copy, callee, _CALLEE)


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


def _inline(caller: Operation, callee: CallGraphNode, name: str) -> bool:
    """Let MLIR inline the call of `name`, the callee, and detach `caller`; returns whether MLIR did."""
    ir, context = bindings().ir, caller.context
    module = ir.Module.create(ir.Location.unknown(context))
    body = callee.operation.clone(ip=False).operation
    for function, symbol in ((body, name), (caller, _CALLER)):
        module.body.append(function)
        function.attributes["sym_name"] = ir.StringAttr.get(symbol, context)
        function.attributes["sym_visibility"] = ir.StringAttr.get("public", context)
    pass_manager(_INLINE, context).run(module.operation)
    body.attributes["sym_visibility"] = ir.StringAttr.get("private", context)
    pass_manager("builtin.module(symbol-dce)", context).run(module.operation)
    caller.detach_from_parent()
    return not list(module.body.operations)


def pass_manager(pipeline: str, context: object) -> PassManager:
    """MLIR's pass manager for a pipeline, without verifier, because the IR may be incomplete.

    Raises:
        InputError: MLIR cannot parse the text.
    """
    passes = bindings().passmanager.PassManager
    try:
        made: PassManager = passes.parse(pipeline, context)
    except Exception as error:
        told = str(error).partition("\n")[0].rpartition("error: ")[2]
        raise InputError(f"pipeline {pipeline!r}: expected one that MLIR takes, got: {told}") from error
    made.enable_verifier(False)
    return made
