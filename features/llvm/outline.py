# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a function that LLVM's machine outliner may shorten, and of a whole module.

Repeated sequences are counted in LLVM IR, where code generation begins. Frequencies are LLVM's block
frequencies, in executions per call of the function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Flag
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable, choice_table
from passpilot.plugin._core import CallBase, Function, Instruction

Integers = NDArray[np.int64]

SHORTEST: Final = 3
"""The length from which on a sequence counts; a call of an outlined function costs one or two instructions.
"""

RUNS: Final = ("as the target", "everywhere", "nowhere")
"""What each choice for a module means."""

MODULE_FEATURES: Final = (
    row("functions", "functions with a body"),
    row("local_functions", "those of them that nothing outside the module can call"),
    row("instructions", "instructions of all functions"),
    row("calls", "calls in all functions, those of intrinsics included"),
    row("repeated", "instructions in sequences that occur several times"),
    row("longest", "length of the longest such sequence"),
    row("for_size", "functions that are optsize or minsize"),
    row("by_default", "functions that the target outlines from without advice"),
    row("mask", "1 for each choice; all are allowed", shape=(1, len(RUNS))),
)

MODULE_TABLE: Final = choice_table("advised-outliner", "outliner_choice", len(RUNS), MODULE_FEATURES)
"""The answer is an index into `RUNS`."""

FEATURES: Final = (
    row("instructions", "instructions of the function"),
    row("blocks", "basic blocks of the function"),
    row("loop_depth", "depth of its innermost loop"),
    row("calls", "calls in it, those of intrinsics included"),
    row("call_sites", "direct calls of it in the module"),
    row("is_local", "1 if nothing outside the module can call it"),
    row("entry_count", "how often it is called, by a profile; 0 without one", "float64"),
    row("work", "instructions that one call of it runs, by block frequencies; no callees", "float64"),
    row("hottest", "how often its hottest block runs per call", "float64"),
    row("repeated", "instructions in sequences that occur several times in the module"),
    row("longest", "length of the longest such sequence"),
    row("repeated_work", "such instructions that one call of it runs, by block frequencies", "float64"),
    row("is_cold", "1 if it is marked cold"),
    row("for_size", "1 if the function is optsize or minsize"),
    row("by_default", "1 if the target outlines from it without advice"),
)

TABLE: Final = PointTable("advised-outline", FEATURES, TensorSpec("outline", "int64", (1,)), Flag())
"""The answer is 1 if the outliner may take from the function."""

_LIMIT: Final = 1e30
_OUTLINING: Final = re.compile(r"aarch64|arm64|riscv|(arm|thumb)(eb)?v[678](e|\.1)?m")
"""Targets that outline from minsize functions without being asked. Of 32-bit Arm, only the M class does."""
_M_CLASS: Final = re.compile(r'"target-cpu"="(cortex-m|sc[03])|"target-features"=".*\+mclass')


def outlines_by_default(function: Function, triple: str) -> bool:
    """Whether the target's own choice is to outline from the function.

    Source: `shouldOutlineFromFunctionByDefault` of LLVM's targets.
    """
    attributes = function.attributes
    if "minsize" not in attributes:
        return False
    return bool(_OUTLINING.match(triple) or any(map(_M_CLASS.match, attributes)))


def observe_module(functions: Sequence[Function], triple: str, repeats: Repeats) -> Mapping[str, object]:
    """The feature values of a module with these functions, all with bodies. For module passes."""
    return {
        "functions": len(functions),
        "local_functions": sum(function.linkage in ("internal", "private") for function in functions),
        "instructions": sum(function.instruction_count for function in functions),
        "calls": sum(len(function.call_sites) for function in functions),
        "repeated": repeats.total,
        "longest": repeats.longest_of_all,
        "for_size": sum(_is_for_size(function) for function in functions),
        "by_default": sum(outlines_by_default(function, triple) for function in functions),
        "mask": [[1] * len(RUNS)],
    }


def observe(function: Function, call_sites: int, triple: str, repeats: Repeats) -> Mapping[str, object]:
    """The feature values of a function with a body, which `call_sites` calls. For module passes."""
    blocks, covered = function.blocks, repeats.covered(function)
    frequencies = np.array([block.frequency for block in blocks])
    sizes = np.array([len(block.instructions) for block in blocks])
    starts = np.cumsum(sizes) - sizes
    in_blocks = np.add.reduceat(covered, starts)
    return {
        "instructions": function.instruction_count,
        "blocks": len(blocks),
        "loop_depth": max((loop.depth for loop in function.loops), default=0),
        "calls": len(function.call_sites),
        "call_sites": call_sites,
        "is_local": function.linkage in ("internal", "private"),
        "entry_count": min(float(function.entry_count or 0), _LIMIT),
        "work": min(float(frequencies @ sizes), _LIMIT),
        "hottest": min(float(frequencies.max()), _LIMIT),
        "repeated": int(covered.sum()),
        "longest": repeats.longest(function),
        "repeated_work": min(float(frequencies @ in_blocks), _LIMIT),
        "is_cold": "cold" in function.attributes,
        "for_size": _is_for_size(function),
        "by_default": outlines_by_default(function, triple),
    }


def _is_for_size(function: Function) -> bool:
    return bool({"optsize", "minsize"} & set(function.attributes))


class Repeats:
    """The repeated sequences of some functions, by a suffix array over all their instructions.

    Code that occurs several times is what an outliner can make shorter. Two instructions count as equal if
    they have the same opcode, type and callee, whatever their operands are. A sequence does not go beyond a
    basic block.
    """

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
