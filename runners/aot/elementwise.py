# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise operators, whose inputs are broadcast like numpy's: a table of functions of single elements."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from math import pi, sqrt
from typing import Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.emitter import I64, Buffer, Emitter, Node, operator, refused, register_type
from passpilot.runners.aot.mathematics import Mathematics, Operand

DType = np.dtype[np.generic]
Compute = Callable[[list[ir.Value]], ir.Value]
Function = Callable[..., ir.Value]


@contextlib.contextmanager
def walk(emit: Emitter, shape: Sequence[int], strides: Sequence[Sequence[int]]) -> Iterator[list[ir.Value]]:
    """Loop over all positions of `shape`; yield one offset for every row of `strides`."""
    sizes, rows = _collapsed(shape, strides)
    build = emit.builder
    with contextlib.ExitStack() as stack:
        offsets: list[ir.Value] = [I64(0)] * len(rows)
        for axis, size in enumerate(sizes):
            index = stack.enter_context(emit.loop(size))
            for at, row in enumerate(rows):
                if row[axis]:
                    step = build.mul(index, I64(row[axis]), flags=("nsw",))
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


def _leaky(math: Mathematics, x: ir.Value, slope: Operand) -> ir.Value:
    return math.pick(math.below(x, 0), math.mul(x, slope), x)


def _exponential(math: Mathematics, x: ir.Value, alpha: float, exponent: ir.Value) -> ir.Value:
    """alpha (e**exponent - 1) for negative x, else x."""
    return math.pick(math.below(x, 0), math.mul(alpha, math.sub(math.exp(exponent), 1)), x)


def _selu(math: Mathematics, node: Node, x: ir.Value) -> ir.Value:
    value = _exponential(math, x, node.number("alpha", 1.6732632423543772), x)
    return math.mul(value, node.number("gamma", 1.0507009873554805))


def _celu(math: Mathematics, node: Node, x: ir.Value) -> ir.Value:
    alpha = node.number("alpha", 1)
    return _exponential(math, x, alpha, math.div(x, alpha))


def _hard_sigmoid(math: Mathematics, x: ir.Value, alpha: float, beta: float) -> ir.Value:
    value = math.add(math.mul(alpha, x), beta)
    value = math.pick(math.below(value, 0), 0, value)
    return math.pick(math.below(1, value), 1, value)


def _gelu(math: Mathematics, node: Node, x: ir.Value) -> ir.Value:
    """x times the normal distribution function of x, or its approximation by tanh."""
    if node.text("approximate", "none") == "none":
        share = math.erf(math.mul(x, sqrt(0.5)))
    else:
        cube = math.mul(math.mul(x, x), x)
        share = math.tanh(math.mul(sqrt(2 / pi), math.add(x, math.mul(0.044715, cube))))
    return math.mul(math.mul(0.5, x), math.add(1, share))


def _sign(math: Mathematics, _: Node, x: ir.Value) -> ir.Value:
    """1, -1, 0 or NaN; the sum makes 0 of -0."""
    return math.pick(math.below(x, 0), -1, math.pick(math.below(0, x), 1, math.add(x, 0)))


_FUNCTIONS: Final[dict[str, dict[str, Function]]] = {
    "floats": {
        "Binarizer": lambda m, node, x: m.pick(m.below(node.number("threshold", 0), x), 1, 0),
        "Ceil": lambda m, _, x: m.neg(m.floor(m.neg(x))),
        "Celu": _celu,
        "Elu": lambda m, node, x: _exponential(m, x, node.number("alpha", 1), x),
        "Erf": lambda m, _, x: m.erf(x),
        "Exp": lambda m, _, x: m.exp(x),
        "Floor": lambda m, _, x: m.floor(x),
        "Gelu": _gelu,
        "HardSigmoid": lambda m, node, x: _hard_sigmoid(
            m, x, node.number("alpha", 0.2), node.number("beta", 0.5)
        ),
        "HardSwish": lambda m, _, x: m.mul(x, _hard_sigmoid(m, x, 1 / 6, 0.5)),
        "IsNaN": lambda m, _, x: m.is_nan(x),
        "LeakyRelu": lambda m, node, x: _leaky(m, x, node.number("alpha", 0.01)),
        "Log": lambda m, _, x: m.log(x),
        "Mean": lambda m, _, *values: m.mul(reduce(m.add, values), 1 / len(values)),
        "PRelu": lambda m, _, x, slope: _leaky(m, x, slope),
        "Reciprocal": lambda m, _, x: m.div(1, x),
        "Round": lambda m, _, x: m.nearest(x),
        "Selu": _selu,
        "Sigmoid": lambda m, _, x: m.sigmoid(x),
        "Softplus": lambda m, _, x: m.log1p_exp(x),
        "Softsign": lambda m, _, x: m.div(x, m.add(1, m.abs(x))),
        "Sqrt": lambda m, _, x: m.sqrt(x),
        "Tanh": lambda m, _, x: m.tanh(x),
        "ThresholdedRelu": lambda m, node, x: m.pick(m.below(node.number("alpha", 1), x), x, 0),
    },
    "floats or signed integers": {
        "Abs": lambda m, _, x: m.abs(x),
        "Neg": lambda m, _, x: m.neg(x),
        "Relu": lambda m, _, x: m.pick(m.below(x, 0), 0, x),
        "Sign": _sign,
    },
    "numbers": {
        "Add": lambda m, _, a, b: m.add(a, b),
        "Div": lambda m, _, a, b: m.div(a, b),
        "Max": lambda m, _, *values: reduce(lambda a, b: m.extreme(">", a, b), values),
        "Min": lambda m, _, *values: reduce(lambda a, b: m.extreme("<", a, b), values),
        "Mul": lambda m, _, a, b: m.mul(a, b),
        "Sub": lambda m, _, a, b: m.sub(a, b),
        "Sum": lambda m, _, *values: reduce(m.add, values),
    },
    "integers": {"Mod": lambda m, _, a, b: m.remainder(a, b)},
    "numbers or booleans": {
        "Equal": lambda m, _, a, b: m.compare("==", a, b),
        "Greater": lambda m, _, a, b: m.compare(">", a, b),
        "GreaterOrEqual": lambda m, _, a, b: m.compare(">=", a, b),
        "Less": lambda m, _, a, b: m.compare("<", a, b),
        "LessOrEqual": lambda m, _, a, b: m.compare("<=", a, b),
    },
    "booleans": {
        "And": lambda m, _, a, b: m.build.and_(a, b),
        "Not": lambda m, _, a: m.build.not_(a),
        "Or": lambda m, _, a, b: m.build.or_(a, b),
        "Where": lambda m, _, condition, a, b: m.build.select(condition, a, b),
        "Xor": lambda m, _, a, b: m.build.xor(a, b),
    },
}
"""The operators by the type of their first input, each as a function of (mathematics, node, elements...)."""

_KINDS: Final = {
    "floats": "f",
    "floats or signed integers": "fi",
    "numbers": "fiu",
    "integers": "iu",
    "numbers or booleans": "fiub",
    "booleans": "b",
}


@operator(*(name for functions in _FUNCTIONS.values() for name in functions))
def pointwise(node: Node, emit: Emitter) -> None:
    """Applies a function of `_FUNCTIONS` to the elements of all inputs."""
    inputs = [emit.value(name) for name in node.inputs]
    dtype = inputs[0].dtype
    expected, functions = next(row for row in _FUNCTIONS.items() if node.op_type in row[1])
    if dtype.kind not in _KINDS[expected]:
        raise refused(node, expected, str(dtype))
    math, function = Mathematics(emit.builder, dtype), functions[node.op_type]
    elementwise(emit, inputs, emit.output(node.outputs[0]), lambda values: function(math, node, *values))


@operator("Mod")
def mod(node: Node, emit: Emitter) -> None:
    """The remainder of integers, with the divisor's sign."""
    dtype, fmod = emit.value(node.inputs[0]).dtype, node.integer("fmod", 0)
    if dtype.kind not in "iu" or fmod:
        raise refused(node, "integers and fmod=0", f"{dtype} and fmod={fmod}")
    pointwise(node, emit)


@operator("Pow")
def power(node: Node, emit: Emitter) -> None:
    """Powers; constant exponents 2, 3 and 0.5 become products and roots."""
    base, exponent = emit.value(node.inputs[0]), emit.value(node.inputs[1])
    output = emit.output(node.outputs[0])
    if output.dtype.kind != "f":
        raise refused(node, "a base of floats", str(output.dtype))
    math, known = Mathematics(emit.builder, output.dtype), emit.static(node.inputs[1])
    fixed = float(known.item()) if known is not None and known.size == 1 else None

    def compute(values: list[ir.Value]) -> ir.Value:
        x = values[0]
        if fixed in (2, 3):
            square = math.mul(x, x)
            return square if fixed == 2 else math.mul(square, x)
        if fixed == 0.5:
            return math.sqrt(x)
        return math.power(x, convert(emit, values[1], exponent.dtype, output.dtype))

    elementwise(emit, [base, exponent], output, compute)


@operator("Clip")
def clip(node: Node, emit: Emitter) -> None:
    """Clips to limits (attributes before opset 11); the default limits are the type's own."""
    output = emit.output(node.outputs[0])
    math = Mathematics(emit.builder, output.dtype)
    types = np.finfo(output.dtype.name) if math.is_real else np.iinfo(output.dtype.name)
    limits = [
        math.of(node.number(n, 0) if n in node.attributes else getattr(types, n)) for n in ("min", "max")
    ]
    places = [place for place in range(3) if node.input(place)]

    def compute(values: list[ir.Value]) -> ir.Value:
        inputs = dict(zip(places, values, strict=True))
        value = values[0]
        for place, sign in ((1, "<"), (2, ">")):
            limit = inputs.get(place, limits[place - 1])
            value = math.pick(math.compare(sign, value, limit), limit, value)
        return value

    elementwise(emit, [emit.value(node.inputs[place]) for place in places], output, compute)


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
        name = f"llvm.fpto{'s' if target.kind == 'i' else 'u'}i.sat"
        function = ir.FunctionType(kind, [value.type])
        return build.call(build.module.declare_intrinsic(name, [kind, value.type], function), [value])
    if target.kind == "f":
        return build.sitofp(value, kind) if source.kind == "i" else build.uitofp(value, kind)
    if source.kind != "b" and target.itemsize <= source.itemsize:
        return value if target.itemsize == source.itemsize else build.trunc(value, kind)
    return build.sext(value, kind) if source.kind == "i" else build.zext(value, kind)
