# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Diagnostic` and `diagnosed`: what MLIR tells of an operation, and who is told."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PLACE: Final = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_ESCAPE: Final = re.compile(r"\\([0-9A-Fa-f]{2}|.)")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: ``error``, ``warning``, ``remark`` or ``note``; line and column are 0 where unknown."""

    severity: str
    file: str
    line: int
    column: int
    message: str
    notes: tuple[Diagnostic, ...] = ()

    @property
    def place(self) -> str:
        """The place in MLIR's manner: ``in.mlir:3:5``."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else "<unknown>:0"

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.message}"


def place_of(location: object) -> tuple[str, int, int]:
    """File, line and column of a location: of the first of them where it is made of several."""
    found = _PLACE.search(str(location))
    if found is None:
        return "", 0, 0
    return _ESCAPE.sub(_unescaped, found[1]), int(found[2]), int(found[3])


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if len(match[1]) == 2 else match[1]


@contextlib.contextmanager
def diagnosed(context: Any, tell: Callable[[Diagnostic], bool]) -> Iterator[None]:
    """Tell of everything that the passes and parsers of a context say within.

    `tell` says whether that is all; otherwise MLIR tells whoever was there before, or the standard error.
    """
    handler = context.attach_diagnostic_handler(lambda given: tell(_copied(given)))
    try:
        yield
    finally:
        handler.detach()


def _copied(given: Any) -> Diagnostic:
    """A diagnostic that outlives the call."""
    file, line, column = place_of(given.location)
    notes = tuple(_copied(note) for note in given.notes)
    return Diagnostic(given.severity.name.lower(), file, line, column, given.message, notes)
