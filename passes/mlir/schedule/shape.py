# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`OperationShape`: what a plan needs to know about an operation of linalg, without the operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Final

from passpilot.features.mlir.tile import arithmetic_of
from passpilot.features.mlir.tileable import IterationLoop, Operand, structured
from passpilot.plugin.mlir.bindings import operations_in

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

SOFTMAX: Final = "linalg.softmax"
_OTHERS: Final = frozenset((SOFTMAX, "linalg.pack", "linalg.unpack", "linalg.index", "linalg.yield"))
"""Operations of linalg without MLIR's interface of structured operations."""


@dataclass(frozen=True, slots=True)
class OperationShape:
    """The loops and operands of an operation; without loops it must stay as it is."""

    name: str
    loops: tuple[IterationLoop, ...] = ()
    operands: tuple[Operand, ...] = ()
    inputs: int = 0
    is_tensor: bool = True
    is_contraction: bool = False
    is_convolution: bool = False
    arithmetic: int = 0
    """The arithmetic operations of one iteration."""

    @property
    def extents(self) -> tuple[int, ...]:
        """The iterations of the loops."""
        return tuple(loop.extent for loop in self.loops)

    @property
    def reductions(self) -> tuple[int, ...]:
        """The numbers of the loops that reduce."""
        return tuple(number for number, loop in enumerate(self.loops) if loop.is_reduction)

    @property
    def parallel(self) -> tuple[int, ...]:
        """The numbers of the other loops."""
        return tuple(number for number, loop in enumerate(self.loops) if not loop.is_reduction)

    @property
    def flops(self) -> float:
        """The arithmetic operations of all iterations."""
        return float(prod(self.extents) * self.arithmetic)

    @property
    def contiguous(self) -> int | None:
        """The loop that alone indexes the last dimension of the output; None without one."""
        last = self.operands[-1].loops[-1:] if self.operands else ()
        return next(iter(last[0])) if last and len(last[0]) == 1 else None


def functions_in(module: Any) -> dict[str, Operation]:
    """The functions of a module by name."""
    operations = (view.operation for view in module.regions[0].blocks[0].operations)
    return {each.attributes["sym_name"].value: each for each in operations if each.name == "func.func"}


def linalg_operations(root: Operation) -> Iterator[Operation]:
    """The structured operations of linalg in and below `root`, as the transform dialect numbers them."""
    for operation in operations_in(root):
        if operation.name.startswith("linalg.") and operation.name not in _OTHERS:
            yield operation


def shapes_in(root: Operation) -> tuple[OperationShape, ...]:
    """The shapes of the structured operations in and below `root`."""
    return tuple(map(_shape, linalg_operations(root)))


def _shape(operation: Any) -> OperationShape:
    found = structured(operation)
    if found is None or any(loop.is_dynamic for loop in found.loops):
        return OperationShape(operation.name)
    return OperationShape(
        operation.name,
        found.loops,
        found.operands,
        found.inputs,
        bool(operation.results),
        found.is_contraction,
        found.is_convolution,
        arithmetic_of(found),
    )
