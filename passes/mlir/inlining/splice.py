# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replaces calls by the bodies of their callees.

The C API's rewriter splices a body of one block into the call's block at once. For a body of several blocks
the call's block must be split, which the C API cannot do, so operations are moved one by one. To move each
operation only once, `Splices.finish` does all splits together, from the last call to the first.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, NamedTuple

from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.mlir.capi import pointer_of
from passpilot.plugin.mlir.functions import rewriting_functions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.features.mlir.calls import CallKind
    from passpilot.plugin.mlir.protocols import Block, Operation


class _Split(NamedTuple):
    """A call whose block must be split, and the body that replaces it."""

    call: Operation
    entry: Block
    returns: Sequence[Operation]


class Splices:
    """Inlines calls in one context; `finish` must be called before anybody else reads the IR."""

    def __init__(self, root: Operation) -> None:
        self._api = rewriting_functions()
        self._rewriter = self._api.mlirIRRewriterCreate(self._api.mlirOperationGetContext(pointer_of(root)))
        self._splits: list[_Split] = []

    def inline(self, call: Operation, kind: CallKind, body: Operation, *, straight: bool) -> None:
        """Replace a call by the body of a function; the function loses its body.

        Args:
            call: the call; its operand and result types are those of the function.
            kind: the kind of the call.
            body: the function, or a copy of it.
            straight: whether the body is a single block that returns.
        """
        if straight:
            self._splice(pointer_of(call), pointer_of(body), len(call.operands), len(call.results))
            return
        blocks = list(body.regions[0])
        ends = [list(block.operations)[-1].operation for block in blocks]
        region = call.block.region
        for block in blocks:
            block.append_to(region)
        # Keep handles of operations: those of blocks become invalid with `body`.
        returns = [end for end in ends if end.name == kind.terminator]
        self._splits.append(_Split(call, ends[0].block, returns))

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

    def finish(self) -> None:
        """Replace the calls whose callees have several blocks."""
        for split in reversed(self._splits):
            self._finish(split)
        self._splits.clear()

    def _finish(self, split: _Split) -> None:
        """Split the block after a call; branch into the body and from its returns to the second half."""
        call = split.call
        types = [result.type for result in call.results]
        after = call.block.create_after(*types, arg_locs=[call.location] * len(types))
        self._move_what_follows(call, after)
        for result, argument in zip(call.results, after.arguments, strict=True):
            result.replace_all_uses_with(argument)
        for end in split.returns:
            _branch(end, after)
        _branch(call, split.entry)

    def _move_what_follows(self, call: Operation, after: Block) -> None:
        api, last = self._api, None
        while moved := api.mlirOperationGetNextInBlock(pointer_of(call)):
            if last is None:
                api.mlirOperationRemoveFromParent(moved)
                api.mlirBlockAppendOwnedOperation(pointer_of(after), moved)
            else:
                api.mlirOperationMoveAfter(moved, last)
            last = moved

    def close(self) -> None:
        """Destroy the C API's rewriter. Idempotent."""
        if self._rewriter:
            self._api.mlirIRRewriterDestroy(self._rewriter)
        self._rewriter = None


def _branch(old: Operation, target: Block) -> None:
    """Replace an operation by a branch with its operands."""
    ir = bindings().ir
    with ir.InsertionPoint(old):
        ir.Operation.create("cf.br", operands=list(old.operands), successors=[target], loc=old.location)
    old.erase()
