# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators on single numbers: activations, exp and log, rounding; and powers."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING, Final

from llvmlite import ir

from passpilot.runners.aot.elementwise import convert, elementwise
from passpilot.runners.aot.emitter import operator, refused
from passpilot.runners.aot.mathematics import Real

if TYPE_CHECKING:
    from collections.abc import Callable

    from passpilot.runners.aot.emitter import Emitter, Node

    OfReal = Callable[[Real, ir.Value, Node], ir.Value]


def _leaky(real: Real, x: ir.Value, slope: float) -> ir.Value:
    return real.pick(real.below(x, real.of(0)), real.mul(x, real.of(slope)), x)


def _exponential(real: Real, x: ir.Value, alpha: float, scale: float = 1.0) -> ir.Value:
    """alpha (e**x - 1) for negative x, else x; times a scale."""
    below = real.mul(real.of(alpha), real.sub(real.exp(x), real.of(1)))
    value = real.pick(real.below(x, real.of(0)), below, x)
    return real.mul(value, real.of(scale)) if scale != 1.0 else value


def _hard_sigmoid(real: Real, x: ir.Value, alpha: float, beta: float) -> ir.Value:
    value = real.add(real.mul(real.of(alpha), x), real.of(beta))
    value = real.pick(real.below(value, real.of(0)), real.of(0), value)
    return real.pick(real.below(real.of(1), value), real.of(1), value)


def _gelu(real: Real, x: ir.Value, approximate: str) -> ir.Value:
    """x times the normal distribution function of x, or its approximation by tanh."""
    if approximate == "none":
        share = real.erf(real.mul(x, real.of(sqrt(0.5))))
    else:
        cube = real.mul(real.mul(x, x), x)
        share = real.tanh(real.mul(real.of(sqrt(2 / pi)), real.add(x, real.mul(real.of(0.044715), cube))))
    return real.mul(real.mul(real.of(0.5), x), real.add(real.of(1), share))


def _sign(real: Real, x: ir.Value) -> ir.Value:
    one = real.call("copysign", real.of(1), x)
    return real.pick(
        real.build.fcmp_unordered("!=", x, real.of(0)), real.pick(_is_nan(real, x), x, one), real.of(0)
    )


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
    "Erf": lambda real, x, _: real.erf(x),
    "Exp": lambda real, x, _: real.exp(x),
    "Floor": lambda real, x, _: real.floor(x),
    "Gelu": lambda real, x, n: _gelu(real, x, n.text("approximate", "none")),
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
    """Functions of one float; a few also take integers."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    if source.dtype.kind == "f":
        real, function = Real(emit.builder, source.dtype), _OF_REAL[node.op_type]
        elementwise(emit, [source], output, lambda v: function(real, v[0], node))
        return
    if node.op_type not in ("Abs", "Neg", "Relu", "Sign") or source.dtype.kind != "i":
        raise refused(node, "floats", str(source.dtype))
    elementwise(emit, [source], output, lambda v: _of_integer(node.op_type, emit.builder, v[0]))


def _of_integer(name: str, build: ir.IRBuilder, x: ir.Value) -> ir.Value:
    zero, one, minus = (ir.Constant(x.type, value) for value in (0, 1, -1))
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
    """Relu with a tensor of slopes."""
    output = emit.output(node.outputs[0])
    real = Real(emit.builder, output.dtype)
    elementwise(
        emit,
        [emit.value(name) for name in node.inputs],
        output,
        lambda v: real.pick(real.below(v[0], real.of(0)), real.mul(v[0], v[1]), v[0]),
    )


@operator("Pow")
def power(node: Node, emit: Emitter) -> None:
    """Powers; constant exponents 2, 3 and 0.5 become products and roots."""
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
