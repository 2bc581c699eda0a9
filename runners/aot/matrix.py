# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""MatMul and Gemm: sums of products, in vector registers over neighbouring columns.

Weights are stored as [inner, columns]: one element of the left side is multiplied with a run of columns at a
time, and every sum follows the order of the inner dimension. Narrow results use several partial sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.elementwise import broadcast_strides, dense_strides, elementwise, walk
from passpilot.runners.aot.emitter import I32, I64, Buffer, Emitter, Node, operator, refused
from passpilot.runners.aot.mathematics import Mathematics

_CHAINS: Final = 8


@operator("Gemm")
def gemm(node: Node, emit: Emitter) -> None:
    """alpha A B + beta C; A and B may be transposed."""
    left, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    known, turned = emit.static(node.inputs[1]), node.integer("transB", 0)
    if output.dtype.kind != "f":
        raise refused(node, "floats", str(output.dtype))
    if node.integer("transA", 0):
        left = _transposed(left, emit)
    if turned and known is not None:
        right = emit.constant(known.T)
    else:
        right = emit.value(node.inputs[1])
        right = _transposed(right, emit) if turned else right
    product(emit, left, right, output)
    alpha, beta = node.number("alpha", 1), node.number("beta", 1)
    bias = [emit.value(node.inputs[2])] if node.input(2) and beta else []
    if alpha == 1 and not bias:
        return
    math = Mathematics(emit.builder, output.dtype)

    def finish(values: list[ir.Value]) -> ir.Value:
        total, *rest = (
            value if factor == 1 else math.mul(value, factor)
            for value, factor in zip(values, (alpha, beta), strict=False)
        )
        return math.add(total, *rest) if rest else total

    elementwise(emit, [output, *bias], output, finish)


@operator("MatMul")
def matmul(node: Node, emit: Emitter) -> None:
    """Matrix products like numpy's, with broadcast leading dimensions."""
    left, right, output = emit.value(node.inputs[0]), emit.value(node.inputs[1]), emit.output(node.outputs[0])
    rows = left.shape if len(left.shape) > 1 else (1, *left.shape)
    columns = right.shape if len(right.shape) > 1 else (*right.shape, 1)
    batch = np.broadcast_shapes(rows[:-2], columns[:-2])
    matrices = (rows[-2:], columns[-2:], (rows[-2], columns[-1]))
    strides = [
        [step * prod(matrix) for step in broadcast_strides(shape, batch)]
        for shape, matrix in zip((rows[:-2], columns[:-2], batch), matrices, strict=True)
    ]
    with walk(emit, batch, strides) as offsets:
        tensors = zip((left, right, output), offsets, matrices, strict=True)
        parts = (Buffer(emit.address(tensor, at), tensor.dtype, shape) for tensor, at, shape in tensors)
        product(emit, *parts)


def _transposed(buffer: Buffer, emit: Emitter) -> Buffer:
    rows, columns = buffer.shape
    transposed = emit.scratch(buffer.dtype, (columns, rows))
    with walk(emit, transposed.shape, [dense_strides(transposed.shape), [1, columns]]) as (to, at):
        emit.store(transposed, to, emit.load(buffer, at))
    return transposed


def product(emit: Emitter, left: Buffer, right: Buffer, output: Buffer) -> None:
    """Multiply [rows, inner] with [inner, columns], both dense."""
    rows, inner = left.shape
    columns = right.shape[1]
    build = emit.builder
    with emit.loop(rows) as row:
        left_row = build.mul(row, I64(inner), flags=("nsw",))
        output_row = build.mul(row, I64(columns), flags=("nsw",))
        for first, count, width in _runs(columns, emit.wide * 4 // output.dtype.itemsize):
            with emit.loop(first + count * width, width, first) as column:
                total = _Sum(emit, left, right, width).over(left_row, column)
                place = emit.address(output, build.add(output_row, column, flags=("nsw",)))
                build.store(total, place, align=output.dtype.itemsize)


def _runs(columns: int, widest: int) -> Iterator[tuple[int, int, int]]:
    """Split columns into (first column, number of runs, width of a run); widths halve from `widest` on."""
    first, width = 0, widest
    while first < columns:
        count = (columns - first) // width
        if count:
            yield first, count, width
        first += count * width
        width //= 2


class _Sum:
    """Multiplies one row of `left` with `width` neighbouring columns of `right`."""

    def __init__(self, emit: Emitter, left: Buffer, right: Buffer, width: int) -> None:
        self.emit = emit
        self.left = left
        self.right = right
        self.width = width
        self.inner, self.columns = right.shape
        self.math = Mathematics(emit.builder, left.dtype)
        self.vector = ir.VectorType(left.element, width)
        widest = emit.wide * 4 // left.dtype.itemsize
        self.chains = max(1, min(_CHAINS, widest // width, self.inner))

    def over(self, row: ir.Value, column: ir.Value) -> ir.Value:
        emit, add = self.emit, self.math.add
        zero = ir.Constant(self.vector, [self.math.of(0)] * self.width)
        sums = [emit.cell(self.vector, zero) for _ in range(self.chains)]
        whole = self.inner // self.chains * self.chains
        with emit.loop(whole, self.chains) as at:
            for offset, total in enumerate(sums):
                self._step(total, row, column, emit.builder.add(at, I64(offset), flags=("nsw",)))
        for at in range(whole, self.inner):
            self._step(sums[at - whole], row, column, I64(at))
        values = [emit.get(total, self.vector) for total in sums]
        while len(values) > 1:
            odd = values[len(values) // 2 * 2 :]
            values = [add(a, b) for a, b in zip(values[::2], values[1::2], strict=False)] + odd
        return values[0]

    def _step(self, total: ir.Value, row: ir.Value, column: ir.Value, at: ir.Value) -> None:
        emit, build = self.emit, self.emit.builder
        value = emit.load(self.left, build.add(row, at, flags=("nsw",)))
        undefined = ir.Constant(self.vector, ir.Undefined)
        lanes = ir.Constant(ir.VectorType(I32, self.width), [0] * self.width)
        many = build.shuffle_vector(build.insert_element(undefined, value, I32(0)), undefined, lanes)
        place = build.add(build.mul(at, I64(self.columns), flags=("nsw",)), column, flags=("nsw",))
        weights = build.load(emit.address(self.right, place), typ=self.vector)
        weights.align = self.right.dtype.itemsize
        build.store(self.math.add(emit.get(total, self.vector), self.math.mul(many, weights)), total)
