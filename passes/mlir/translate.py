# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translates a module of the llvm dialect to LLVM IR that LLVM 22 reads.

The bindings contain a newer LLVM, which writes floating-point numbers differently: ``f0x3727C5AC`` has the
bits of the number's own type, decimals are rounded to that type, and infinities and NaNs have names such as
``+inf`` and ``-nan(0x1)``. For all of these, LLVM 22 expects the bits of a double.
"""

from __future__ import annotations

import math
import re
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.plugin.errors import CompilationError
from passpilot.plugin.mlir.capi import translated
from passpilot.plugin.mlir.diagnostics import error_list

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation


class _FloatFormat(NamedTuple):
    """A binary format: its fraction bits, and the least exponent of normal numbers."""

    fraction: int
    least: int


_FORMATS: Final = {
    "half": _FloatFormat(10, -14),
    "bfloat": _FloatFormat(7, -126),
    "float": _FloatFormat(23, -126),
    "double": _FloatFormat(52, -1022),
}
_DOUBLE: Final = _FORMATS["double"]
_INFINITE: Final = 0x7FF << _DOUBLE.fraction

_WORDS: Final = re.compile(
    r"""(?P<other>"[^"]*" | ;[^\n]* | [@%$!\#][-\w$.]+ | (?<![\w.])[-\w$.]+:)
    | (?<![\w.])(?: (?P<type>half|bfloat|float|double|x86_fp80|fp128|ppc_fp128)
    | (?P<bits>f0x[0-9A-Fa-f]+)
    | (?P<decimal>[-+]?\d+\.\d*(?:[eE][-+]?\d+)?)
    | (?P<name>[-+](?:inf|qnan|s?nan\(0x[0-9A-Fa-f]+\))))(?![\w.])""",
    re.VERBOSE,
)


def translate(module: Operation) -> str:
    """The LLVM IR of a module of the llvm dialect.

    Raises:
        CompilationError: the module has other dialects, or numbers of more than 64 bits.
    """
    with error_list(module.operation.context, tell=lambda _: None) as errors:
        text = translated(module)
    if text is None:
        got = errors[0] if errors else "something else"
        raise CompilationError(f"LLVM IR: expected a module of the llvm dialect, got: {got}")
    return respell(text)


def respell(text: str) -> str:
    """Rewrite the numbers in LLVM IR for LLVM 22.

    Raises:
        CompilationError: a number has more than 64 bits.
    """
    kind = "double"

    def respelt(match: re.Match[str]) -> str:
        nonlocal kind
        if match["type"]:
            kind = match["type"]
        if match["type"] or match["other"]:
            return match[0]
        if kind not in _FORMATS:
            raise CompilationError(f"LLVM IR: expected numbers of at most 64 bits, got {kind} {match[0]}")
        return _number(match, _FORMATS[kind])

    return _WORDS.sub(respelt, text)


def _number(match: re.Match[str], kind: _FloatFormat) -> str:
    """The number as the bits of a double, or unchanged if LLVM 22 reads the decimal the same way."""
    if match["bits"]:
        bits = _widened(int(match["bits"][3:], 16), 4 * (len(match["bits"]) - 3), kind)
    elif match["name"]:
        bits = _nameless(match["name"], kind)
    else:
        value = _rounded(match["decimal"], kind)
        if value == float(match["decimal"]):
            return match["decimal"]
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    return f"0x{bits:016X}"


def _widened(bits: int, width: int, kind: _FloatFormat) -> int:
    """The bits of the double that equals a finite number, given by its bits in format `kind`."""
    sign, magnitude = bits >> (width - 1), bits & ((1 << (width - 1)) - 1)
    exponent = max(magnitude >> kind.fraction, 1)
    digits = magnitude - ((exponent - 1) << kind.fraction)  # with the leading one of a normal number
    value = math.ldexp(digits, kind.least + exponent - 1 - kind.fraction)
    (bits,) = struct.unpack("<Q", struct.pack("<d", -value if sign else value))
    return int(bits)


def _nameless(name: str, kind: _FloatFormat) -> int:
    """The bits of the double for ``+inf``, ``+qnan``, ``+nan(0x1)`` or ``+snan(0x1)``."""
    bits = _INFINITE | (1 << 63 if name[0] == "-" else 0)
    if name[1:] == "inf":
        return bits
    if name[1] != "s":
        bits |= 1 << (_DOUBLE.fraction - 1)
    payload = int(name[name.index("(") + 1 : -1], 16) if "(" in name else 0
    return bits | payload << (_DOUBLE.fraction - kind.fraction)


def _rounded(decimal: str, kind: _FloatFormat) -> float:
    """The decimal rounded to the format, ties to even."""
    from fractions import Fraction  # it imports much

    value = Fraction(decimal)
    exponent = max(math.frexp(float(value))[1] - 1, kind.least)
    step = Fraction(2) ** (exponent - kind.fraction)
    return math.copysign(float(round(value / step) * step), float(decimal))
