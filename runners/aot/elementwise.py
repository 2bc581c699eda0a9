# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators, whose inputs are broadcast like numpy's."""

from __future__ import annotations

import contextlib
from functools import reduce
from typing import TYPE_CHECKING, Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.emitter import FLAGS, I1, OPERATORS, operator, refused, register_type
from passpilot.runners.aot.mathematics import Real

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from passpilot.runners.aot.emitter import Buffer, Emitter, Node

    DType = np.dtype[np.generic]
    Compute = Callable[[list[ir.Value]], ir.Value]
    Binary = Callable[[ir.IRBuilder, ir.Value, ir.Value], ir.Value]


@contextlib.contextmanager
def walk(emit: Emitter, shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Iterator[list[ir.Value]]:
    """Loop over all positions of `shape`; yield one offset for every row of `strides`."""
    sizes, rows = _collapsed(shape, strides)
    build = emit.builder
    with contextlib.ExitStack() as stack:
        offsets: list[ir.Value] = [emit.int64(0)] * len(rows)
        for axis, size in enumerate(sizes):
            index = stack.enter_context(emit.loop(size))
            for at, row in enumerate(rows):
                if row[axis]:
                    step = build.mul(index, emit.int64(row[axis]), flags=("nsw",))
                    offsets[at] = build.add(offsets[at], step, flags=("nsw",))
        yield offsets


def _collapsed(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """The same walk in fewer dimensions: drop those of size one, and join those that are contiguous."""
    sizes: list[int] = []
    rows: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        here = [row[axis] for row in strides]
        if sizes and all(row[-1] == step * size for row, step in zip(rows, here, strict=True)):
            sizes[-1] *= size
            for row, step in zip(rows, here, strict=True):
                row[-1] = step
            continue
        sizes.append(size)
        for row, step in zip(rows, here, strict=True):
            row.append(step)
    return sizes, rows


def dense_strides(shape: Sequence[int]) -> list[int]:
    """The strides of a dense tensor, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return strides


def broadcast_strides(shape: Sequence[int], target: Sequence[int]) -> list[int]:
    """The strides that repeat a dense tensor over a larger shape."""
    dense = dense_strides(shape)
    own = [0 if size == 1 else step for size, step in zip(shape, dense, strict=True)]
    return [0] * (len(target) - len(shape)) + own


def elementwise(emit: Emitter, inputs: Sequence[Buffer], output: Buffer, compute: Compute) -> None:
    """Set every element of `output` to `compute` of the inputs' elements."""
    strides = [broadcast_strides(tensor.shape, output.shape) for tensor in inputs]
    with walk(emit, output.shape, [*strides, dense_strides(output.shape)]) as offsets:
        values = [emit.load(tensor, at) for tensor, at in zip(inputs, offsets, strict=False)]
        emit.store(output, offsets[-1], compute(values))


def _inputs(node: Node, emit: Emitter) -> list[Buffer]:
    return [emit.value(name) for name in node.inputs]


def _binary(name: str, real: Binary, signed: Binary | None, unsigned: Binary | None = None) -> None:
    """Register an operator on two or more inputs of one type, with an output of that type."""

    def lower(node: Node, emit: Emitter) -> None:
        inputs, output = _inputs(node, emit), emit.output(node.outputs[0])
        kind = output.dtype.kind
        function = {"f": real, "i": signed, "u": unsigned or signed}.get(kind)
        if function is None:
            raise refused(node, "tensors of numbers", str(output.dtype))
        elementwise(
            emit, inputs, output, lambda values: reduce(lambda a, b: function(emit.builder, a, b), values)
        )

    OPERATORS[name] = lower


def _larger(build: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    """The maximum; NaN if either is NaN."""
    first = build.or_(build.fcmp_ordered(">", a, b), build.fcmp_unordered("uno", a, a))
    return build.select(first, a, b)


def _smaller(build: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    first = build.or_(build.fcmp_ordered("<", a, b), build.fcmp_unordered("uno", a, a))
    return build.select(first, a, b)


def _quotient(signed: bool) -> Binary:
    """Integer division that never traps: x / 0 is zero, and the smallest integer / -1 is itself."""

    def divide(build: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
        zero, one = ir.Constant(b.type, 0), ir.Constant(b.type, 1)
        by_zero = build.icmp_unsigned("==", b, zero)
        if not signed:
            return build.select(by_zero, zero, build.udiv(a, build.select(by_zero, one, b)))
        by_minus = build.icmp_unsigned("==", b, ir.Constant(b.type, -1))
        found = build.sdiv(a, build.select(build.or_(by_zero, by_minus), one, b))
        return build.select(by_zero, zero, build.select(by_minus, build.neg(a), found))

    return divide


def _modulo(signed: bool) -> Binary:
    divide = _quotient(signed)

    def remainder(build: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
        """The remainder, with the divisor's sign as in Python."""
        rest = build.sub(a, build.mul(divide(build, a, b), b))
        if not signed:
            return rest
        zero = ir.Constant(b.type, 0)
        apart = build.icmp_signed("<", build.xor(rest, b), zero)
        return build.select(build.and_(apart, build.icmp_signed("!=", rest, zero)), build.add(rest, b), rest)

    return remainder


_binary("Add", lambda b, x, y: b.fadd(x, y, flags=FLAGS), lambda b, x, y: b.add(x, y))
_binary("Sub", lambda b, x, y: b.fsub(x, y, flags=FLAGS), lambda b, x, y: b.sub(x, y))
_binary("Mul", lambda b, x, y: b.fmul(x, y, flags=FLAGS), lambda b, x, y: b.mul(x, y))
_binary("Div", lambda b, x, y: b.fdiv(x, y, flags=FLAGS), _quotient(True), _quotient(False))
_binary("Sum", lambda b, x, y: b.fadd(x, y, flags=FLAGS), None)
_binary(
    "Max",
    _larger,
    lambda b, x, y: b.select(b.icmp_signed(">", x, y), x, y),
    lambda b, x, y: b.select(b.icmp_unsigned(">", x, y), x, y),
)
_binary(
    "Min",
    _smaller,
    lambda b, x, y: b.select(b.icmp_signed("<", x, y), x, y),
    lambda b, x, y: b.select(b.icmp_unsigned("<", x, y), x, y),
)


@operator("Mod")
def mod(node: Node, emit: Emitter) -> None:
    """The remainder of integers, with the divisor's sign."""
    output = emit.output(node.outputs[0])
    if output.dtype.kind not in "iu" or node.integer("fmod", 0):
        raise refused(node, "integers and fmod=0", f"{output.dtype} and fmod={node.integer('fmod', 0)}")
    function = _modulo(output.dtype.kind == "i")
    elementwise(emit, _inputs(node, emit), output, lambda v: function(emit.builder, *v))


@operator("Mean")
def mean(node: Node, emit: Emitter) -> None:
    """The mean of the inputs."""
    inputs, output = _inputs(node, emit), emit.output(node.outputs[0])
    real = Real(emit.builder, output.dtype)
    elementwise(emit, inputs, output, lambda v: real.mul(reduce(real.add, v), real.of(1 / len(inputs))))


_ORDER: Final = {"Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">=", "Equal": "=="}


def compare(build: ir.IRBuilder, sign: str, dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    """Compare two registers; an `i1`, false for NaN."""
    if dtype.kind == "f":
        return build.fcmp_ordered(sign, a, b)
    return (build.icmp_signed if dtype.kind == "i" else build.icmp_unsigned)(sign, a, b)


@operator(*_ORDER)
def comparison(node: Node, emit: Emitter) -> None:
    """Compares; false for NaN."""
    inputs = _inputs(node, emit)
    sign, dtype = _ORDER[node.op_type], inputs[0].dtype
    elementwise(
        emit, inputs, emit.output(node.outputs[0]), lambda v: compare(emit.builder, sign, dtype, v[0], v[1])
    )


@operator("And", "Or", "Xor", "Not")
def logic(node: Node, emit: Emitter) -> None:
    """Boolean algebra."""
    build = emit.builder
    function: Callable[..., ir.Value] = {
        "And": build.and_,
        "Or": build.or_,
        "Xor": build.xor,
        "Not": lambda x: build.xor(x, ir.Constant(I1, 1)),
    }[node.op_type]
    elementwise(emit, _inputs(node, emit), emit.output(node.outputs[0]), lambda v: function(*v))


@operator("Where")
def where(node: Node, emit: Emitter) -> None:
    """Selects between two tensors by a condition."""
    elementwise(
        emit,
        _inputs(node, emit),
        emit.output(node.outputs[0]),
        lambda v: emit.builder.select(v[0], v[1], v[2]),
    )


@operator("Clip")
def clip(node: Node, emit: Emitter) -> None:
    """Clips to limits (attributes before opset 11); the default limits are the type's own."""
    output = emit.output(node.outputs[0])
    dtype = output.dtype
    limits = np.finfo(dtype.name) if dtype.kind == "f" else np.iinfo(dtype.name)
    inputs, steps = [emit.value(node.inputs[0])], []
    for place, name, sign in ((1, "min", "<"), (2, "max", ">")):
        bound = node.number(name, 0) if name in node.attributes else getattr(limits, name)
        literal = emit.literal(bound, dtype)
        steps.append((sign, len(inputs) if node.input(place) else None, literal))
        if node.input(place):
            inputs.append(emit.value(node.inputs[place]))

    def compute(values: list[ir.Value]) -> ir.Value:
        value = values[0]
        for sign, place, literal in steps:
            limit = literal if place is None else values[place]
            outside = compare(emit.builder, sign, dtype, value, limit)
            value = emit.builder.select(outside, limit, value)
        return value

    elementwise(emit, inputs, output, compute)


@operator("Cast", "CastLike")
def cast(node: Node, emit: Emitter) -> None:
    """Converts types; a float outside an integer's range gives the nearest integer, NaN gives zero."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    elementwise(emit, [source], output, lambda v: convert(emit, v[0], source.dtype, output.dtype))


def convert(emit: Emitter, value: ir.Value, source: DType, target: DType) -> ir.Value:
    """Convert a register from one type to another."""
    build, kind = emit.builder, register_type(target)
    if source == target:
        return value
    if target.kind == "b":
        differ = build.fcmp_unordered if source.kind == "f" else build.icmp_signed
        return differ("!=", value, ir.Constant(value.type, 0))
    if source.kind == "f":
        if target.kind == "f":
            return (build.fpext if target.itemsize > source.itemsize else build.fptrunc)(value, kind)
        sign = "s" if target.kind == "i" else "u"
        name = f"llvm.fpto{sign}i.sat"
        made = build.module.declare_intrinsic(name, [kind, value.type], ir.FunctionType(kind, [value.type]))
        return build.call(made, [value])
    if target.kind == "f":
        return build.sitofp(value, kind) if source.kind == "i" else build.uitofp(value, kind)
    if source.kind != "b" and target.itemsize <= source.itemsize:
        return value if target.itemsize == source.itemsize else build.trunc(value, kind)
    return build.sext(value, kind) if source.kind == "i" else build.zext(value, kind)
