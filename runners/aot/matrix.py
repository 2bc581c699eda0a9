# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MatMul and Gemm: sums of products, in vector registers over neighbouring columns.

Weights are stored as [inner, columns]: one element of the left side is multiplied with a run of columns at a
time, and every sum follows the order of the inner dimension. Narrow results use several partial sums.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.elementwise import broadcast_strides, dense_strides, elementwise, walk
from passpilot.runners.aot.emitter import FLAGS, I32, Buffer, memory_type, operator, refused
from passpilot.runners.aot.mathematics import Real

if TYPE_CHECKING:
    from collections.abc import Iterator

    from passpilot.runners.aot.emitter import Array, Emitter, Node

_CHAINS: Final = 8


@operator("Gemm")
def gemm(node: Node, emit: Emitter) -> None:
    """alpha A B + beta C; A and B may be transposed."""
    left, right, output = emit.value(node.inputs[0]), node.inputs[1], emit.output(node.outputs[0])
    if output.dtype.kind != "f":
        raise refused(node, "floats", str(output.dtype))
    if node.integer("transA", 0):
        left = _transposed(left, emit)
    weights = _weights(right, emit, bool(node.integer("transB", 0)))
    product(emit, left, weights, output)
    alpha, beta = node.number("alpha", 1), node.number("beta", 1)
    bias = emit.value(node.inputs[2]) if node.input(2) and beta else None
    if alpha == 1 and bias is None:
        return
    real = Real(emit.builder, output.dtype)

    def finish(values: list[ir.Value]) -> ir.Value:
        total = values[0] if alpha == 1 else real.mul(values[0], real.of(alpha))
        if bias is None:
            return total
        return real.add(total, values[1] if beta == 1 else real.mul(values[1], real.of(beta)))

    elementwise(emit, [output] if bias is None else [output, bias], output, finish)


@operator("MatMul")
def matmul(node: Node, emit: Emitter) -> None:
    """Matrix products like numpy's, with broadcast leading dimensions."""
    left, right, output = emit.value(node.inputs[0]), emit.value(node.inputs[1]), emit.output(node.outputs[0])
    rows = left.shape if len(left.shape) > 1 else (1, *left.shape)
    columns = right.shape if len(right.shape) > 1 else (*right.shape, 1)
    batch = np.broadcast_shapes(rows[:-2], columns[:-2])
    (m, k), n = rows[-2:], columns[-1]
    scales = (m * k, k * n, m * n)
    counts = (rows[:-2], columns[:-2], batch)
    strides = [
        [step * scale for step in broadcast_strides(shape, batch)]
        for shape, scale in zip(counts, scales, strict=True)
    ]
    with walk(emit, batch, strides) as offsets:
        parts = [
            Buffer(emit.address(whole, offset), whole.dtype, shape)
            for whole, offset, shape in zip(
                (left, right, output), offsets, ((m, k), (k, n), (m, n)), strict=True
            )
        ]
        product(emit, parts[0], parts[1], parts[2])


def _transposed(buffer: Buffer, emit: Emitter) -> Buffer:
    rows, columns = buffer.shape
    made = emit.scratch(buffer.dtype, (columns, rows))
    with walk(emit, made.shape, [dense_strides(made.shape), [1, columns]]) as (to, at):
        emit.store(made, to, emit.load(buffer, at))
    return made


def _weights(name: str, emit: Emitter, transposed: bool) -> Buffer:
    """A matrix as [inner, columns]; a constant one is transposed at compile time."""
    known = emit.static(name)
    if not transposed:
        return emit.value(name)
    return _transposed(emit.value(name), emit) if known is None else constant_matrix(known.T, emit)


def constant_matrix(array: Array, emit: Emitter) -> Buffer:
    """Add a constant tensor to the model."""
    return Buffer(emit.constant(array), array.dtype, array.shape)


def product(emit: Emitter, left: Buffer, right: Buffer, output: Buffer) -> None:
    """Multiply [rows, inner] with [inner, columns], both dense."""
    rows, inner = left.shape
    columns = right.shape[1]
    build = emit.builder
    with emit.loop(rows) as row:
        left_row = build.mul(row, emit.int64(inner), flags=("nsw",))
        output_row = build.mul(row, emit.int64(columns), flags=("nsw",))
        for first, count, width in _runs(columns, emit.wide * 4 // output.dtype.itemsize):
            with emit.loop(first + count * width, width, first) as column:
                total = _Sum(emit, left, right, width).over(left_row, column)
                emit_store(emit, output, build.add(output_row, column, flags=("nsw",)), total)


def _runs(columns: int, widest: int) -> Iterator[tuple[int, int, int]]:
    """Split columns into (first column, number of runs, width of a run); widths halve from `widest` on."""
    first, width = 0, widest
    while first < columns:
        count = (columns - first) // width
        if count:
            yield first, count, width
        first += count * width
        width //= 2


def emit_store(emit: Emitter, output: Buffer, index: ir.Value, value: ir.Value) -> None:
    """Set neighbouring elements."""
    emit.builder.store(value, emit.address(output, index), align=output.dtype.itemsize)


class _Sum:
    """Multiplies one row of `left` with `width` neighbouring columns of `right`."""

    def __init__(self, emit: Emitter, left: Buffer, right: Buffer, width: int) -> None:
        self.emit = emit
        self.left = left
        self.right = right
        self.width = width
        self.inner, self.columns = right.shape
        self.element = memory_type(left.dtype)
        self.vector = ir.VectorType(self.element, width)
        widest = emit.wide * 4 // left.dtype.itemsize
        self.chains = max(1, min(_CHAINS, widest // width, self.inner))

    def over(self, row: ir.Value, column: ir.Value) -> ir.Value:
        emit, zero = self.emit, ir.Constant(self.vector, [_zero(self.element)] * self.width)
        sums = [emit.cell(self.vector, zero) for _ in range(self.chains)]
        whole = self.inner // self.chains * self.chains
        with emit.loop(whole, self.chains) as at:
            for offset, total in enumerate(sums):
                self._step(total, row, column, emit.builder.add(at, emit.int64(offset), flags=("nsw",)))
        for at in range(whole, self.inner):
            self._step(sums[at - whole], row, column, emit.int64(at))
        values = [emit.get(total, self.vector) for total in sums]
        while len(values) > 1:
            values = [self._add(a, b) for a, b in zip(values[::2], values[1::2], strict=False)] + (
                values[-1:] if len(values) % 2 else []
            )
        return values[0]

    def _step(self, total: ir.Value, row: ir.Value, column: ir.Value, at: ir.Value) -> None:
        emit, build = self.emit, self.emit.builder
        value = emit.load(self.left, build.add(row, at, flags=("nsw",)))
        undefined = ir.Constant(self.vector, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(I32, self.width), [0] * self.width)
        many = build.shuffle_vector(build.insert_element(undefined, value, I32(0)), undefined, lanes)
        place = build.add(build.mul(at, emit.int64(self.columns), flags=("nsw",)), column, flags=("nsw",))
        weights = build.load(emit.address(self.right, place), typ=self.vector)
        weights.align = self.right.dtype.itemsize
        times = build.fmul(many, weights, flags=FLAGS) if self._real else build.mul(many, weights)
        build.store(self._add(emit.get(total, self.vector), times), total)

    @property
    def _real(self) -> bool:
        return self.left.dtype.kind == "f"

    def _add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.emit.builder.fadd(a, b, flags=FLAGS) if self._real else self.emit.builder.add(a, b)


def _zero(kind: ir.Type) -> ir.Constant:
    return ir.Constant(kind, 0 if isinstance(kind, ir.IntType) else 0.0)
