# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the numbers that users write: in options, in variables, in the values of runner specs."""

from __future__ import annotations


def whole_number(text: str) -> int | None:
    """The number that ASCII digits write; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() else None


def finite_number(text: str) -> float | None:
    """The finite number that the text writes; None for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None
