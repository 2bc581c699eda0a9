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
_RENAMED: Final = ("sym_name", "sym_visibility")


def is_inlined(call: Operation, caller: CallGraphNode, callee: CallGraphNode) -> bool:
    """Whether MLIR can inline a call; leaves the program unchanged and ignores the call graph."""
    attributes, kind = call.attributes, callee.kind
    name = attributes[kind.callee]
    attributes[kind.callee] = bindings().ir.FlatSymbolRefAttr.get(_CALLEE, call.context)
    copy = caller.operation.clone(ip=False).operation
    attributes[kind.callee] = name
    return _inline(copy, callee)


def inline_in_place(call: Operation, caller: CallGraphNode, callee: CallGraphNode) -> Sequence[Call]:
    """Let MLIR inline a call that `is_inlined` accepts; returns the calls of the inlined body."""
    ir, function = bindings().ir, caller.operation
    before = [old.operation for old in contents_of(function).calls]
    names = {name: function.attributes[name] for name in _RENAMED if name in function.attributes}
    here, unknown = ir.InsertionPoint(function), ir.Location.unknown(call.context)
    place = ir.Operation.create("builtin.module", regions=1, loc=unknown, ip=here)
    call.attributes[callee.kind.callee] = ir.FlatSymbolRefAttr.get(_CALLEE, call.context)
    _inline(function, callee)
    ir.InsertionPoint(place).insert(function)
    place.erase()
    del function.attributes["sym_visibility"]
    for name, attribute in names.items():
        function.attributes[name] = attribute
    return [inner for inner in contents_of(function).calls if inner.operation not in before]


def _inline(caller: Operation, callee: CallGraphNode) -> bool:
    """Let MLIR inline the call of `_CALLEE` in `caller`, and detach `caller`; returns whether MLIR did."""
    ir, context = bindings().ir, caller.context
    module = ir.Module.create(ir.Location.unknown(context))
    body = callee.operation.clone(ip=False).operation
    for function, name in ((body, _CALLEE), (caller, _CALLER)):
        module.body.append(function)
        function.attributes["sym_name"] = ir.StringAttr.get(name, context)
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
