# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lets upstream's bindings lower loads and stores of integers that are narrower than a byte.

An assertion in their MLIR would end the process. The whole byte is loaded or stored instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from passpilot.plugin.mlir.bindings import UPSTREAM, bindings, operations_in

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

_LOWERINGS: Final = ("convert-openmp-to-llvm", "convert-to-llvm", "finalize-memref-to-llvm", "gpu-to-llvm")
"""The passes of MLIR that lower loads and stores to the llvm dialect."""


def lowers_bits(name: str) -> bool:
    """Whether `widen_bits` must run before a pass of this name."""
    return name in _LOWERINGS and bindings().root == UPSTREAM


def widen_bits(root: Operation) -> None:
    """Load and store integers narrower than a byte as bytes."""
    for operation in operations_in(root):
        if operation.name in ("memref.load", "memref.store"):
            _widen(operation)


def _widen(operation: Operation) -> None:
    ir, is_load = bindings().ir, operation.name == "memref.load"
    value: Any = operation.results[0] if is_load else operation.operands[0]
    memref, *indices = operation.operands[0 if is_load else 1 :]
    narrow, old = value.type, ir.MemRefType(memref.type)
    if not isinstance(narrow, ir.IntegerType) or narrow.width >= 8:
        return
    place: Any = {"loc": operation.location, "ip": ir.InsertionPoint(operation)}

    def made(name: str, result: object, *operands: object, **more: Any) -> Any:
        return ir.Operation.create(name, results=[result], operands=operands, **more, **place).result

    byte = ir.IntegerType.get_signless(8, operation.context)
    wide = ir.MemRefType.get(old.shape, byte, old.layout, old.memory_space, loc=operation.location)
    memref, kept = (
        made("builtin.unrealized_conversion_cast", wide, memref),
        dict(operation.attributes.items()),
    )
    if is_load:
        loaded = made("memref.load", byte, memref, *indices, attributes=kept)
        value.replace_all_uses_with(made("arith.trunci", narrow, loaded))
    else:
        operands = [made("arith.extui", byte, value), memref, *indices]
        ir.Operation.create("memref.store", operands=operands, attributes=kept, **place)
    operation.erase()
