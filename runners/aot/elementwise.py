# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that work element by element, over inputs that are broadcast as numpy does."""

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
    OfReal = Callable[[Real, ir.Value, Node], ir.Value]


@contextlib.contextmanager
def walk(emit: Emitter, shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Iterator[list[ir.Value]]:
    """Loops over all positions of `shape`; yields the offset by each of the rows of strides."""
    sizes, rows = _collapsed(shape, strides)
    build = emit.builder
    with contextlib.ExitStack() as stack:
        offsets: list[ir.Value] = [emit.int64(0)] * len(rows)
        for axis, size in enumerate(sizes):
            index = stack.enter_context(emit.loop(size))
            for at, row in enumerate(rows):
                if row[axis]:
                    step = index if row[axis] == 1 else build.mul(index, emit.int64(row[axis]), flags=("nsw",))
                    offsets[at] = build.add(offsets[at], step, flags=("nsw",))
        yield offsets


def _collapsed(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[list[int], list[list[int]]]:
    """The same walk with fewer dimensions: without those of one, and with neighbours joined that continue."""
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
    """Set every element of `output` to what `compute` makes of those of the inputs."""
    strides = [broadcast_strides(each.shape, output.shape) for each in inputs]
    with walk(emit, output.shape, [*strides, dense_strides(output.shape)]) as offsets:
        values = [emit.load(each, at) for each, at in zip(inputs, offsets, strict=False)]
        emit.store(output, offsets[-1], compute(values))


def _inputs(node: Node, emit: Emitter) -> list[Buffer]:
    return [emit.value(name) for name in node.inputs]


def _binary(name: str, real: Binary, signed: Binary | None, unsigned: Binary | None = None) -> None:
    """Register an operator of two or more inputs of one type, which gives that type."""

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
    """The maximum; NaN if one is."""
    first = build.or_(build.fcmp_ordered(">", a, b), build.fcmp_unordered("uno", a, a))
    return build.select(first, a, b)


def _smaller(build: ir.IRBuilder, a: ir.Value, b: ir.Value) -> ir.Value:
    first = build.or_(build.fcmp_ordered("<", a, b), build.fcmp_unordered("uno", a, a))
    return build.select(first, a, b)


def _quotient(signed: bool) -> Binary:
    """Division of integers that never traps: by zero it gives zero, and the smallest by -1 itself."""

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
        """Of the divisor's sign, as Python's."""
        rest = build.sub(a, build.mul(divide(build, a, b), b))
        if not signed:
            return rest
        zero = ir.Constant(b.type, 0)
        apart = build.icmp_signed("<", build.xor(rest, b), zero)
        return build.select(
            build.and_(apart, build.icmp_signed("!=", rest, zero)), build.add(rest, b), rest
        )

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
    """The remainder of integers, of the divisor's sign."""
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
    elementwise(
        emit, inputs, output, lambda v: real.mul(reduce(real.add, v), real.of(1 / len(inputs)))
    )


_ORDER: Final = {"Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">=", "Equal": "=="}


def compare(build: ir.IRBuilder, sign: str, dtype: DType, a: ir.Value, b: ir.Value) -> ir.Value:
    """An `i1`; false for NaN."""
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
    """Chooses between two by a condition."""
    elementwise(
        emit, _inputs(node, emit), emit.output(node.outputs[0]), lambda v: emit.builder.select(v[0], v[1], v[2])
    )


@operator("Clip")
def clip(node: Node, emit: Emitter) -> None:
    """Keeps within limits, which are attributes before opset 11 and may be absent."""
    output = emit.output(node.outputs[0])
    inputs = [emit.value(node.inputs[0])]
    steps: list[str] = []
    for place, sign in ((1, "<"), (2, ">")):
        if node.input(place):
            inputs.append(emit.value(node.inputs[place]))
            steps.append(sign)
    limits = [
        (sign, emit.literal(node.number(name, 0), output.dtype))
        for name, sign in (("min", "<"), ("max", ">"))
        if name in node.attributes
    ]

    def compute(values: list[ir.Value]) -> ir.Value:
        value = values[0]
        for sign, limit in [*zip(steps, values[1:], strict=True), *limits]:
            outside = compare(emit.builder, sign, output.dtype, value, limit)
            value = emit.builder.select(outside, limit, value)
        return value

    elementwise(emit, inputs, output, compute)


@operator("Cast", "CastLike")
def cast(node: Node, emit: Emitter) -> None:
    """Converts; a float outside an integer's range gives the nearest there is, NaN gives zero."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    elementwise(emit, [source], output, lambda v: convert(emit, v[0], source.dtype, output.dtype))


def convert(emit: Emitter, value: ir.Value, source: DType, target: DType) -> ir.Value:
    """A register of one type as one of another."""
    build, kind = emit.builder, register_type(target)
    if source == target:
        return value
    if target.kind == "b":
        zero = ir.Constant(value.type, 0)
        return build.fcmp_unordered("!=", value, zero) if source.kind == "f" else build.icmp_signed("!=", value, zero)
    if source.kind == "f":
        if target.kind == "f":
            return build.fpext(value, kind) if target.itemsize > source.itemsize else build.fptrunc(value, kind)
        sign = "s" if target.kind == "i" else "u"
        name = f"llvm.fpto{sign}i.sat"
        made = build.module.declare_intrinsic(name, [kind, value.type], ir.FunctionType(kind, [value.type]))
        return build.call(made, [value])
    if target.kind == "f":
        return build.sitofp(value, kind) if source.kind == "i" else build.uitofp(value, kind)
    if source.kind != "b" and target.itemsize <= source.itemsize:
        return value if target.itemsize == source.itemsize else build.trunc(value, kind)
    return build.sext(value, kind) if source.kind == "i" else build.zext(value, kind)


def _leaky(real: Real, x: ir.Value, slope: float) -> ir.Value:
    return real.pick(real.below(x, real.of(0)), real.mul(x, real.of(slope)), x)


def _exponential(real: Real, x: ir.Value, alpha: float, scale: float = 1.0) -> ir.Value:
    """alpha (e**x - 1) of negative x, else x; times a scale."""
    below = real.mul(real.of(alpha), real.sub(real.exp(x), real.of(1)))
    value = real.pick(real.below(x, real.of(0)), below, x)
    return real.mul(value, real.of(scale)) if scale != 1.0 else value


def _hard_sigmoid(real: Real, x: ir.Value, alpha: float, beta: float) -> ir.Value:
    value = real.add(real.mul(real.of(alpha), x), real.of(beta))
    value = real.pick(real.below(value, real.of(0)), real.of(0), value)
    return real.pick(real.below(real.of(1), value), real.of(1), value)


def _sign(real: Real, x: ir.Value) -> ir.Value:
    one = real.call("copysign", real.of(1), x)
    return real.pick(real.build.fcmp_unordered("!=", x, real.of(0)), real.pick(_is_nan(real, x), x, one), real.of(0))


def _is_nan(real: Real, x: ir.Value) -> ir.Value:
    return real.build.fcmp_unordered("uno", x, x)


_OF_REAL: Final[dict[str, OfReal]] = {
    "Abs": lambda real, x, _: real.call("fabs", x),
    "Ceil": lambda real, x, _: real.ceil(x),
    "Celu": lambda real, x, n: real.pick(
        real.below(x, real.of(0)),
        real.mul(
            real.of(n.number("alpha", 1)),
            real.sub(real.exp(real.div(x, real.of(n.number("alpha", 1)))), real.of(1)),
        ),
        x,
    ),
    "Elu": lambda real, x, n: _exponential(real, x, n.number("alpha", 1)),
    "Exp": lambda real, x, _: real.exp(x),
    "Floor": lambda real, x, _: real.floor(x),
    "HardSigmoid": lambda real, x, n: _hard_sigmoid(real, x, n.number("alpha", 0.2), n.number("beta", 0.5)),
    "HardSwish": lambda real, x, _: real.mul(x, _hard_sigmoid(real, x, 1 / 6, 0.5)),
    "LeakyRelu": lambda real, x, n: _leaky(real, x, n.number("alpha", 0.01)),
    "Log": lambda real, x, _: real.log(x),
    "Neg": lambda real, x, _: real.build.fneg(x),
    "Reciprocal": lambda real, x, _: real.div(real.of(1), x),
    "Relu": lambda real, x, _: real.pick(real.below(x, real.of(0)), real.of(0), x),
    "Round": lambda real, x, _: real.nearest(x),
    "Selu": lambda real, x, n: _exponential(
        real, x, n.number("alpha", 1.6732632423543772), n.number("gamma", 1.0507009873554805)
    ),
    "Sigmoid": lambda real, x, _: real.sigmoid(x),
    "Sign": lambda real, x, _: _sign(real, x),
    "Softplus": lambda real, x, _: real.log1p_exp(x),
    "Softsign": lambda real, x, _: real.div(x, real.add(real.of(1), real.call("fabs", x))),
    "Sqrt": lambda real, x, _: real.call("sqrt", x),
    "Tanh": lambda real, x, _: real.tanh(x),
    "ThresholdedRelu": lambda real, x, n: real.pick(
        real.below(real.of(n.number("alpha", 1)), x), x, real.of(0)
    ),
}


@operator(*_OF_REAL)
def of_real(node: Node, emit: Emitter) -> None:
    """Functions of one real number; a few of them of integers, too."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    if source.dtype.kind == "f":
        real, function = Real(emit.builder, source.dtype), _OF_REAL[node.op_type]
        elementwise(emit, [source], output, lambda v: function(real, v[0], node))
        return
    if node.op_type not in ("Abs", "Neg", "Relu", "Sign") or source.dtype.kind != "i":
        raise refused(node, "floats", str(source.dtype))
    elementwise(emit, [source], output, lambda v: _of_integer(node.op_type, emit.builder, v[0]))


def _of_integer(name: str, build: ir.IRBuilder, x: ir.Value) -> ir.Value:
    zero, one, minus = (ir.Constant(x.type, each) for each in (0, 1, -1))
    negative = build.icmp_signed("<", x, zero)
    if name == "Neg":
        return build.neg(x)
    if name == "Abs":
        return build.select(negative, build.neg(x), x)
    if name == "Relu":
        return build.select(negative, zero, x)
    return build.select(negative, minus, build.select(build.icmp_signed("==", x, zero), zero, one))


@operator("IsNaN")
def is_nan(node: Node, emit: Emitter) -> None:
    """Whether an element is NaN."""
    source = emit.value(node.inputs[0])
    real = Real(emit.builder, source.dtype)
    elementwise(emit, [source], emit.output(node.outputs[0]), lambda v: _is_nan(real, v[0]))


@operator("PRelu")
def prelu(node: Node, emit: Emitter) -> None:
    """Relu with slopes of a tensor."""
    output = emit.output(node.outputs[0])
    real = Real(emit.builder, output.dtype)
    elementwise(
        emit,
        _inputs(node, emit),
        output,
        lambda v: real.pick(real.below(v[0], real.of(0)), real.mul(v[0], v[1]), v[0]),
    )


@operator("Pow")
def power(node: Node, emit: Emitter) -> None:
    """Powers; of constant exponents of 2, 3 and 0.5 by products and roots."""
    base, exponent = emit.value(node.inputs[0]), emit.value(node.inputs[1])
    output = emit.output(node.outputs[0])
    if output.dtype.kind != "f":
        raise refused(node, "a base of floats", str(output.dtype))
    real, known = Real(emit.builder, output.dtype), emit.static(node.inputs[1])
    fixed = float(known.item()) if known is not None and known.size == 1 else None

    def compute(values: list[ir.Value]) -> ir.Value:
        x = values[0]
        if fixed in (2, 3):
            square = real.mul(x, x)
            return square if fixed == 2 else real.mul(square, x)
        if fixed == 0.5:
            return real.call("sqrt", x)
        return real.power(x, convert(emit, values[1], exponent.dtype, output.dtype))

    elementwise(emit, [base, exponent], output, compute)


