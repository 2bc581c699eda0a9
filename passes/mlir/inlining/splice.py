# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replaces calls by the bodies of their callees, as MLIR's inliner does.

The C API's rewriter splices a body of one block into the call's block. For a body of several blocks the
call's block is split, which the C API cannot do: the core moves the operations behind it to a new block.

Source: inlineRegionImpl in mlir/lib/Transforms/Utils/InliningUtils.cpp.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from passpilot.features.mlir.contents import core_api
from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.mlir.capi import pointer_of
from passpilot.plugin.mlir.functions import rewriting_functions

if TYPE_CHECKING:
    from passpilot.features.mlir.calls import CallKind
    from passpilot.plugin.mlir.protocols import Block, Operation


class Splicer:
    """Inlines calls in one context."""

    def __init__(self, root: Operation) -> None:
        self._api = rewriting_functions()
        self._rewriter = self._api.mlirIRRewriterCreate(self._api.mlirOperationGetContext(pointer_of(root)))

    def inline(self, call: Operation, kind: CallKind, body: Operation, *, straight: bool) -> None:
        """Replace a call by the body of a function; the function loses its body.

        Args:
            call: the call; its operand and result types are those of the function.
            kind: the kind of the call.
            body: the function, or a copy of it.
            straight: whether the body is a single block that returns.
        """
        core_api().stack_locations(body._CAPIPtr, call._CAPIPtr)
        if straight:
            self._splice(pointer_of(call), pointer_of(body), len(call.operands), len(call.results))
        else:
            self._split(call, kind, body)

    def _splice(self, call: int, body: int, arguments: int, results: int) -> None:
        api = self._api
        block = api.mlirRegionGetFirstBlock(api.mlirOperationGetRegion(body, 0))
        end = api.mlirBlockGetTerminator(block) or self._last(block)
        values = self._operands(call, arguments)
        api.mlirRewriterBaseInlineBlockBefore(self._rewriter, block, call, arguments, values)
        values = self._operands(end, results)
        api.mlirRewriterBaseReplaceOpWithValues(self._rewriter, call, results, values)
        api.mlirOperationDestroy(end)

    def _last(self, block: int) -> int:
        """The last operation of a block, if MLIR does not know it as a terminator."""
        last: int = self._api.mlirBlockGetFirstOperation(block)
        while following := self._api.mlirOperationGetNextInBlock(last):
            last = following
        return last

    def _operands(self, operation: int, count: int) -> ctypes.Array[ctypes.c_void_p]:
        get = self._api.mlirOperationGetOperand
        return (ctypes.c_void_p * count)(*[get(operation, index) for index in range(count)])

    def _split(self, call: Operation, kind: CallKind, body: Operation) -> None:
        """Split the block behind the call; the body's returns branch to the second half."""
        here, (entry, *others) = call.block, list(body.regions[0])
        types = [result.type for result in call.results]
        after = here.create_after(*types, arg_locs=[call.location] * len(types))
        core_api().move_rest(call._CAPIPtr, after._CAPIPtr)
        for result, argument in zip(call.results, after.arguments, strict=True):
            result.replace_all_uses_with(argument)
        for block in (entry, *others):
            end = list(block.operations)[-1].operation
            if end.name == kind.terminator:
                _replace_by_branch(end, after)
        for block in reversed(others):
            self._insert_after(here, block)
        for argument, operand in zip(entry.arguments, call.operands, strict=True):
            argument.replace_all_uses_with(operand)
        call.erase()
        core_api().move_all(entry._CAPIPtr, here._CAPIPtr)

    def _insert_after(self, place: Block, block: Block) -> None:
        api, before = self._api, pointer_of(place)
        api.mlirBlockDetach(pointer_of(block))
        api.mlirRegionInsertOwnedBlockAfter(api.mlirBlockGetParentRegion(before), before, pointer_of(block))

    def close(self) -> None:
        """Destroy the C API's rewriter. Idempotent."""
        if self._rewriter:
            self._api.mlirIRRewriterDestroy(self._rewriter)
        self._rewriter = None


def _replace_by_branch(end: Operation, target: Block) -> None:
    ir = bindings().ir
    with ir.InsertionPoint(end):
        ir.Operation.create("cf.br", operands=list(end.operands), successors=[target], loc=end.location)
    end.erase()
