# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Structured`: a linalg operation as the loop nest that it stands for, if it can be tiled with any size.

MLIR's tiling assumes that the first iteration of a tile reads the first element of the operand's part. That
holds for indices that are sums of loops with positive factors, but not for others such as ``7 - i``;
operations with such indices are left out. Tiling one of several reduction loops changes the order of the
reduction; loops where that may change more than the rounding must not be tiled.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, Final

from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

MOST_LOOPS: Final = 12
"""Operations with more loops are left out."""

_MEMO: Final = "linalg.memoized_indexing_maps"
"""The attribute in which MLIR caches the indexing maps of an operation."""

_REORDERABLE: Final = frozenset(
    f"arith.{name}"
    for name in (
        *("addi", "addf", "muli", "mulf", "andi", "ori", "xori"),
        *("maxsi", "maxui", "maximumf", "maxnumf", "minsi", "minui", "minimumf", "minnumf"),
    )
)
"""Operations whose result does not depend on the order of combination, except for rounding."""


@dataclass(frozen=True, slots=True)
class IterationLoop:
    """One of the loops; `extent` is 0 if known at run time only."""

    extent: int
    is_dynamic: bool
    is_reduction: bool
    is_fixed: bool
    """Whether the loop must not be tiled."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One of the operands, inputs before outputs; a scalar has no shape."""

    shape: tuple[int, ...]
    """The sizes; 0 for a size known at run time only."""
    loops: tuple[frozenset[int], ...]
    """The loops that index each dimension."""
    bits: int
    is_float: bool

    @property
    def bytes(self) -> int:
        """The size in bytes; 0 for a scalar, or if known at run time only."""
        return prod(self.shape) * -(-self.bits // 8) if self.shape else 0


@dataclass(frozen=True)
class Structured:
    """A linalg operation: its loops, its operands, and the operations of its body."""

    operation: Operation
    loops: tuple[IterationLoop, ...]
    operands: tuple[Operand, ...]
    inputs: int
    """How many of the operands are inputs."""
    is_contraction: bool
    is_convolution: bool

    @property
    def iterations(self) -> int:
        """How often the body runs; 0 if known at run time only."""
        return prod(loop.extent for loop in self.loops)

    @property
    def bytes(self) -> int:
        """The size of all operands in bytes; 0 if known at run time only."""
        if any(0 in operand.shape for operand in self.operands):
            return 0
        return sum(operand.bytes for operand in self.operands)

    @cached_property
    def body(self) -> Counter[str]:
        """The number of operations of the body by name, without the terminator."""
        names = Counter(view.operation.name for view in _body(self.operation).operations)
        del names["linalg.yield"]
        return names


def structured(operation: Operation) -> Structured | None:
    """An operation as loops; None if it is no linalg operation with loops, or cannot be tiled safely."""
    if not operation.name.startswith("linalg."):
        return None
    known = _MEMO in operation.attributes
    try:
        return _structured(operation)
    finally:
        if not known and _MEMO in operation.attributes:
            del operation.attributes[_MEMO]  # looking at an operation must not change it


def _structured(operation: Operation) -> Structured | None:
    linalg = bindings().dialect("linalg")
    maps = [attribute.value for attribute in linalg.get_indexing_maps(operation) or ()]
    if not maps:
        return None
    inputs = len(maps) - len(_terminator(operation).operands)  # the terminator yields one value per output
    if not _is_safe(operation, maps, inputs):
        return None
    operands = tuple(map(_operand, operation.operands, maps))
    loops = tuple(_loops(operation, operands, inputs, maps[0].n_dims))
    kind = linalg.isa_contraction_op(operation), linalg.isa_convolution_op(operation)
    return Structured(operation, loops, operands, inputs, *kind)


def _body(operation: Operation) -> Any:
    return operation.regions[0].blocks[0]


def _terminator(operation: Operation) -> Any:
    operations = _body(operation).operations
    return operations[len(operations) - 1].operation


def _is_safe(operation: Operation, maps: Sequence[Any], inputs: int) -> bool:
    """Whether MLIR tiles it correctly: all tensors or all memrefs, and indices that tiling supports."""
    ir = bindings().ir
    kinds = {type(value.type) for value in operation.operands if isinstance(value.type, ir.ShapedType)}
    if len(kinds) != 1 or not kinds <= {ir.RankedTensorType, ir.MemRefType}:
        return False
    if not 1 <= maps[0].n_dims <= MOST_LOOPS or any(map_.n_symbols for map_ in maps):
        return False
    if not all(map_.is_projected_permutation for map_ in maps[inputs:]):
        return False
    return all(_is_sum(expression) for map_ in maps[:inputs] for expression in map_.results)


def _is_sum(expression: Any) -> bool:
    """Whether an index is 0 or a sum of loops with positive factors."""
    ir = bindings().ir
    if isinstance(expression, ir.AffineConstantExpr):
        return bool(expression.value == 0)
    return bool(all(factor > 0 for _, factor in _terms(expression)))


def _terms(expression: Any) -> Iterator[tuple[int, int]]:
    """The (loop, factor) pairs of a sum; (-1, -1) for any other term."""
    ir = bindings().ir
    if isinstance(expression, ir.AffineDimExpr):
        yield expression.position, 1
    elif isinstance(expression, ir.AffineAddExpr):
        yield from _terms(expression.lhs)
        yield from _terms(expression.rhs)
    elif isinstance(expression, ir.AffineMulExpr) and isinstance(expression.rhs, ir.AffineConstantExpr):
        yield from ((loop, factor * expression.rhs.value) for loop, factor in _terms(expression.lhs))
    elif not (isinstance(expression, ir.AffineConstantExpr) and expression.value == 0):
        yield -1, -1


def _operand(value: Any, map_: Any) -> Operand:
    ir = bindings().ir
    loops = tuple(frozenset(loop for loop, _ in _terms(expression)) for expression in map_.results)
    if not isinstance(value.type, ir.ShapedType):
        return Operand((), loops, *_element(value.type))
    kind = value.type
    shape = tuple(0 if kind.is_dynamic_dim(dim) else kind.get_dim_size(dim) for dim in range(kind.rank))
    return Operand(shape, loops, *_element(kind.element_type))


def _element(kind: Any) -> tuple[int, bool]:
    """The bits of an element (0 if it is no plain number), and whether it is floating-point."""
    ir = bindings().ir
    if isinstance(kind, (ir.IntegerType, ir.FloatType)):
        return kind.width, isinstance(kind, ir.FloatType)
    return (64 if isinstance(kind, ir.IndexType) else 0), False


def _loops(
    operation: Operation, operands: Sequence[Operand], inputs: int, count: int
) -> Iterator[IterationLoop]:
    reductions = _reductions(operation, operands[inputs:], count)
    is_fixed = len(reductions) > 1 and not _is_reorderable(operation, inputs)
    for loop in range(count):
        sizes = {
            size
            for operand in operands
            for size, loops in zip(operand.shape, operand.loops, strict=True)
            if loops == {loop}
        }
        extent = max(sizes, default=0)
        reduction = loop in reductions
        yield IterationLoop(extent, extent == 0, reduction, is_fixed and reduction)


def _reductions(operation: Operation, outputs: Sequence[Operand], count: int) -> set[int]:
    """The loops of which several iterations write the same element of an output."""
    parallel = {loop for output in outputs for loops in output.loops for loop in loops}
    kinds: Any = operation.attributes.get("iterator_types") or ()
    said = {loop for loop, kind in enumerate(kinds) if "parallel" not in str(kind)}
    return said | ({*range(count)} - parallel)


def _is_reorderable(operation: Operation, inputs: int) -> bool:
    """Whether every output is accumulated by one of the `_REORDERABLE` operations."""
    arguments = _body(operation).arguments
    results = _terminator(operation).operands
    return all(map(_is_combined, list(arguments)[inputs:], results))


def _is_combined(argument: Any, result: Any) -> bool:
    owner = getattr(result.owner, "operation", None)
    if owner is None or owner.name not in _REORDERABLE:
        return False
    return len(list(argument.uses)) == 1 and argument in list(owner.operands)
