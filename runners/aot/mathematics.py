# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic, exp, log, tanh and other functions as straight-line IR, so that LLVM vectorizes loops of them.

They call no libm: argument reduction and a Taylor series. Errors are a few units in the last place: relative
to libm 4e-7 for float32 and 1e-15 for float64, but 1e-13 for `power`. Infinities, NaN, zeros and subnormal
numbers give what C gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial, inf, log, nan, pi, prod, sqrt
from typing import Final, TypeAlias

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.emitter import FLAGS, register_type

Operand: TypeAlias = ir.Value | float
"""A register, or a number that becomes a constant."""


@dataclass(frozen=True, slots=True)
class _FloatSeries:
    """A floating-point format, and the lengths of its series."""

    bits: int
    mantissa: int
    largest: float  # exp of more overflows
    smallest: float  # exp of less is zero
    exp_terms: int
    log_terms: int
    ln2: tuple[float, float]
    """ln 2 as a number of few bits, whose product with an exponent is exact, and the rest."""

    @property
    def bias(self) -> int:
        """The bias of the exponent."""
        return (1 << (self.bits - self.mantissa - 2)) - 1


_FORMATS: Final = {
    "float32": _FloatSeries(32, 23, 89.0, -110.0, 8, 6, (0.693115234375, 3.1946184945309415e-05)),
    "float64": _FloatSeries(64, 52, 710.0, -750.0, 15, 13, (0.6931471805592082, 7.371002565167799e-13)),
}

_ERF_ONE: Final = 4.0
"""From here on the error function of float32 is one."""
_ERF_TERMS: Final = 60
"""The terms of its series below `_ERF_ONE`."""


class Mathematics:
    """Functions of registers of one type; from `call` on for floating-point types only.

    `flags` are those of sums and products of floats.
    """

    def __init__(
        self, builder: ir.IRBuilder, dtype: np.dtype[np.generic], flags: Sequence[str] = FLAGS
    ) -> None:
        self.build = builder
        self.dtype = dtype
        self.type: ir.Type = register_type(dtype)
        self.is_real = dtype.kind == "f"
        self._flags = flags
        if self.is_real:
            self._format = _FORMATS[dtype.name]
            self._integer = ir.IntType(self._format.bits)

    def of(self, value: Operand) -> ir.Value:
        """A register; a number becomes a constant, rounded to the type."""
        if isinstance(value, ir.Value):
            return value
        with np.errstate(over="ignore"):
            return ir.Constant(self.type, self.dtype.type(value).item())

    def add(self, a: Operand, b: Operand) -> ir.Value:
        a, b = self.of(a), self.of(b)
        return self.build.fadd(a, b, flags=self._flags) if self.is_real else self.build.add(a, b)

    def sub(self, a: Operand, b: Operand) -> ir.Value:
        a, b = self.of(a), self.of(b)
        return self.build.fsub(a, b, flags=self._flags) if self.is_real else self.build.sub(a, b)

    def mul(self, a: Operand, b: Operand) -> ir.Value:
        a, b = self.of(a), self.of(b)
        return self.build.fmul(a, b, flags=self._flags) if self.is_real else self.build.mul(a, b)

    def div(self, a: Operand, b: Operand) -> ir.Value:
        """a / b; of integers it never traps: x / 0 is zero, and the smallest integer / -1 is itself."""
        a, b, build = self.of(a), self.of(b), self.build
        if self.is_real:
            return build.fdiv(a, b, flags=self._flags)
        by_zero = self.compare("==", b, 0)
        if self.dtype.kind == "u":
            return build.select(by_zero, self.of(0), build.udiv(a, self.pick(by_zero, 1, b)))
        by_minus = self.compare("==", b, -1)
        quotient = build.sdiv(a, self.pick(build.or_(by_zero, by_minus), 1, b))
        return self.pick(by_zero, 0, self.pick(by_minus, build.neg(a), quotient))

    def remainder(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The remainder of integers, with the divisor's sign as in Python."""
        rest = self.sub(a, self.mul(self.div(a, b), b))
        if self.dtype.kind == "u":
            return rest
        apart = self.below(self.build.xor(rest, b), 0)
        return self.pick(self.build.and_(apart, self.compare("!=", rest, 0)), self.add(rest, b), rest)

    def compare(self, sign: str, a: Operand, b: Operand) -> ir.Value:
        """Compare two registers; an `i1`, false for NaN."""
        if self.is_real:
            return self.build.fcmp_ordered(sign, self.of(a), self.of(b))
        compare = self.build.icmp_signed if self.dtype.kind == "i" else self.build.icmp_unsigned
        return compare(sign, self.of(a), self.of(b))

    def below(self, a: Operand, b: Operand) -> ir.Value:
        """Whether a < b; false for NaN."""
        return self.compare("<", a, b)

    def pick(self, condition: ir.Value, a: Operand, b: Operand) -> ir.Value:
        return self.build.select(condition, self.of(a), self.of(b))

    def extreme(self, sign: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """The larger (`sign` is ``>``) or smaller of two; NaN if either is NaN."""
        better = self.compare(sign, a, b)
        return self.pick(self.build.or_(better, self.is_nan(a)) if self.is_real else better, a, b)

    def worst(self, sign: str) -> ir.Value:
        """The number that any other is better than by `sign`."""
        if self.is_real:
            return self.of(-inf if sign == ">" else inf)
        limits = np.iinfo(self.dtype.name)
        return self.of(int(limits.min if sign == ">" else limits.max))

    def neg(self, x: ir.Value) -> ir.Value:
        return self.build.fneg(x) if self.is_real else self.build.neg(x)

    def abs(self, x: ir.Value) -> ir.Value:
        return self.call("fabs", x) if self.is_real else self.pick(self.below(x, 0), self.neg(x), x)

    def call(self, name: str, *values: Operand) -> ir.Value:
        """Call an intrinsic that is one instruction everywhere: sqrt, fabs, copysign."""
        kind = ir.FunctionType(self.type, [self.type] * len(values))
        intrinsic = self.build.module.declare_intrinsic(f"llvm.{name}", [self.type], kind)
        return self.build.call(intrinsic, [self.of(value) for value in values])

    def is_nan(self, x: ir.Value) -> ir.Value:
        return self.build.fcmp_unordered("uno", x, x)

    def sqrt(self, x: ir.Value) -> ir.Value:
        return self.call("sqrt", x)

    def series(self, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
        """The polynomial with these coefficients, the constant term first."""
        total = self.of(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.add(self.mul(total, x), coefficient)
        return total

    def _shifted(self, x: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The integer nearest to x, as a float and as an integer, for |x| < 2**(mantissa - 1)."""
        magic = self.of(1.5 * 2.0**self._format.mantissa)
        moved = self.build.fadd(x, magic)  # no flags: the rounding is wanted
        bits = self.build.sub(self._bits(moved), self._bits(magic))
        return self.build.fsub(moved, magic), bits

    def _bits(self, x: ir.Value) -> ir.Value:
        return self.build.bitcast(x, self._integer)

    def _power_of_two(self, exponent: ir.Value) -> ir.Value:
        bias, shift = self._integer(self._format.bias), self._integer(self._format.mantissa)
        return self.build.bitcast(self.build.shl(self.build.add(exponent, bias), shift), self.type)

    def exp(self, x: ir.Value) -> ir.Value:
        """e**x, as 2**k times a series of the rest, which is at most half of ln 2."""
        form = self._format
        x = self.pick(self.below(form.largest, x), form.largest, x)
        x = self.pick(self.below(x, form.smallest), form.smallest, x)
        whole, bits = self._shifted(self.build.fmul(x, self.of(1 / log(2))))
        high, low = form.ln2
        rest = self.sub(self.sub(x, self.mul(whole, high)), self.mul(whole, low))
        value = self.series(rest, [1 / factorial(n) for n in range(form.exp_terms)])
        half = self.build.ashr(bits, self._integer(1))  # in two factors: 2**k may overflow
        value = self.mul(value, self._power_of_two(half))
        return self.mul(value, self._power_of_two(self.build.sub(bits, half)))

    def log(self, x: ir.Value) -> ir.Value:
        """The natural logarithm of x = 2**k m, by a series in s for m = (1 + s) / (1 - s) near 1."""
        form = self._format
        tiny = self.below(x, 2.0 ** (1 - form.bias))
        up = form.mantissa + 2
        bits = self._bits(self.pick(tiny, self.mul(x, 2.0**up), x))
        shift = self._integer(form.mantissa)
        exponent = self.build.ashr(self.build.sub(bits, self._bits(self.of(sqrt(0.5)))), shift)
        near = self.build.bitcast(self.build.sub(bits, self.build.shl(exponent, shift)), self.type)
        k = self.build.sitofp(exponent, self.type)
        k = self.pick(tiny, self.sub(k, float(up)), k)
        s = self.div(self.sub(near, 1), self.add(near, 1))
        tail = self.series(self.mul(s, s), [2 / (2 * n + 1) for n in range(form.log_terms)])
        high, low = form.ln2
        value = self.add(self.mul(k, high), self.add(self.mul(s, tail), self.mul(k, low)))
        value = self.pick(self.compare("==", x, inf), x, value)
        value = self.pick(self.compare("==", x, 0), -inf, value)
        return self.pick(self.build.fcmp_unordered("<", x, self.of(0)), nan, value)

    def tanh(self, x: ir.Value) -> ir.Value:
        """The hyperbolic tangent: seven levels of its continued fraction for small x, else by exp."""
        size = self.abs(x)
        large = self.sub(1, self.div(2, self.add(self.exp(self.add(size, size)), 1)))
        square = self.mul(x, x)
        above = self.series(square, [135135, 17325, 378, 1])
        under = self.series(square, [135135, 62370, 3150, 28])
        small = self.div(self.mul(x, above), under)
        return self.pick(self.below(size, 0.5), small, self.call("copysign", large, x))

    def erf(self, x: ir.Value) -> ir.Value:
        """The error function of float32: 2 / sqrt(pi) x e**(-x**2) times a series of x**2, in double."""
        double = Mathematics(self.build, np.dtype("float64"))
        wide = self.build.fpext(x, double.type)
        size = double.abs(wide)
        size = double.pick(double.below(_ERF_ONE, size), _ERF_ONE, size)
        square = double.mul(size, size)
        terms = [2.0**n / prod(range(1, 2 * n + 2, 2)) for n in range(_ERF_TERMS)]
        value = double.mul(double.mul(2 / sqrt(pi), size), double.exp(double.neg(square)))
        value = double.call("copysign", double.mul(value, double.series(square, terms)), wide)
        return self.build.fptrunc(value, self.type)

    def sigmoid(self, x: ir.Value) -> ir.Value:
        """1 / (1 + e**-x)."""
        return self.div(1, self.add(1, self.exp(self.neg(x))))

    def log1p_exp(self, x: ir.Value) -> ir.Value:
        """log(1 + e**x) without overflow; a factor corrects the rounding of 1 + e**x for small e**x."""
        positive = self.pick(self.below(x, 0), 0, x)
        power = self.exp(self.neg(self.abs(x)))
        whole = self.build.fadd(self.of(1), power)  # no flags: the rounding is wanted
        part = self.build.fsub(whole, self.of(1))
        scaled = self.mul(self.log(whole), self.div(power, part))
        return self.add(positive, self.pick(self.compare("==", part, 0), power, scaled))

    def nearest(self, x: ir.Value) -> ir.Value:
        """The nearest integer; a tie goes to the even one."""
        size, whole = self.abs(x), self.of(2.0**self._format.mantissa)  # from here on all are integers
        near = self.build.fsub(self.build.fadd(size, whole), whole)  # no flags: the rounding is wanted
        return self.pick(self.below(size, whole), self.call("copysign", near, x), x)

    def floor(self, x: ir.Value) -> ir.Value:
        """The largest integer that is not above x."""
        whole = self.nearest(x)
        return self.pick(self.below(x, whole), self.sub(whole, 1), whole)

    def power(self, x: ir.Value, y: ir.Value) -> ir.Value:
        """x**y by exp and log in double precision; NaN for negative x unless y is an integer."""
        if self.dtype.name != "float64":
            double = Mathematics(self.build, np.dtype("float64"))
            x, y = (self.build.fpext(value, double.type) for value in (x, y))
            return self.build.fptrunc(double.power(x, y), self.type)
        size = self.abs(x)
        value = self.exp(self.mul(y, self.log(size)))
        value = self.pick(self.compare("==", size, 1), 1, value)
        whole = self.compare("==", self.nearest(y), y)
        half = self.mul(y, 0.5)
        odd = self.build.and_(whole, self.compare("!=", self.nearest(half), half))
        sign = self.below(self.call("copysign", 1, x), 0)
        value = self.pick(self.build.and_(sign, odd), self.neg(value), value)
        finite = self.build.and_(self.below(x, 0), self.below(-inf, x))
        value = self.pick(self.build.and_(finite, self.build.not_(whole)), nan, value)
        return self.pick(self.compare("==", y, 0), 1, value)
