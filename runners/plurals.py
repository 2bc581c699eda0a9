# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Words for numbers: nouns in the number that fits a count, and which way a size has changed."""

from __future__ import annotations

from typing import Final

_PLURALS: Final = ("decisions", "evictions", "fallbacks", "sessions")


def counted(number: int, noun: str) -> str:
    """The number and the noun, which is plural unless the number is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def size_change(ratio: float, digits: int = 2) -> str:
    """The change to `ratio` times a size: ``2.85% smaller``, ``1.00% larger`` or ``the same``."""
    text = f"{abs(ratio - 1):.{digits}%}"
    same = not text.strip("0.%")
    return "the same" if same else f"{text} {'larger' if ratio > 1 else 'smaller'}"


def count_line(number: int, label: str) -> str:
    """A line of ``--stats``; a label that begins with a plural gets the singular for 1."""
    first, space, rest = label.partition(" ")
    if number == 1 and first in _PLURALS:
        label = f"{first[:-1]}{space}{rest}"
    return f"{number:10d} {label}"
