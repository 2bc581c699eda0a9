# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""exp, log, tanh and other functions as straight-line IR, so that LLVM vectorizes the loops around them.

They call no libm: argument reduction and a Taylor series. Errors are a few units in the last place: relative
to libm 4e-7 for float32 and 1e-15 for float64, but 1e-13 for `power`. Infinities, NaN, zeros and subnormal
numbers give what C gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, inf, log, nan, pi, prod, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.emitter import FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Build = Callable[["Real", ir.Value], ir.Value]


@dataclass(frozen=True, slots=True)
class _FloatSeries:
    """A floating-point format, and the lengths of its series."""

    bits: int
    mantissa: int
    largest: float  # exp of more overflows
    smallest: float  # exp of less is zero
    exp_terms: int
    log_terms: int

    @property
    def bias(self) -> int:
        """The bias of the exponent."""
        return (1 << (self.bits - self.mantissa - 2)) - 1


_FORMATS: Final = {
    "float32": _FloatSeries(32, 23, 89.0, -110.0, 8, 6),
    "float64": _FloatSeries(64, 52, 710.0, -750.0, 15, 13),
}

_LN2: Final = {
    "float32": (0.693115234375, 3.1946184945309415e-05),
    "float64": (0.6931471805592082, 7.371002565167799e-13),
}
"""ln 2 as a number of few bits, whose product with an exponent is exact, and the rest."""

_ERF_ONE: Final = 4.0
"""From here on the error function of float32 is one."""
_ERF_TERMS: Final = 60
"""The terms of its series below `_ERF_ONE`."""


class Real:
    """Arithmetic on registers of one floating-point type."""

    def __init__(self, builder: ir.IRBuilder, dtype: np.dtype[np.generic]) -> None:
        self.build = builder
        self.dtype = dtype
        self.type: ir.Type = ir.FloatType() if dtype.name == "float32" else ir.DoubleType()
        self._format = _FORMATS[dtype.name]
        self._integer = ir.IntType(self._format.bits)

    def of(self, value: float) -> ir.Constant:
        """A constant, rounded to the type."""
        with np.errstate(over="ignore"):
            return ir.Constant(self.type, float(self.dtype.type(value)))

    def add(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.build.fadd(a, b, flags=FLAGS)

    def sub(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.build.fsub(a, b, flags=FLAGS)

    def mul(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.build.fmul(a, b, flags=FLAGS)

    def div(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.build.fdiv(a, b, flags=FLAGS)

    def below(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Whether a < b; false for NaN."""
        return self.build.fcmp_ordered("<", a, b)

    def pick(self, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.build.select(condition, a, b)

    def call(self, name: str, *values: ir.Value) -> ir.Value:
        """Call an intrinsic that is one instruction everywhere: sqrt, fabs, copysign."""
        made = self.build.module.declare_intrinsic(
            f"llvm.{name}", [self.type], ir.FunctionType(self.type, [self.type] * len(values))
        )
        return self.build.call(made, values)

    def series(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """The polynomial with these coefficients, the constant term first."""
        total: ir.Value = self.of(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.add(self.mul(total, x), self.of(coefficient))
        return total

    def _shifted(self, x: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The integer nearest to x, as a float and as an integer, for |x| < 2**(mantissa - 1)."""
        magic = 1.5 * 2.0**self._format.mantissa
        moved = self.build.fadd(x, self.of(magic))  # no flags: the rounding is wanted
        bits = self.build.sub(self._bits(moved), self._bits_of(magic))
        return self.build.fsub(moved, self.of(magic)), bits

    def _bits(self, x: ir.Value) -> ir.Value:
        return self.build.bitcast(x, self._integer)

    def _bits_of(self, value: float) -> ir.Constant:
        kind = "u4" if self._format.bits == 32 else "u8"
        return ir.Constant(self._integer, int(self.dtype.type(value).view(kind)))

    def _power_of_two(self, exponent: ir.Value) -> ir.Value:
        bias = ir.Constant(self._integer, self._format.bias)
        shift = ir.Constant(self._integer, self._format.mantissa)
        return self.build.bitcast(self.build.shl(self.build.add(exponent, bias), shift), self.type)

    def exp(self, x: ir.Value) -> ir.Value:
        """e**x, as 2**k times a series of the rest, which is at most half of ln 2."""
        form = self._format
        x = self.pick(self.below(self.of(form.largest), x), self.of(form.largest), x)
        x = self.pick(self.below(x, self.of(form.smallest)), self.of(form.smallest), x)
        whole, bits = self._shifted(self.build.fmul(x, self.of(1 / log(2))))
        high, low = _LN2[self.dtype.name]
        rest = self.sub(self.sub(x, self.mul(whole, self.of(high))), self.mul(whole, self.of(low)))
        value = self.series(rest, [1 / factorial(n) for n in range(form.exp_terms)])
        half = self.build.ashr(bits, ir.Constant(self._integer, 1))  # in two factors: 2**k may overflow
        value = self.mul(value, self._power_of_two(half))
        return self.mul(value, self._power_of_two(self.build.sub(bits, half)))

    def log(self, x: ir.Value) -> ir.Value:
        """The natural logarithm of x = 2**k m, by a series in s for m = (1 + s) / (1 - s) near 1."""
        form = self._format
        tiny = self.below(x, self.of(2.0 ** (1 - form.bias)))
        up = form.mantissa + 2
        bits = self._bits(self.pick(tiny, self.mul(x, self.of(2.0**up)), x))
        shift = ir.Constant(self._integer, form.mantissa)
        exponent = self.build.ashr(self.build.sub(bits, self._bits_of(sqrt(0.5))), shift)
        near = self.build.bitcast(self.build.sub(bits, self.build.shl(exponent, shift)), self.type)
        k = self.build.sitofp(exponent, self.type)
        k = self.pick(tiny, self.sub(k, self.of(float(up))), k)
        s = self.div(self.sub(near, self.of(1)), self.add(near, self.of(1)))
        tail = self.series(self.mul(s, s), [2 / (2 * n + 1) for n in range(form.log_terms)])
        high, low = _LN2[self.dtype.name]
        value = self.add(self.mul(k, self.of(high)), self.add(self.mul(s, tail), self.mul(k, self.of(low))))
        value = self.pick(self.build.fcmp_ordered("==", x, self.of(inf)), x, value)
        value = self.pick(self.build.fcmp_ordered("==", x, self.of(0)), self.of(-inf), value)
        return self.pick(self.build.fcmp_unordered("<", x, self.of(0)), self.of(nan), value)

    def tanh(self, x: ir.Value) -> ir.Value:
        """The hyperbolic tangent: seven levels of its continued fraction for small x, else by exp."""
        size = self.call("fabs", x)
        large = self.sub(
            self.of(1), self.div(self.of(2), self.add(self.exp(self.add(size, size)), self.of(1)))
        )
        square = self.mul(x, x)
        above = self.series(square, [135135, 17325, 378, 1])
        under = self.series(square, [135135, 62370, 3150, 28])
        small = self.div(self.mul(x, above), under)
        return self.pick(self.below(size, self.of(0.5)), small, self.call("copysign", large, x))

    def erf(self, x: ir.Value) -> ir.Value:
        """The error function of float32: 2 / sqrt(pi) x e**(-x**2) times a series of x**2, in double."""
        real = Real(self.build, np.dtype("float64"))
        wide = self.build.fpext(x, real.type)
        size = real.call("fabs", wide)
        size = real.pick(real.below(real.of(_ERF_ONE), size), real.of(_ERF_ONE), size)
        square = real.mul(size, size)
        terms = [2.0**n / prod(range(1, 2 * n + 2, 2)) for n in range(_ERF_TERMS)]
        value = real.mul(real.mul(real.of(2 / sqrt(pi)), size), real.exp(self.build.fneg(square)))
        value = real.call("copysign", real.mul(value, real.series(square, terms)), wide)
        return self.build.fptrunc(value, self.type)

    def sigmoid(self, x: ir.Value) -> ir.Value:
        """1 / (1 + e**-x)."""
        return self.div(self.of(1), self.add(self.of(1), self.exp(self.build.fneg(x))))

    def log1p_exp(self, x: ir.Value) -> ir.Value:
        """log(1 + e**x) without overflow; a factor corrects the rounding of 1 + e**x for small e**x."""
        positive = self.pick(self.below(x, self.of(0)), self.of(0), x)
        power = self.exp(self.build.fneg(self.call("fabs", x)))
        whole = self.build.fadd(self.of(1), power)  # no flags: the rounding is wanted
        part = self.build.fsub(whole, self.of(1))
        scaled = self.mul(self.log(whole), self.div(power, part))
        lost = self.build.fcmp_ordered("==", part, self.of(0))
        return self.add(positive, self.pick(lost, power, scaled))

    def nearest(self, x: ir.Value) -> ir.Value:
        """The nearest integer; a tie goes to the even one."""
        size = self.call("fabs", x)
        small = self.below(size, self.of(2.0 ** (self._format.mantissa - 1)))
        whole, _ = self._shifted(x)
        return self.pick(small, self.call("copysign", whole, x), x)

    def floor(self, x: ir.Value) -> ir.Value:
        """The largest integer that is not above x."""
        whole = self.nearest(x)
        return self.pick(self.below(x, whole), self.sub(whole, self.of(1)), whole)

    def ceil(self, x: ir.Value) -> ir.Value:
        """The smallest integer that is not below x."""
        return self.build.fneg(self.floor(self.build.fneg(x)))

    def power(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x**y by exp and log in double precision; NaN for negative x unless y is an integer."""
        real = self if self.dtype.name == "float64" else Real(self.build, np.dtype("float64"))
        if real is not self:
            x, y = (self.build.fpext(value, real.type) for value in (x, y))
        size = real.call("fabs", x)
        value = real.exp(real.mul(y, real.log(size)))
        value = self.pick(self.build.fcmp_ordered("==", size, real.of(1)), real.of(1), value)
        whole = self.build.fcmp_ordered("==", real.nearest(y), y)
        half = real.mul(y, real.of(0.5))
        odd = self.build.and_(whole, self.build.fcmp_ordered("!=", real.nearest(half), half))
        sign = self.build.fcmp_ordered("<", real.call("copysign", real.of(1), x), real.of(0))
        value = self.pick(self.build.and_(sign, odd), self.build.fneg(value), value)
        finite = self.build.and_(real.below(x, real.of(0)), real.below(real.of(-inf), x))
        wrong = self.build.and_(finite, self.build.not_(whole))
        value = self.pick(wrong, real.of(nan), value)
        value = self.pick(self.build.fcmp_ordered("==", y, real.of(0)), real.of(1), value)
        return value if real is self else self.build.fptrunc(value, self.type)
