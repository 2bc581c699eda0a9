# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Arithmetic`: Python's and numpy's operators on numbers, as IR.

A Python int is an int64 whose overflow ends the run; numpy's wraps around. Python's division by zero ends the
run; numpy's gives an infinity, NaN or 0. What a feature gives follows numpy, as in the interpreter. No
operation calls libm, and none may be fused or reordered.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.emitter import I64, INTERNAL
from passpilot.runners.aot.function.flow import BOOL, DOUBLE, FLOAT, INT, REAL, Flow, Kind, Operand, Quantity
from passpilot.runners.aot.mathematics import Mathematics

Pair = tuple[Kind, ir.Value]

_EXACT: Final = 1 << 53
"""Integers up to here are exact as floats, and so is the rounding of their quotient."""
_BITWISE: Final = {"&": "and_", "|": "or_", "^": "xor"}
_BY_ZERO: Final = "ZeroDivisionError: division by zero"
_LARGE: Final = "expected integers of 64 bits, got a larger one; compute with floats"


class Arithmetic(Flow):
    """Operators; a pair is a kind and a register."""

    def arithmetic(self, sign: str, left: Quantity, right: Quantity) -> Operand:
        """``left sign right`` of ``+ - * / // % & | ^``."""

        def one(a: Pair, b: Pair) -> Operand:
            if a[0].form == b[0].form == "python":
                return self._python(sign, a, b)
            return self._numpy(sign, a, b)

        return self.each(one, left, right)

    def compare(self, sign: str, left: Quantity, right: Quantity) -> Operand:
        """``left sign right`` of ``< <= > >= == !=``."""

        def one(a: Pair, b: Pair) -> Operand:
            forms = {a[0].form, b[0].form}
            if forms == {"python"} or (
                "tensor" in forms and BOOL not in (a[0], b[0]) and forms <= {"tensor", "python"}
            ):
                return Quantity({BOOL: self._bit(self._compared(sign, self.plain(a), self.plain(b)))})
            dtype = self._common(a[0], b[0])
            c, d = self._to(a, dtype), self._to(b, dtype)
            return Quantity(
                {Kind(_form(a[0], b[0], compare=True), "bool"): self._bit(self._ordered(sign, c, d))}
            )

        return self.each(one, left, right)

    def truth(self, value: Quantity) -> ir.Value:
        """Whether a number is true; an `i1`."""
        found = self.each(lambda a: Quantity({BOOL: self._bit(self._true(a))}), value)
        assert isinstance(found, Quantity)
        return self.builder.icmp_signed("!=", found.cases[BOOL], I64(0))

    def unary(self, sign: str, value: Quantity) -> Operand:
        """``-x``, ``+x``, ``~x``, and ``abs(x)`` for the sign ``abs``."""
        return self.each(lambda a: self._unary(sign, a), value)

    def converted(self, name: str, value: Quantity) -> Operand:
        """``int(x)``, ``float(x)`` or ``bool(x)``; with ``item``, the Python number in one of numpy's."""

        def one(a: Pair) -> Operand:
            if name == "bool":
                return Quantity({BOOL: self._bit(self._true(a))})
            if name != "item" and a[0].form == "array":
                hint = "write (...).item()"
                raise self.refused(
                    f"a number for {name}()", "an array, the result of numpy's arithmetic", hint
                )
            kind, register = self.plain(a)
            if name == "item":
                return Quantity({kind: register})
            if name == "float":
                return Quantity({FLOAT: register if kind is FLOAT else self._sitofp(register)})
            return Quantity({INT: self._truncated(register) if kind is FLOAT else register})

        return self.each(one, value)

    def plain(self, a: Pair) -> Pair:
        """The Python number in a number."""
        kind, register = a
        if kind.is_real:
            return FLOAT, self.builder.fpext(register, DOUBLE) if kind.dtype == "float32" else register
        return BOOL if kind.dtype == "bool" else INT, register

    def _bit(self, flag: ir.Value) -> ir.Value:
        return self.builder.zext(flag, I64)

    def _sitofp(self, register: ir.Value) -> ir.Value:
        return self.builder.sitofp(register, DOUBLE)

    def _math(self, dtype: str) -> Mathematics:
        return Mathematics(self.builder, np.dtype(dtype), flags=())

    def _true(self, a: Pair) -> ir.Value:
        zero = ir.Constant(a[0].register, 0.0 if a[0].is_real else 0)
        return self._ordered("!=", a[1], zero)

    def _ordered(self, sign: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """Compare two registers of one type."""
        if a.type == I64:
            return self.builder.icmp_signed(sign, a, b)
        compare = self.builder.fcmp_unordered if sign == "!=" else self.builder.fcmp_ordered
        return compare(sign, a, b)

    def _compared(self, sign: str, a: Pair, b: Pair) -> ir.Value:
        """Compare two numbers of Python: an int with a float by their exact values."""
        if a[0].is_real == b[0].is_real:
            return self._ordered(sign, a[1], b[1])
        if a[0].is_real:
            sign = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(sign, sign)
            a, b = b, a
        build, real = self.builder, b[1]
        inside = build.and_(
            build.fcmp_ordered(">=", real, DOUBLE(-(2.0**63))), build.fcmp_ordered("<", real, DOUBLE(2.0**63))
        )
        whole = build.fptosi(build.select(inside, real, DOUBLE(0.0)), I64)
        rest = build.fsub(self._sitofp(whole), real)  # exact: both are integers, or small
        by_rest = self._ordered(sign, rest, DOUBLE(0.0))
        apart = build.icmp_signed("!=", a[1], whole)
        near = build.select(apart, build.icmp_signed(sign, a[1], whole), by_rest)
        return build.select(inside, near, self._ordered(sign, DOUBLE(0.0), real))

    def _truncated(self, real: ir.Value) -> ir.Value:
        build = self.builder
        self.fail(build.fcmp_unordered("uno", real, real), "ValueError: cannot convert float NaN to integer")
        inside = build.and_(
            build.fcmp_ordered(">=", real, DOUBLE(-(2.0**63))), build.fcmp_ordered("<", real, DOUBLE(2.0**63))
        )
        self.fail(build.not_(inside), _LARGE)
        return build.fptosi(real, I64)

    def _python(self, sign: str, a: Pair, b: Pair) -> Operand:
        real = a[0].is_real or b[0].is_real
        if sign in _BITWISE:
            if real:
                raise self._unsupported(sign, a[0], b[0])
            kind = BOOL if a[0] is b[0] is BOOL else INT
            return Quantity({kind: getattr(self.builder, _BITWISE[sign])(a[1], b[1])})
        if not real and sign != "/":
            return Quantity({INT: self._integer(sign, a[1], b[1])})
        x, y = (pair[1] if pair[0].is_real else self._sitofp(pair[1]) for pair in (a, b))
        if sign in ("/", "//", "%"):
            self.fail(self.builder.fcmp_ordered("==", y, DOUBLE(0.0)), _BY_ZERO)
        if not real:
            for register in (a[1], b[1]):
                far = self.builder.icmp_unsigned(
                    ">", self.builder.add(register, I64(_EXACT)), I64(2 * _EXACT)
                )
                self.fail(far, "expected integers of 53 bits in a division, got a larger one; use floats")
        return Quantity({FLOAT: self._real(sign, x, y, "float64")})

    def _unsupported(self, sign: str, *kinds: Kind) -> Exception:
        got = " and ".join(map(str, kinds))
        return self.refused(f"numbers that {sign} takes", got, "convert them by int(...) or .item()")

    def _integer(self, sign: str, a: ir.Value, b: ir.Value) -> ir.Value:
        build = self.builder
        if sign in ("+", "-", "*"):
            checked = {"+": build.sadd_with_overflow, "-": build.ssub_with_overflow}.get(
                sign, build.smul_with_overflow
            )(a, b)
            self.fail(build.extract_value(checked, 1), _LARGE)
            return build.extract_value(checked, 0)
        self.fail(build.icmp_signed("==", b, I64(0)), _BY_ZERO)
        if sign == "//":
            least = build.icmp_signed("==", a, I64(-(1 << 63)))
            self.fail(build.and_(least, build.icmp_signed("==", b, I64(-1))), _LARGE)
        return self._floored(sign, a, b)

    def _floored(self, sign: str, a: ir.Value, b: ir.Value) -> ir.Value:
        """``//`` or ``%`` of integers as numpy's: 0 by zero, the smallest integer by -1 is itself."""
        math = self._math("int64")
        rest = math.pick(math.compare("==", b, 0), 0, math.remainder(a, b))
        if sign == "%":
            return rest
        quotient = math.div(a, b)
        apart = self.builder.and_(
            math.compare("!=", math.sub(a, math.mul(quotient, b)), 0), math.below(self.builder.xor(a, b), 0)
        )
        return math.pick(math.compare("==", b, 0), 0, math.pick(apart, math.sub(quotient, 1), quotient))

    def _real(self, sign: str, a: ir.Value, b: ir.Value, dtype: str) -> ir.Value:
        """An operator of floats; a divisor of zero gives what numpy gives."""
        math = self._math(dtype)
        if sign in ("+", "-", "*", "/"):
            return {"+": math.add, "-": math.sub, "*": math.mul, "/": math.div}[sign](a, b)
        rest = self._fmod(a, b, dtype)
        apart = self.builder.and_(
            self._ordered("!=", rest, math.of(0)), self.builder.xor(math.below(b, 0), math.below(rest, 0))
        )
        zero = math.compare("==", b, 0)
        if sign == "%":
            signed = math.pick(math.compare("==", rest, 0), math.call("copysign", 0, b), rest)
            return math.pick(zero, rest, math.pick(apart, math.add(rest, b), signed))
        quotient = math.div(math.sub(a, rest), b)
        quotient = math.pick(apart, math.sub(quotient, 1), quotient)
        floor = math.floor(quotient)
        floor = math.pick(math.below(0.5, math.sub(quotient, floor)), math.add(floor, 1), floor)
        none = math.call("copysign", 0, math.div(a, b))
        floor = math.pick(math.compare("==", quotient, 0), none, floor)
        return math.pick(zero, math.div(a, b), floor)

    def _fmod(self, a: ir.Value, b: ir.Value, dtype: str) -> ir.Value:
        """C's fmod; of floats it is exact in doubles."""
        build, name = self.builder, f"{INTERNAL}fmod"
        function = build.module.globals.get(name) or _define_fmod(build.module, name)
        if dtype == "float64":
            return build.call(function, [a, b])
        wide = build.call(function, [build.fpext(a, DOUBLE), build.fpext(b, DOUBLE)])
        return build.fptrunc(wide, REAL[dtype])

    def _common(self, *kinds: Kind) -> str:
        """The type in which numpy computes: Python's int and float adapt to numpy's types."""
        own = {kind.dtype for kind in kinds if kind.form != "python" or kind is BOOL}
        own = {dtype if dtype in REAL or dtype == "bool" else "int64" for dtype in own}
        weak = {kind for kind in kinds if kind in (INT, FLOAT)}
        if "float64" in own or own >= {"float32", "int64"} or (FLOAT in weak and "float32" not in own):
            return "float64"
        if "float32" in own:
            return "float32"
        return "int64" if "int64" in own or INT in weak else "bool"

    def _to(self, a: Pair, dtype: str) -> ir.Value:
        """The register as one of another type."""
        kind, register = a
        if dtype not in REAL:
            return register
        wide = register if kind.dtype in REAL else self._sitofp(register)
        if wide.type == REAL[dtype]:
            return wide
        return (
            self.builder.fpext(wide, DOUBLE)
            if dtype == "float64"
            else self.builder.fptrunc(wide, REAL[dtype])
        )

    def _numpy(self, sign: str, a: Pair, b: Pair) -> Operand:
        for kind in (a[0], b[0]):
            self._check_width(sign, kind)
        dtype = self._common(a[0], b[0])
        form = _form(a[0], b[0], compare=sign in _BITWISE)
        if sign == "/" and dtype not in REAL:
            dtype = "float64"
        x, y = self._to(a, dtype), self._to(b, dtype)
        if dtype == "bool" and sign in ("+", "*"):
            sign = {"+": "|", "*": "&"}[sign]  # numpy's sums of bools are bools
        if sign in _BITWISE and dtype not in REAL:
            return Quantity({Kind(form, dtype): getattr(self.builder, _BITWISE[sign])(x, y)})
        if sign in _BITWISE or dtype == "bool":
            raise self._unsupported(sign, a[0], b[0])
        if dtype in REAL:
            return Quantity({Kind(form, dtype): self._real(sign, x, y, dtype)})
        math = self._math(dtype)
        plain = {"+": math.add, "-": math.sub, "*": math.mul}
        return Quantity(
            {Kind(form, dtype): plain[sign](x, y) if sign in plain else self._floored(sign, x, y)}
        )

    def _check_width(self, sign: str, kind: Kind) -> None:
        if kind.dtype not in (*REAL, "bool", "int64"):
            raise self._unsupported(sign, kind)

    def _unary(self, sign: str, a: Pair) -> Operand:
        kind, register = a
        build, python = self.builder, kind.form == "python"
        self._check_width(sign, kind)
        if kind.is_real:
            if sign == "~":
                raise self._unsupported(sign, kind)
            math = self._math(kind.dtype)
            return Quantity({kind: {"-": math.neg, "+": math.of, "abs": math.abs}[sign](register)})
        if kind.dtype == "bool" and not python:
            if sign in ("+", "-"):
                raise self._unsupported(sign, kind)
            return Quantity({kind: build.xor(register, I64(1)) if sign == "~" else register})
        result = INT if python else kind
        if sign == "~":
            return Quantity({result: build.not_(register)})
        if python and sign != "+":
            self.fail(build.icmp_signed("==", register, I64(-(1 << 63))), _LARGE)
        if sign == "-" or sign == "abs":
            minus = build.neg(register)
            below = build.icmp_signed("<", register, I64(0))
            register = minus if sign == "-" else build.select(below, minus, register)
        return Quantity({result: register})


def _form(a: Kind, b: Kind, *, compare: bool) -> str:
    """The form of a result: only comparisons and bits keep a tensor; an element keeps one on its right."""
    forms = (a.form, b.form)
    if "tensor" in forms and (compare or forms == ("scalar", "tensor")):
        return "tensor"
    return "array" if {"tensor", "array"} & {*forms} else "scalar"


def _define_fmod(module: ir.Module, name: str) -> ir.Function:
    """C's fmod by exact division of the mantissas, eleven bits of the quotient at a time."""
    function = ir.Function(module, ir.FunctionType(DOUBLE, [DOUBLE, DOUBLE]), name)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    blocks = [function.append_basic_block(label) for label in ("entry", "odd", "begin", "loop", "end")]
    entry, odd, begin, loop, end = blocks
    build = ir.IRBuilder(entry)
    infinite, mask = I64(0x7FF << 52), I64((1 << 52) - 1)
    bits = [build.and_(build.bitcast(x, I64), I64((1 << 63) - 1)) for x in function.args]
    wrong = build.or_(
        build.icmp_unsigned(">=", bits[0], infinite),
        build.or_(build.icmp_unsigned(">", bits[1], infinite), build.icmp_unsigned("==", bits[1], I64(0))),
    )
    build.cbranch(build.or_(wrong, build.icmp_unsigned("<", bits[0], bits[1])), odd, begin)
    build.position_at_end(odd)
    build.ret(build.select(wrong, DOUBLE(float("nan")), function.args[0]))
    build.position_at_end(begin)
    exponents, mantissas = [], []
    for number in bits:
        exponent = build.lshr(number, I64(52))
        tiny = build.icmp_unsigned("==", exponent, I64(0))
        exponents.append(build.select(tiny, I64(1), exponent))
        normal = build.or_(build.and_(number, mask), I64(1 << 52))
        mantissas.append(build.select(tiny, number, normal))
    first = build.urem(*mantissas)
    count = build.sub(*exponents)
    build.cbranch(build.icmp_signed(">", count, I64(0)), loop, end)
    build.position_at_end(loop)
    left, rest = build.phi(I64), build.phi(I64)
    few = build.icmp_signed("<", left, I64(11))
    shift = build.select(few, left, I64(11))
    shorter, smaller = build.sub(left, shift), build.urem(build.shl(rest, shift), mantissas[1])
    for phi, before, after in ((left, count, shorter), (rest, first, smaller)):
        phi.add_incoming(before, begin)
        phi.add_incoming(after, loop)
    build.cbranch(build.icmp_signed(">", shorter, I64(0)), loop, end)
    build.position_at_end(end)
    last = build.phi(I64)
    last.add_incoming(first, begin)
    last.add_incoming(smaller, loop)
    power = build.bitcast(build.shl(exponents[1], I64(52)), DOUBLE)
    size = build.fmul(build.fmul(build.uitofp(last, DOUBLE), DOUBLE(2.0**-52)), power)
    build.ret(Mathematics(build, np.dtype("float64")).call("copysign", size, function.args[0]))
    return function
