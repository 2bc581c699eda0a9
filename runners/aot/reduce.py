# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that reduce dimensions: sums and other folds, ArgMax, softmax, and normalisations.

Sums of floats may be reordered, so that LLVM vectorizes them.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.elementwise import compare, dense_strides, elementwise, walk
from passpilot.runners.aot.emitter import I64, Buffer, memory_type, operator, refused
from passpilot.runners.aot.mathematics import Real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from passpilot.runners.aot.emitter import Emitter, Node

    Step = Callable[[ir.Value, ir.Value], ir.Value]
    Map = Callable[[ir.Value], ir.Value]

_ANY_ORDER: Final = ("contract", "reassoc")


class _Reduction:
    """Walks a tensor by kept and reduced axes."""

    def __init__(self, emit: Emitter, source: Buffer, axes: Sequence[int]) -> None:
        self.emit = emit
        self.source = source
        strides = dense_strides(source.shape)
        kept = [axis for axis in range(len(source.shape)) if axis not in axes]
        self.kept = [source.shape[axis] for axis in kept]
        self.reduced = [source.shape[axis] for axis in axes]
        self._kept_strides = [strides[axis] for axis in kept]
        self._strides = [strides[axis] for axis in axes]
        self.count = int(np.prod(self.reduced, dtype=np.int64))

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

    def fold(self, start: ir.Value, initial: ir.Value, step: Step, change: Map | None = None) -> ir.Value:
        """Fold one row to a value; `change` is applied to every element first."""
        cell = self.emit.cell(initial.type, initial)
        with self.elements(start) as (place, _):
            value = self.emit.load(self.source, place)
            value = change(value) if change else value
            self.emit.builder.store(step(self.emit.get(cell, initial.type), value), cell)
        return self.emit.get(cell, initial.type)


def _axes(node: Node, emit: Emitter, rank: int) -> list[int]:
    """The axes of a reduction: an input from opset 13 or 18 on, an attribute before; the default is all."""
    listed = node.integers("axes") or emit.integers(node, 1)
    if not listed:
        return [] if node.integer("noop_with_empty_axes", 0) else list(range(rank))
    return sorted({axis % rank for axis in listed})


class _Arithmetic:
    """Arithmetic on registers of integers or floats."""

    def __init__(self, emit: Emitter, dtype: np.dtype[np.generic]) -> None:
        self.build = emit.builder
        self.real = dtype.kind == "f"
        self.dtype = dtype
        self.type = memory_type(dtype)

    def of(self, value: float) -> ir.Constant:
        return ir.Constant(self.type, float(value) if self.real else int(value))

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.build.fadd(a, b, flags=_ANY_ORDER) if self.real else self.build.add(a, b)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.build.fmul(a, b, flags=_ANY_ORDER) if self.real else self.build.mul(a, b)

    def size(self, x: ir.Value) -> ir.Value:
        zero = self.of(0)
        if self.real:
            return Real(self.build, self.dtype).call("fabs", x)
        return self.build.select(self.build.icmp_signed("<", x, zero), self.build.neg(x), x)

    def extreme(self, sign: str) -> Step:
        """The larger or smaller of two; NaN if either is NaN."""

        def pick(a: ir.Value, b: ir.Value) -> ir.Value:
            better = compare(self.build, sign, self.dtype, b, a)
            if self.real:
                better = self.build.or_(better, self.build.fcmp_unordered("uno", b, b))
            return self.build.select(better, b, a)

        return pick

    def least(self, sign: str) -> ir.Constant:
        """The initial value of a search for an extreme."""
        if self.real:
            return ir.Constant(self.type, float("-inf") if sign == ">" else float("inf"))
        limits = np.iinfo(self.dtype.name)
        return ir.Constant(self.type, int(limits.min if sign == ">" else limits.max))


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
    found = _Reduction(emit, source, _axes(node, emit, len(source.shape)))
    with found.rows() as (start, place):
        emit.store(output, place, _reduced(found, what, start))


def _reduced(found: _Reduction, what: str, start: ir.Value) -> ir.Value:
    emit, dtype = found.emit, found.source.dtype
    number = _Arithmetic(emit, dtype)
    if what in ("Max", "Min"):
        sign = ">" if what == "Max" else "<"
        return found.fold(start, number.least(sign), number.extreme(sign))
    if what == "Prod":
        return found.fold(start, number.of(1), number.mul)
    if what == "LogSumExp":
        real = Real(emit.builder, dtype)
        top = found.fold(start, number.least(">"), number.extreme(">"))
        total = found.fold(start, number.of(0), number.add, lambda x: real.exp(real.sub(x, top)))
        return real.add(top, real.log(total))
    change: Map | None = {"L1": number.size}.get(what)
    if what in ("L2", "SumSquare"):
        change = lambda x: number.mul(x, x)  # noqa: E731  (a local of two uses)
    total = found.fold(start, number.of(0), number.add, change)
    return _finished(emit, number, what, total, found.count)


def _finished(emit: Emitter, number: _Arithmetic, what: str, total: ir.Value, count: int) -> ir.Value:
    if what == "Mean" and not number.real:
        divide = emit.builder.sdiv if number.dtype.kind == "i" else emit.builder.udiv
        return divide(total, number.of(count))
    if what == "Mean":
        return Real(emit.builder, number.dtype).div(total, number.of(count))
    if what == "L2":
        return Real(emit.builder, number.dtype).call("sqrt", total)
    return Real(emit.builder, number.dtype).log(total) if what == "LogSum" else total


@operator("ArgMax", "ArgMin")
def arg_extreme(node: Node, emit: Emitter) -> None:
    """The index of the largest or smallest element, the first of equals (by select_last_index the last)."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    if source.dtype.kind == "b" or 0 in source.shape:
        raise refused(node, "numbers, at least one", f"{source.dtype} of shape {list(source.shape)}")
    sign = ">" if node.op_type == "ArgMax" else "<"
    sign += "=" * node.integer("select_last_index", 0)
    found = _Reduction(emit, source, [node.integer("axis", 0) % len(source.shape)])
    kind, build = memory_type(source.dtype), emit.builder
    with found.rows() as (start, place):
        best = emit.cell(kind, emit.load(source, start))
        where = emit.cell(I64, emit.int64(0))
        with found.elements(start) as (at, number):
            value = emit.load(source, at)
            better = compare(build, sign, source.dtype, value, emit.get(best, kind))
            build.store(build.select(better, value, emit.get(best, kind)), best)
            build.store(build.select(better, number, emit.get(where, I64)), where)
        emit.store(output, place, emit.get(where, I64))


@operator("Softmax", "LogSoftmax", "Hardmax")
def softmax(node: Node, emit: Emitter) -> None:
    """Softmax over an axis; before opset 13, over that axis and all later ones."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    rank = len(source.shape)
    axis = node.integer("axis", 1 if node.opset < 13 else -1) % rank
    found = _Reduction(emit, source, list(range(axis, rank)) if node.opset < 13 else [axis])
    with found.rows() as (start, _):
        softmax_row(found, start, output, node.op_type)


def softmax_row(found: _Reduction, start: ir.Value, output: Buffer, what: str) -> None:
    """One row of a softmax; the output has the source's layout."""
    emit = found.emit
    real, number = Real(emit.builder, output.dtype), _Arithmetic(emit, output.dtype)
    top = found.fold(start, number.least(">"), number.extreme(">"))
    if what == "Hardmax":
        _mark_first(found, start, output, top)
        return
    total = emit.cell(real.type, real.of(0))
    with found.elements(start) as (place, _):
        rest = real.sub(emit.load(found.source, place), top)
        power = real.exp(rest)
        emit.store(output, place, power if what == "Softmax" else rest)
        emit.builder.store(number.add(emit.get(total, real.type), power), total)
    whole = emit.get(total, real.type)
    last = whole if what == "Softmax" else real.log(whole)
    with found.elements(start) as (place, _):
        value = emit.load(output, place)
        emit.store(output, place, real.div(value, last) if what == "Softmax" else real.sub(value, last))


def _mark_first(found: _Reduction, start: ir.Value, output: Buffer, top: ir.Value) -> None:
    """Store one at the first element that equals `top`, zero elsewhere."""
    emit, real = found.emit, Real(found.emit.builder, output.dtype)
    build = emit.builder
    done = emit.cell(ir.IntType(1), ir.Constant(ir.IntType(1), 0))
    with found.elements(start) as (place, _):
        equal = build.fcmp_ordered("==", emit.load(found.source, place), top)
        before = emit.get(done, ir.IntType(1))
        first = build.and_(equal, build.not_(before))
        emit.store(output, place, build.select(first, real.of(1), real.of(0)))
        build.store(build.or_(before, equal), done)


def softmax_rows(emit: Emitter, source: Buffer, output: Buffer) -> None:
    """Softmax over the last axis."""
    found = _Reduction(emit, source, [len(source.shape) - 1])
    with found.rows() as (start, _):
        softmax_row(found, start, output, "Softmax")


@operator("BatchNormalization")
def batch_normalization(node: Node, emit: Emitter) -> None:
    """Normalizes by the statistics of training, which are inputs; for inference only."""
    if node.integer("training_mode", 0) or len([name for name in node.outputs if name]) > 1:
        raise refused(node, "inference", "training", "export the model in evaluation mode")
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    real = Real(emit.builder, output.dtype)
    epsilon = real.of(node.number("epsilon", 1e-5))
    shape = (-1, *[1] * (len(source.shape) - 2))
    channels = [emit.value(name) for name in node.inputs[1:5]]
    wide = [
        Buffer(
            channel.pointer,
            channel.dtype,
            (channel.size, *shape[1:]) if len(source.shape) > 1 else (channel.size,),
        )
        for channel in channels
    ]

    def compute(values: list[ir.Value]) -> ir.Value:
        x, scale, bias, mean, variance = values
        root = real.call("sqrt", real.add(variance, epsilon))
        return real.add(real.div(real.mul(real.sub(x, mean), scale), root), bias)

    elementwise(emit, [source, *wide], output, compute)


@operator("LayerNormalization")
def layer_normalization(node: Node, emit: Emitter) -> None:
    """Subtracts the mean and divides by the standard deviation, over the axes from `axis` on."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    rank = len(source.shape)
    axis = node.integer("axis", -1) % rank
    found = _Reduction(emit, source, range(axis, rank))
    real, number = Real(emit.builder, source.dtype), _Arithmetic(emit, source.dtype)
    epsilon, count = real.of(node.number("epsilon", 1e-5)), real.of(found.count)
    scale, bias = (emit.value(name) if name else None for name in (node.inputs[1], node.input(2)))
    for tensor in filter(None, (scale, bias)):
        if tensor.shape != source.shape[axis:]:
            raise refused(
                node, f"scale and bias of shape {list(source.shape[axis:])}", str(list(tensor.shape))
            )
    with found.rows() as (start, place):
        mean = real.div(found.fold(start, real.of(0), number.add), count)

        def square(x: ir.Value, mean: ir.Value = mean) -> ir.Value:
            return real.mul(real.sub(x, mean), real.sub(x, mean))

        variance = real.div(found.fold(start, real.of(0), number.add, square), count)
        inverse = real.div(real.of(1), real.call("sqrt", real.add(variance, epsilon)))
        _store_statistics(node, emit, place, mean, inverse)
        with found.elements(start) as (at, number_in):
            value = real.mul(real.sub(emit.load(source, at), mean), inverse)
            value = real.mul(value, emit.load(scale, number_in)) if scale else value
            emit.store(output, at, real.add(value, emit.load(bias, number_in)) if bias else value)


def _store_statistics(node: Node, emit: Emitter, place: ir.Value, mean: ir.Value, inverse: ir.Value) -> None:
    for name, value in zip(node.outputs[1:], (mean, inverse), strict=False):
        if name:
            emit.store(emit.output(name), place, value)


def row_norms(emit: Emitter, source: Buffer, norm: str) -> Buffer:
    """The norm MAX, L1 or L2 of every row, as a column."""
    number, rank = _Arithmetic(emit, source.dtype), len(source.shape)
    found = _Reduction(emit, source, [rank - 1])
    norms = emit.scratch(source.dtype, (*source.shape[:-1], 1))
    with found.rows() as (start, place):
        if norm == "MAX":
            value = found.fold(start, number.least(">"), number.extreme(">"))
        else:
            value = _reduced(found, norm, start)
        emit.store(norms, place, value)
    return norms
