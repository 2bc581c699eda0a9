# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replaces calls by the bodies of their callees, as MLIR's inliner does.

The core splices a body of one block into the call's block. For a body of several blocks the call's block is
split; the core moves the operations behind it to a new block.

Source: inlineRegionImpl in mlir/lib/Transforms/Utils/InliningUtils.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passpilot.features.mlir.contents import core_api
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from passpilot.features.mlir.calls import CallKind
    from passpilot.plugin.mlir.protocols import Block, Operation


def replace_call(call: Operation, kind: CallKind, body: Operation, *, straight: bool) -> None:
    """Replace a call by the body of a function; the function loses its body.

    Args:
        call: the call; its operand and result types are those of the function.
        kind: the kind of the call.
        body: the function, or a copy of it.
        straight: whether the body is a single block that returns.
    """
    core = core_api()
    core.stack_locations(body._CAPIPtr, call._CAPIPtr)
    if straight:
        core.splice(call._CAPIPtr, body._CAPIPtr)
    else:
        _split(call, kind, body)


def _split(call: Operation, kind: CallKind, body: Operation) -> None:
    """Split the block behind the call; the body's returns branch to the second half."""
    core, here, (entry, *others) = core_api(), call.block, list(body.regions[0])
    types = [result.type for result in call.results]
    after = here.create_after(*types, arg_locs=[call.location] * len(types))
    core.move_rest(call._CAPIPtr, after._CAPIPtr)
    for result, argument in zip(call.results, after.arguments, strict=True):
        result.replace_all_uses_with(argument)
    for block in (entry, *others):
        end = list(block.operations)[-1].operation
        if end.name == kind.terminator:
            _replace_by_branch(end, after)
    for block in reversed(others):
        core.insert_after(block._CAPIPtr, here._CAPIPtr)
    for argument, operand in zip(entry.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    call.erase()
    core.move_all(entry._CAPIPtr, here._CAPIPtr)


def _replace_by_branch(end: Operation, target: Block) -> None:
    ir = bindings().ir
    with ir.InsertionPoint(end):
        ir.Operation.create("cf.br", operands=list(end.operands), successors=[target], loc=end.location)
    end.erase()
