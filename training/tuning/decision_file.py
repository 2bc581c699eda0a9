# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision files: what `passpilot tune` found, as text that a person can read, merge and commit.

The grammar is in plugin/native/runtime/decision_file.h, whose reader is that of compilers and of this module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from passpilot.plugin import _core
from passpilot.plugin.files import replace_file

HEAD: Final = "passpilot decisions 1"
PER_LINE: Final = 12
"""Hashes on a line."""

SIZES: Final = ("minsize", "optsize", "speed")
"""The size levels of functions."""

_ODD: Final = re.compile(r"[\x00-\x20%\x7f-\xff]")


def word_kind(word: str) -> str:
    """What a word about a function decides: ``size``, ``unroll``, ``vectorize`` or ``nooutline``."""
    return "size" if word in SIZES else word.partition("=")[0]


class CallKey(NamedTuple):
    """A question to the inliner: the `number`-th about a call of `callee` in `caller`, counted from 1."""

    caller: str
    """The symbol of the calling function."""
    callee: str
    """The symbol of the called function."""
    number: int
    """Which question about such a call, counted from 1."""


@dataclass(slots=True)
class UnitDecisions:
    """The decisions for one module; all others are the compiler's."""

    name: str
    """The source file, as the module names it."""
    inline: dict[CallKey, bool] = field(default_factory=dict)
    """Whether to inline, by question."""
    pipeline: str = ""
    """It runs behind the level's own."""
    options: Sequence[str] = field(default_factory=list)
    """LLVM's, for code generation: NAME or NAME=VALUE, such as ``enable-machine-outliner=always``."""
    functions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """What is decided about a function, or about ``*``, all others: ``minsize``, ``optsize`` or ``speed``;
    ``unroll=N`` and ``vectorize=N`` for its innermost loops; ``nooutline``."""
    gains: dict[CallKey, int] = field(default_factory=dict)
    """By how many bytes a decision makes the program smaller."""
    searched: frozenset[str] = frozenset()
    """`function_hash` of the functions that the search saw."""
    notes: Sequence[str] = ()
    """Comments for people, such as the sizes before and after."""
    level: str = ""
    """The level of the search, such as ``Oz``; empty if nobody knows. `read_decisions` skips it."""


def write_decisions(path: str, units: Sequence[UnitDecisions], notes: Sequence[str] = ()) -> None:
    """Write a decision file; it appears whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    replace_file(path, decision_text(units, notes))


def decision_text(units: Sequence[UnitDecisions], notes: Sequence[str] = ()) -> str:
    """The text of a decision file."""
    lines = [HEAD, *(f"# {note}" for note in notes)]
    for unit in units:
        lines += ["", f"unit {unit.name}", *(f"# {note}" for note in unit.notes)]
        lines += [f"level {unit.level}"] * bool(unit.level)
        lines += [f"pipeline {unit.pipeline}"] * bool(unit.pipeline)
        lines += [f"option {option}" for option in unit.options]
        lines += [
            f"function {_escaped(name)} {' '.join(unit.functions[name])}" for name in sorted(unit.functions)
        ]
        for call, inlined in sorted(unit.inline.items()):
            names = f"{_escaped(call.caller)} {_escaped(call.callee)}"
            gain = f" {unit.gains[call]}" if unit.gains.get(call) else ""
            lines.append(f"inline {call.number} {'yes' if inlined else 'no'} {names}{gain}")
        hashes = sorted(unit.searched)
        lines += [
            f"searched {' '.join(hashes[first : first + PER_LINE])}"
            for first in range(0, len(hashes), PER_LINE)
        ]
    return "\n".join(lines) + "\n"


def read_decisions(path: str) -> list[UnitDecisions]:
    """Read a decision file, without its comments.

    Raises:
        InputError: the file cannot be read, or a line is not a decision, or names an option or a pass that
            is not permitted.
    """
    return [
        UnitDecisions(
            name,
            {CallKey(caller, callee, number): yes for caller, callee, number, yes, _ in calls},
            pipeline,
            options,
            {function: tuple(words) for function, words in functions},
            {CallKey(caller, callee, number): size for caller, callee, number, _, size in calls if size},
            frozenset(searched),
        )
        for name, calls, pipeline, options, functions, searched in _core.read_decisions(path)
    ]


def _escaped(name: str) -> str:
    text = name.encode("utf-8", "surrogateescape").decode("latin-1")
    return _ODD.sub(lambda odd: f"%{ord(odd[0]):02X}", text)
