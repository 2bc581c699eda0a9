# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision files: what `passpilot tune` found, as text that a person can read, merge and commit.

The grammar is in plugin/native/runtime/decision_file.h, which reads the file in compilers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular, write_file

if TYPE_CHECKING:
    from collections.abc import Sequence

HEAD: Final = "passpilot decisions 1"
PER_LINE: Final = 12
"""Hashes on a line."""

SIZES: Final = ("minsize", "optsize", "speed")
"""The size levels of functions."""

_ODD: Final = re.compile(r"[\x00-\x20%\x7f-\xff]")
_WORD: Final = rf"(?:{'|'.join(SIZES)}|nooutline|unroll=(?:[1-9]|[1-5]\d|6[0-4]))"
_NAME: Final = "(?:[^ %]|%[0-9A-Fa-f]{2})+"
_LINE: Final = re.compile(
    rf"inline (?P<number>[1-9]\d*) (?P<inlined>yes|no) (?P<caller>{_NAME}) (?P<callee>{_NAME})"
    r"(?: (?P<bytes>\d+))?"
    r"|pipeline (?P<pipeline>.+)"
    r"|option (?P<option>\S+)"
    rf"|function (?P<function>{_NAME}) (?P<words>{_WORD}(?: {_WORD})*)"
    r"|searched (?P<searched>.+)"
)


def word_kind(word: str) -> str:
    """What a word about a function decides: ``size``, ``unroll`` or ``nooutline``."""
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
    ``unroll=N`` for its innermost loops; ``nooutline``."""
    gains: dict[CallKey, int] = field(default_factory=dict)
    """By how many bytes a decision makes the program smaller."""
    searched: frozenset[str] = frozenset()
    """`function_hash` of the functions that the search saw."""
    notes: Sequence[str] = ()
    """Comments for people, such as the sizes before and after."""

    def add(self, line: re.Match[str]) -> bool:
        """Take a line of a file; false if it contradicts itself or an earlier one."""
        if line["number"]:
            call = CallKey(_plain(line["caller"]), _plain(line["callee"]), int(line["number"]))
            if call in self.inline:
                return False
            self.inline[call] = line["inlined"] == "yes"
            if line["bytes"]:
                self.gains[call] = int(line["bytes"])
        elif line["pipeline"]:
            if self.pipeline:
                return False
            self.pipeline = line["pipeline"]
        elif line["function"]:
            name, words = _plain(line["function"]), tuple(line["words"].split(" "))
            if name in self.functions or len(set(map(word_kind, words))) < len(words):
                return False
            self.functions[name] = words
        elif line["option"]:
            self.options = [*self.options, line["option"]]
        else:
            self.searched |= set(line["searched"].split())
        return True


def write_decisions(path: str, units: Sequence[UnitDecisions], notes: Sequence[str] = ()) -> None:
    """Write a decision file; it appears whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    lines = [HEAD, *(f"# {note}" for note in notes)]
    for unit in units:
        lines += ["", f"unit {unit.name}", *(f"# {note}" for note in unit.notes)]
        lines += [f"pipeline {unit.pipeline}"] * bool(unit.pipeline)
        lines += [f"option {each}" for each in unit.options]
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
    write_file(path, ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))


def read_decisions(path: str) -> list[UnitDecisions]:
    """Read a decision file, without its comments.

    Raises:
        InputError: the file cannot be read, or a line is not a decision.
    """
    try:
        text = read_regular(path).decode("utf-8", "surrogateescape")
    except OSError as error:
        msg = f"decisions {path}: expected a file that can be read, got: {error.strerror}"
        raise InputError(msg) from error
    units: list[UnitDecisions] = []
    for number, line in enumerate(text.split("\n"), 1):
        if number == 1:
            if line != HEAD:
                raise _wrong(path, number, f'"{HEAD}"', line)
        elif line.startswith("unit "):
            units.append(UnitDecisions(line.removeprefix("unit ")))
        elif line and not line.startswith("#"):
            found = _LINE.fullmatch(line)
            if not units or not found or not units[-1].add(found):
                raise _wrong(path, number, "a decision", line)
    return units


def _wrong(path: str, number: int, expected: str, got: str) -> InputError:
    hint = "make the file with `passpilot tune`"
    return InputError(f"decisions {path}:{number}: expected {expected}, got {got[:80]!r}; {hint}")


def _escaped(name: str) -> str:
    text = name.encode("utf-8", "surrogateescape").decode("latin-1")
    return _ODD.sub(lambda odd: f"%{ord(odd[0]):02X}", text)


def _plain(text: str) -> str:
    return unquote(text, errors="surrogateescape")
