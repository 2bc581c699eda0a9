# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Repeats`: which instructions of a module are in sequences that occur several times.

Code that occurs several times is what an outliner can make shorter. Two instructions count as equal if they
have the same opcode, type and callee, whatever their operands are. A sequence does not go beyond a basic
block.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from passpilot.plugin._core import CallBase, Function, Instruction

Integers = NDArray[np.int64]

SHORTEST: Final = 3
"""The length from which on a sequence counts; a call of an outlined function costs one or two instructions.
"""


class Repeats:
    """The repeated sequences of some functions, by a suffix array over all their instructions."""

    def __init__(self, functions: Iterable[Function]) -> None:
        words: list[int] = []
        kinds: dict[object, int] = {}
        self._places: dict[Function, tuple[int, int]] = {}
        for function in functions:
            start = len(words)
            for block in function.blocks:
                body = block.instructions[:-1]
                words.extend(kinds.setdefault(_kind(inst), len(kinds)) for inst in body)
                words.append(-1 - len(words))  # the terminator is unlike any other
            self._places[function] = (start, len(words))
        self._lengths = _longest_repeats(np.array(words, np.int64))
        self._covered = _covered(self._lengths)

    def covered(self, function: Function) -> Integers:
        """1 for each instruction of the function in a repeated sequence, else 0, in their order."""
        start, end = self._places[function]
        return self._covered[start:end]

    def longest(self, function: Function) -> int:
        """The length of the longest sequence of the function that occurs elsewhere, too."""
        start, end = self._places[function]
        return int(self._lengths[start:end].max(initial=0))

    @property
    def total(self) -> int:
        """The number of instructions in repeated sequences."""
        return int(self._covered.sum())

    @property
    def longest_of_all(self) -> int:
        """The length of the longest repeated sequence."""
        return int(self._lengths.max(initial=0))


def _kind(instruction: Instruction) -> object:
    callee = instruction.callee if isinstance(instruction, CallBase) else None
    return instruction.opcode, instruction.type, callee


def _longest_repeats(words: Integers) -> Integers:
    """For each place, the length of the longest sequence there that occurs at another place, too."""
    ranks = _ranks(words)
    order = np.argsort(ranks[-1], kind="stable")
    common = np.zeros(len(words) + 1, np.int64)
    common[1:-1] = _common_prefixes(ranks, order[:-1], order[1:])
    lengths = np.zeros(len(words), np.int64)
    lengths[order] = np.maximum(common[:-1], common[1:])
    return lengths


def _ranks(words: Integers) -> list[Integers]:
    """The ranks of all sequences of 1, 2, 4, ... words, until they differ: prefix doubling."""
    _, rank = np.unique(words, return_inverse=True)
    ranks = [rank.astype(np.int64)]
    while len(words) and ranks[-1].max() + 1 < len(words):
        step = 1 << (len(ranks) - 1)
        second = np.full(len(words), -1, np.int64)
        second[:-step] = ranks[-1][step:]
        _, rank = np.unique(ranks[-1] * (len(words) + 1) + second, return_inverse=True)
        ranks.append(rank.astype(np.int64))
    return ranks


def _common_prefixes(ranks: list[Integers], left: Integers, right: Integers) -> Integers:
    """The lengths of the common prefixes of the suffixes at two lists of places."""
    left, right = left.copy(), right.copy()
    length = np.zeros(len(left), np.int64)
    size = len(ranks[0])
    for level in reversed(range(len(ranks))):
        inside = (left < size) & (right < size)
        equal = np.zeros(len(left), bool)
        equal[inside] = ranks[level][left[inside]] == ranks[level][right[inside]]
        step = equal.astype(np.int64) << level
        left, right, length = left + step, right + step, length + step
    return length


def _covered(lengths: Integers) -> Integers:
    """1 for each place that a sequence of at least `SHORTEST` reaches from there or from before, else 0."""
    places = np.arange(len(lengths))
    ends = np.where(lengths >= SHORTEST, places + lengths, 0)
    reach = np.maximum.accumulate(ends) if len(ends) else ends
    return (reach > places).astype(np.int64)
