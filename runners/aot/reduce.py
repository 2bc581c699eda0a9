# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that reduce dimensions: sums and other folds, ArgMax, softmax, and normalisations.

Sums of floats may be reordered, so that LLVM vectorizes them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Final

from llvmlite import ir

from passpilot.runners.aot.elementwise import dense_strides, elementwise, walk
from passpilot.runners.aot.emitter import I1, I64, Buffer, Emitter, Node, operator, refused
from passpilot.runners.aot.mathematics import Mathematics, Operand

Step = Callable[[ir.Value, ir.Value], ir.Value]
Map = Callable[[ir.Value], ir.Value]


class Reduction:
    """Walks a tensor by kept and reduced axes; `math` is for single values, `sums` may reorder floats."""

    def __init__(self, emit: Emitter, source: Buffer, axes: Sequence[int]) -> None:
        self.emit = emit
        self.source = source
        self.math = Mathematics(emit.builder, source.dtype)
        self.sums = Mathematics(emit.builder, source.dtype, ("contract", "reassoc"))
        strides = dense_strides(source.shape)
        kept = [axis for axis in range(len(source.shape)) if axis not in axes]
        self.kept = [source.shape[axis] for axis in kept]
        self.reduced = [source.shape[axis] for axis in axes]
        self._kept_strides = [strides[axis] for axis in kept]
        self._strides = [strides[axis] for axis in axes]
        self.count = prod(self.reduced)

    @contextlib.contextmanager
    def rows(self) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Loop over the kept positions; yield the first element's index, and the index in a dense result."""
        with walk(self.emit, self.kept, [self._kept_strides, dense_strides(self.kept)]) as (start, place):
            yield start, place

    @contextlib.contextmanager
    def elements(self, start: ir.Value) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Loop over one row's elements; yield the element's index in the tensor and in the row."""
        with walk(self.emit, self.reduced, [self._strides, dense_strides(self.reduced)]) as (offset, number):
            yield self.emit.builder.add(start, offset, flags=("nsw",)), number

    def fold(self, start: ir.Value, initial: Operand, step: Step, change: Map | None = None) -> ir.Value:
        """Fold one row to a value; `change` is applied to every element first."""
        kind, cell = self.math.type, self.emit.cell(self.math.type, self.math.of(initial))
        with self.elements(start) as (place, _):
            value = self.emit.load(self.source, place)
            value = change(value) if change else value
            self.emit.builder.store(step(self.emit.get(cell, kind), value), cell)
        return self.emit.get(cell, kind)

    def sum(self, start: ir.Value, change: Map | None = None) -> ir.Value:
        """The sum of one row."""
        return self.fold(start, 0, self.sums.add, change)

    def extreme(self, start: ir.Value, sign: str) -> ir.Value:
        """The largest or smallest element of one row; NaN if there is one."""
        worst = self.math.worst(sign)
        return self.fold(start, worst, lambda best, value: self.math.extreme(sign, value, best))

    def place_of_best(self, start: ir.Value, sign: str) -> ir.Value:
        """The place of the extreme in one row: of equals the first, or the last if `sign` has ``=``."""
        emit, build, kind = self.emit, self.emit.builder, self.math.type
        best, where = emit.cell(kind, emit.load(self.source, start)), emit.cell(I64, I64(0))
        with self.elements(start) as (at, number):
            value = emit.load(self.source, at)
            better = self.math.compare(sign, value, emit.get(best, kind))
            build.store(build.select(better, value, emit.get(best, kind)), best)
            build.store(build.select(better, number, emit.get(where, I64)), where)
        return emit.get(where, I64)


def _axes(node: Node, emit: Emitter, rank: int) -> list[int]:
    """The axes of a reduction: an input from opset 13 or 18 on, an attribute before; the default is all."""
    listed = node.integers("axes") or emit.integers(node, 1)
    if not listed:
        return [] if node.integer("noop_with_empty_axes", 0) else list(range(rank))
    return sorted({axis % rank for axis in listed})


_REDUCTIONS: Final = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare")


@operator(*(f"Reduce{name}" for name in _REDUCTIONS), constant=(1,))
def reduction(node: Node, emit: Emitter) -> None:
    """Folds axes to a single element."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    what = node.op_type.removeprefix("Reduce")
    if source.dtype.kind == "b" or (source.dtype.kind != "f" and what in ("L2", "LogSum", "LogSumExp")):
        raise refused(node, "tensors of numbers", str(source.dtype))
    if 0 in source.shape:
        raise refused(node, "a tensor with elements", f"one of shape {list(source.shape)}")
    tensor = Reduction(emit, source, _axes(node, emit, len(source.shape)))
    with tensor.rows() as (start, place):
        emit.store(output, place, _reduced(tensor, what, start))


def _reduced(tensor: Reduction, what: str, start: ir.Value) -> ir.Value:
    math, sums = tensor.math, tensor.sums
    if what in ("Max", "Min"):
        return tensor.extreme(start, ">" if what == "Max" else "<")
    if what == "Prod":
        return tensor.fold(start, 1, sums.mul)
    if what == "LogSumExp":
        top = tensor.extreme(start, ">")
        return math.add(top, math.log(tensor.sum(start, lambda x: math.exp(math.sub(x, top)))))
    square: Map = lambda x: sums.mul(x, x)  # noqa: E731  (a local of two uses)
    change: dict[str, Map] = {"L1": math.abs, "L2": square, "SumSquare": square}
    finish: dict[str, Map] = {
        "L2": math.sqrt,
        "LogSum": math.log,
        "Mean": lambda total: math.div(total, tensor.count),
    }
    total = tensor.sum(start, change.get(what))
    return finish[what](total) if what in finish else total


@operator("ArgMax", "ArgMin")
def arg_extreme(node: Node, emit: Emitter) -> None:
    """The index of the largest or smallest element, the first of equals (by select_last_index the last)."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    if source.dtype.kind == "b" or 0 in source.shape:
        raise refused(node, "numbers, at least one", f"{source.dtype} of shape {list(source.shape)}")
    sign = (">" if node.op_type == "ArgMax" else "<") + "=" * node.integer("select_last_index", 0)
    tensor = Reduction(emit, source, [node.integer("axis", 0) % len(source.shape)])
    with tensor.rows() as (start, place):
        emit.store(output, place, tensor.place_of_best(start, sign))


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(node: Node, emit: Emitter) -> None:
    """Softmax over an axis; before opset 13, over that axis and all later ones."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    rank = len(source.shape)
    axis = node.integer("axis", 1 if node.opset < 13 else -1) % rank
    softmax_rows(emit, source, output, range(axis, rank) if node.opset < 13 else [axis], node.op_type)


def softmax_rows(
    emit: Emitter, source: Buffer, output: Buffer, axes: Sequence[int], what: str = "Softmax"
) -> None:
    """Softmax over axes; the output has the source's layout."""
    tensor = Reduction(emit, source, axes)
    with tensor.rows() as (start, _):
        top = tensor.extreme(start, ">")
        (_hardmax if what == "Hardmax" else _softmax)(tensor, start, output, top, what)


def _softmax(tensor: Reduction, start: ir.Value, output: Buffer, top: ir.Value, what: str) -> None:
    emit, math = tensor.emit, tensor.math
    sum_of_powers = emit.cell(math.type, math.of(0))
    with tensor.elements(start) as (place, _):
        rest = math.sub(emit.load(tensor.source, place), top)
        power = math.exp(rest)
        emit.store(output, place, power if what == "Softmax" else rest)
        emit.builder.store(tensor.sums.add(emit.get(sum_of_powers, math.type), power), sum_of_powers)
    total = emit.get(sum_of_powers, math.type)
    last = total if what == "Softmax" else math.log(total)
    with tensor.elements(start) as (place, _):
        value = emit.load(output, place)
        emit.store(output, place, math.div(value, last) if what == "Softmax" else math.sub(value, last))


def _hardmax(tensor: Reduction, start: ir.Value, output: Buffer, top: ir.Value, _: str) -> None:
    """Store one at the first element that equals `top`, zero elsewhere."""
    emit, math = tensor.emit, tensor.math
    done = emit.cell(I1, I1(0))
    with tensor.elements(start) as (place, _number):
        equal, before = math.compare("==", emit.load(tensor.source, place), top), emit.get(done, I1)
        first = emit.builder.and_(equal, emit.builder.not_(before))
        emit.store(output, place, math.pick(first, 1, 0))
        emit.builder.store(emit.builder.or_(before, equal), done)


@operator("BatchNormalization")
def batch_normalization(node: Node, emit: Emitter) -> None:
    """Normalizes by the statistics of training, which are inputs; for inference only."""
    if node.integer("training_mode", 0) or len([name for name in node.outputs if name]) > 1:
        raise refused(node, "inference", "training", "export the model in evaluation mode")
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    math, epsilon = Mathematics(emit.builder, output.dtype), node.number("epsilon", 1e-5)
    ones = [1] * (len(source.shape) - 2)
    channels = [emit.value(name) for name in node.inputs[1:5]]

    def compute(values: list[ir.Value]) -> ir.Value:
        x, scale, bias, mean, variance = values
        root = math.sqrt(math.add(variance, epsilon))
        return math.add(math.div(math.mul(math.sub(x, mean), scale), root), bias)

    statistics = [replace(channel, shape=(channel.size, *ones)) for channel in channels]
    elementwise(emit, [source, *statistics], output, compute)


@operator("LayerNormalization")
def layer_normalization(node: Node, emit: Emitter) -> None:
    """Subtracts the mean and divides by the standard deviation, over the axes from `axis` on."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    rank = len(source.shape)
    axis = node.integer("axis", -1) % rank
    tensor = Reduction(emit, source, range(axis, rank))
    math, count, epsilon = tensor.math, tensor.count, node.number("epsilon", 1e-5)
    scale, bias = (emit.value(name) if name else None for name in (node.inputs[1], node.input(2)))
    for factor in filter(None, (scale, bias)):
        if factor.shape != source.shape[axis:]:
            expected = f"scale and bias of shape {list(source.shape[axis:])}"
            raise refused(node, expected, str(list(factor.shape)))
    with tensor.rows() as (start, place):
        mean = math.div(tensor.sum(start), count)

        def rest(x: ir.Value, mean: ir.Value = mean) -> ir.Value:
            return math.sub(x, mean)

        variance = math.div(tensor.sum(start, lambda x: math.mul(rest(x), rest(x))), count)
        inverse = math.div(1, math.sqrt(math.add(variance, epsilon)))
        for name, value in zip(node.outputs[1:], (mean, inverse), strict=False):
            if name:
                emit.store(emit.output(name), place, value)
        with tensor.elements(start) as (at, number):
            value = math.mul(rest(emit.load(source, at)), inverse)
            value = math.mul(value, emit.load(scale, number)) if scale else value
            emit.store(output, at, math.add(value, emit.load(bias, number)) if bias else value)


def row_norms(emit: Emitter, source: Buffer, norm: str) -> Buffer:
    """The norm MAX, L1 or L2 of every row, as a column."""
    tensor = Reduction(emit, source, [len(source.shape) - 1])
    norms = emit.scratch(source.dtype, (*source.shape[:-1], 1))
    with tensor.rows() as (start, place):
        emit.store(norms, place, _reduced(tensor, "Max" if norm == "MAX" else norm, start))
    return norms
