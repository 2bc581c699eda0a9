# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a loop of a structured linalg operation that may be tiled.

The runner decides on one loop after the other, outermost first; `sizes` has the decisions made so far for
the operation. Values known at run time only are 0, and flagged. Tensors per loop have `MOST_LOOPS` elements,
tensors per operand `OPERANDS`; further operands are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from passpilot.features.domain import Choice
from passpilot.features.mlir.tileable import MOST_LOOPS, IterationLoop, Operand, Structured
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

TILE_SIZES: Final = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
"""The tile size of each choice; 0 does not tile the loop."""

OPERANDS: Final = 4
RANK: Final = 6
"""The number of operands, and of dimensions per operand, that features describe."""

_DIVISIONS: Final = frozenset(
    f"arith.{name}"
    for name in ("divf", "divsi", "divui", "remf", "remsi", "remui", "floordivsi", "ceildivsi")
)
_MULTIPLICATIONS: Final = frozenset({"arith.mulf", "arith.muli"})
_FREE: Final = frozenset(
    f"arith.{name}"
    for name in (
        *("constant", "bitcast", "extf", "extsi", "extui", "truncf", "trunci"),
        *("fptosi", "fptoui", "sitofp", "uitofp", "index_cast", "index_castui"),
    )
)
"""Operations of arith that do not count as arithmetic."""


FEATURES: Final = (
    row("loop", "the loop that is asked about, 0 for the outermost"),
    row("extent", "iterations of the loop"),
    row("is_dynamic", "1 if the extent of the loop is known at run time only"),
    row("is_reduction", "1 if iterations of the loop meet in one element of an output"),
    row("operands_indexed", "operands that the loop indexes"),
    row("operands_contiguous", "operands of which the loop alone indexes the last dimension"),
    row("loops", "loops of the operation"),
    row("parallel_loops", "loops whose iterations meet in no element of an output"),
    row("extents", "iterations of each loop", shape=(MOST_LOOPS,)),
    row("dynamic", "1 for each loop whose extent is known at run time only", shape=(MOST_LOOPS,)),
    row("reductions", "1 for each loop whose iterations meet in one element", shape=(MOST_LOOPS,)),
    row("sizes", "the tile size of each loop that is decided on; 0 for others", shape=(MOST_LOOPS,)),
    row("inputs", "operands that are inputs"),
    row("outputs", "operands that are outputs"),
    row("ranks", "dimensions of each operand, inputs first; 0 for a scalar", shape=(OPERANDS,)),
    row("shapes", "sizes of each operand", shape=(OPERANDS, RANK)),
    row("element_bits", "bits of an element of each operand", shape=(OPERANDS,)),
    row("element_is_float", "1 for each operand of floating-point numbers", shape=(OPERANDS,)),
    row("is_tensor", "1 if the operation is on tensors, 0 if on memrefs"),
    row("is_contraction", "1 for products that are summed up: matmul, matvec, dot, ..."),
    row("is_convolution", "1 for convolutions and pooling"),
    row("iterations", "iterations of all loops", "float64"),
    row("flops", "arithmetic operations of all iterations", "float64"),
    row("bytes", "memory of all operands", "float64"),
    row("intensity", "arithmetic operations per byte", "float64"),
    row("body_operations", "operations of the body"),
    row("body_arithmetic", "arithmetic operations of the body, those of math included"),
    row("body_multiplications", "multiplications in the body"),
    row("body_divisions", "divisions and remainders in the body"),
    row("body_math", "operations of math in the body, such as math.exp"),
    row("body_indices", "reads of the loops' numbers in the body"),
    row("loop_depth", "loops of scf and affine around the operation"),
    row("producers", "operands that another operation of linalg gives"),
    row("consumers", "uses of the results by other operations of linalg"),
    row("planned", "the size in a plan of `advised-schedule`; 0 without a plan"),
    row("mask", "1 for each size that is allowed", shape=(1, len(TILE_SIZES))),
)

LOOPS: Final = frozenset(
    ("scf.for", "scf.while", "scf.parallel", "scf.forall", "affine.for", "affine.parallel")
)
"""Operations whose regions may run several times."""

TABLE: Final = PointTable(
    "mlir-tile", FEATURES, TensorSpec("tile_choice", "int64", (1,)), Choice(len(TILE_SIZES), "mask")
)
"""The answer is an index into `TILE_SIZES`."""


def may_tile(loop: IterationLoop) -> bool:
    """Whether a tile size other than 0 is allowed."""
    return not loop.is_fixed and loop.extent != 1


def observe_operation(op: Structured) -> Mapping[str, object]:
    """The feature values shared by all loops of an operation."""
    kinds = [loop.is_reduction for loop in op.loops]
    return {
        "loops": len(op.loops),
        "parallel_loops": kinds.count(False),
        "extents": _padded([loop.extent for loop in op.loops], MOST_LOOPS),
        "dynamic": _padded([loop.is_dynamic for loop in op.loops], MOST_LOOPS),
        "reductions": _padded(kinds, MOST_LOOPS),
        **_operand_rows(op),
        **_body_rows(op),
        **_place_rows(op.operation),
    }


def observe_loop(op: Structured, number: int, sizes: Sequence[int], planned: int = 0) -> Mapping[str, object]:
    """The feature values of loop `number`; `sizes` are the tile sizes decided so far."""
    loop, only = op.loops[number], (frozenset((number,)),)
    return {
        "loop": number,
        "extent": loop.extent,
        "is_dynamic": loop.is_dynamic,
        "is_reduction": loop.is_reduction,
        "operands_indexed": sum(any(number in loops for loops in operand.loops) for operand in op.operands),
        "operands_contiguous": sum(operand.loops[-1:] == only for operand in op.operands),
        "sizes": _padded(sizes, MOST_LOOPS),
        "planned": planned,
        "mask": [[loop.is_dynamic or size < loop.extent for size in TILE_SIZES]],
    }


def _operand_rows(op: Structured) -> Mapping[str, object]:
    shown = op.operands[:OPERANDS]
    return {
        "inputs": op.inputs,
        "outputs": len(op.operands) - op.inputs,
        "ranks": _padded([len(operand.shape) for operand in shown], OPERANDS),
        "shapes": [_shape(shown, index) for index in range(OPERANDS)],
        "element_bits": _padded([operand.bits for operand in shown], OPERANDS),
        "element_is_float": _padded([operand.is_float for operand in shown], OPERANDS),
        "bytes": op.bytes,
    }


def _shape(operands: Sequence[Operand], index: int) -> list[int]:
    return _padded(operands[index].shape[:RANK] if index < len(operands) else (), RANK)


def _padded(values: Sequence[int], count: int) -> list[int]:
    return [*values, *[0] * (count - len(values))]


def arithmetic_of(op: Structured) -> int:
    """The arithmetic operations of the body of an operation, those of math included."""
    return sum(
        count for name, count in op.body.items() if name.startswith(("arith.", "math.")) and name not in _FREE
    )


def _body_rows(op: Structured) -> Mapping[str, object]:
    names = op.body
    math = sum(count for name, count in names.items() if name.startswith("math."))
    flops = op.iterations * arithmetic_of(op)
    return {
        "is_contraction": op.is_contraction,
        "is_convolution": op.is_convolution,
        "iterations": op.iterations,
        "flops": flops,
        "intensity": flops / op.bytes if op.bytes else 0.0,
        "body_operations": names.total(),
        "body_arithmetic": arithmetic_of(op),
        "body_multiplications": sum(names[name] for name in _MULTIPLICATIONS),
        "body_divisions": sum(names[name] for name in _DIVISIONS),
        "body_math": math,
        "body_indices": names["linalg.index"],
    }


def _place_rows(operation: Operation) -> Mapping[str, object]:
    return {
        "is_tensor": bool(operation.results),
        "loop_depth": depth_of(operation),
        "producers": sum(map(_is_structured, (value.owner for value in operation.operands))),
        "consumers": sum(_is_structured(use.owner) for result in operation.results for use in result.uses),
    }


def depth_of(operation: Operation) -> int:
    """The loops of scf and affine around an operation."""
    depth, around = 0, operation.parent
    while around is not None:
        depth += around.name in LOOPS
        around = around.parent
    return depth


def _is_structured(owner: object) -> bool:
    operation = getattr(owner, "operation", None)
    return operation is not None and operation.name.startswith("linalg.")
