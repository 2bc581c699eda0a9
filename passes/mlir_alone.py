# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One call, inlined by MLIR's own pass `inline` in a module of its own, where nothing else can be inlined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from passpilot.features.mlir_call_graph import contents_of
from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir import bindings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from passpilot.features.mlir_call_graph import CallGraphNode
    from passpilot.plugin.mlir_types import Operation, PassManager

MARK: Final = "no_inline"
"""The attribute by which functions and calls of upstream's dialects refuse to be inlined."""

OURS: Final = "passpilot.no_inline"
"""The attribute of calls that we have marked, beside which no mark of the program's own is taken away."""

_ALONE: Final = "builtin.module(inline{default-pipeline= max-iterations=1})"
"""MLIR's inliner without what it does besides."""

_CALLER: Final = "passpilot.caller"
_CALLEE: Final = "passpilot.callee"


def inline_alone(call: Operation, caller: Operation, callee: CallGraphNode) -> bool:
    """Have MLIR inline a call, if it would wherever the two functions are in the call graph.

    Args:
        call: the call.
        caller: the function around it, which is taken out of its module.
        callee: the function that it calls.

    Returns:
        Whether it is inlined.
    """
    ir, context = bindings().ir, call.context
    module = ir.Module.create(ir.Location.unknown(context))
    body = callee.operation.clone(ip=False).operation
    # Under other names, no call in one means the other. What is private would be dead.
    for function, name in ((body, _CALLEE), (caller, _CALLER)):
        module.body.append(function)
        function.attributes["sym_name"] = ir.StringAttr.get(name, context)
        function.attributes["sym_visibility"] = ir.StringAttr.get("public", context)
    others = [each for each in contents_of(caller).calls if each != call]
    mark([*others, *contents_of(body).calls])
    call.attributes[callee.kind.callee] = ir.FlatSymbolRefAttr.get(_CALLEE, context)
    pass_manager(_ALONE, context).run(module.operation)
    caller.detach_from_parent()
    return all(MARK in each.attributes for each in contents_of(caller).calls)


def inline_in_place(call: Operation, caller: CallGraphNode, callee: CallGraphNode) -> Sequence[Operation]:
    """Have MLIR inline a call, which it must be known to do; gives the calls that come with the body."""
    operation = caller.operation
    before = contents_of(operation).calls
    names = {name: operation.attributes[name] for name in _NAMES if name in operation.attributes}
    ir = bindings().ir
    place = ir.Operation.create(
        "builtin.module", regions=1, loc=operation.location, ip=ir.InsertionPoint(operation)
    )
    inline_alone(call, operation, callee)
    ir.InsertionPoint(place).insert(operation)
    place.erase()
    for name in _NAMES:
        del operation.attributes[name]
    for name, attribute in names.items():
        operation.attributes[name] = attribute
    calls = contents_of(operation).calls
    unmark(calls)
    return [each for each in calls if each not in before]


_NAMES: Final = ("sym_name", "sym_visibility")


def mark(calls: Iterable[Operation]) -> None:
    """Let MLIR inline none of these calls."""
    for call in calls:
        if MARK not in call.attributes:
            unit = bindings().ir.UnitAttr.get(call.context)
            call.attributes[MARK] = call.attributes[OURS] = unit


def unmark(calls: Iterable[Operation]) -> None:
    """Take the marks back."""
    for call in calls:
        if OURS in call.attributes:
            del call.attributes[MARK], call.attributes[OURS]


def pass_manager(pipeline: str, context: object) -> PassManager:
    """MLIR's pass manager for a pipeline, which does not verify: what it is run on may be incomplete.

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
