# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuses environment variables that are nearly those of options, as the plugins for stock tools do."""

from __future__ import annotations

from passpilot.cli.options_table import options_of
from passpilot.plugin.errors import UsageError

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

PREFIX: Final = "PASSPILOT_"

SHORT: Final = 16
"""Names with fewer letters may have one wrong letter, others two, as in plugin/native/loaded/option.cpp."""

KNOWN: Final = frozenset(row.variable for row in options_of("cc"))

OTHERS: Final = ("CACHE", "COMPILER", "PROGRAMS", "RECORDING", "UNIT", "WORDS")
"""What is behind the prefix in variables that are no options."""


def refuse_misspelt(command: str, variables: Mapping[str, str]) -> None:
    """Refuse a variable whose name is nearly that of an option.

    Raises:
        UsageError: there is one.
    """
    for name in variables:
        if not name.startswith(PREFIX) or name in KNOWN or name.removeprefix(PREFIX) in OTHERS:
            continue
        most = 1 if len(name) < SHORT else 2
        if near := next((known for known in sorted(KNOWN) if _distance(name, known) <= most), ""):
            who = f"{command}: variable {name}"
            raise UsageError(f"{who}: expected the name of an option, got another; did you mean '{near}'?")


def _distance(word: str, other: str) -> int:
    """How many letters are more, less or wrong."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(word, 1):
        diagonal, row[0] = row[0], number
        for place, wanted in enumerate(other, 1):
            diagonal, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, diagonal + (letter != wanted)),
            )
    return row[-1]
