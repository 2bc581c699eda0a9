# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ExpectedDiagnostics`: compares diagnostics with the comments in an input that announce them.

    // expected-error@+1 {{type of return operand}}
    // expected-warning-re@above {{took {{[0-9]+}} steps}}

The kinds are error, warning, remark and note. Without a place, the comment means its own line. ``above`` and
``below`` mean the nearest line without such a comment; ``unknown`` means no line.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from passpilot.plugin.mlir.diagnostics import Diagnostic
    from passpilot.plugin.mlir.source import Source

_COMMENT: Final = re.compile(
    r"expected-(error|note|remark|warning)(-re)? *(?:@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}\s*$"
)
_REGEX: Final = re.compile(r"\{\{(.*?)\}\}")
_CURRENT: Final = "see current operation: "
"""The start of a note that MLIR adds to errors; inputs need not expect it."""


@dataclass(slots=True)
class _Expected:
    severity: str
    line: int
    comment: int
    text: str
    pattern: re.Pattern[str]
    met: bool = False

    def fits(self, diagnostic: Diagnostic) -> bool:
        """Whether the diagnostic has the expected kind, line and text."""
        place = diagnostic.severity, diagnostic.line
        return not self.met and place == (self.severity, self.line) and bool(self._found(diagnostic))

    def _found(self, diagnostic: Diagnostic) -> object:
        return self.pattern.search(diagnostic.message)


class ExpectedDiagnostics:
    """The diagnostics that a source expects; `complaints` collects those that it does not.

    Raises:
        InputError: a regular expression in it is wrong.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        try:
            self._expected = list(_expected(source.lines()))
        except re.error as error:
            message = f"expected-...-re: expected a regular expression, got {error.pattern!r}: {error}"
            raise InputError(f"{source.name}: {message}") from error
        self.complaints: list[str] = []

    def meet(self, diagnostic: Diagnostic) -> None:
        """Match a diagnostic and its notes with what is expected."""
        for expected in self._expected:
            if expected.fits(diagnostic):
                expected.met = True
                break
        else:
            if not (diagnostic.severity == "note" and diagnostic.message.startswith(_CURRENT)):
                message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
                self.complaints.append(f"{self._source.place(diagnostic)}: error: {message}")
        for note in diagnostic.notes:
            self.meet(note)

    def missing(self) -> Iterator[str]:
        """Complaints about expected diagnostics that have not come."""
        for expected in self._expected:
            if not expected.met:
                message = f'expected {expected.severity} "{expected.text}" was not produced'
                yield f"{self._source.name}:{expected.comment}: error: {message}"


def _expected(lines: list[str]) -> Iterator[_Expected]:
    found = {number: match for number, line in enumerate(lines, 1) if (match := _COMMENT.search(line))}
    for number, match in found.items():
        severity, regex, place, text = match.groups()
        line = _line(number, place or "+0", found.keys())
        yield _Expected(severity, line, number, text, _pattern(text, regex=bool(regex)))


def _line(number: int, place: str, comments: Container[int]) -> int:
    if place == "unknown":
        return 0
    if place not in ("above", "below"):
        return number + int(place)
    step = -1 if place == "above" else 1
    while number in comments:
        number += step
    return number


def _pattern(text: str, *, regex: bool) -> re.Pattern[str]:
    """The regular expression for a comment's text; with `regex`, its parts in ``{{...}}`` are expressions."""
    if not regex:
        return re.compile(re.escape(text))
    parts = _REGEX.split(text)
    return re.compile("".join(part if i % 2 else re.escape(part) for i, part in enumerate(parts)))
