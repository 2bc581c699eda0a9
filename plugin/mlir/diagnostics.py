# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Diagnostic` and `diagnosed`: captures MLIR's diagnostics and routes them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from passpilot.plugin.mlir.capi import diagnostic_at, handled
from passpilot.plugin.mlir.place import place_of

_SEVERITIES: Final = ("error", "warning", "note", "remark")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message: ``error``, ``warning``, ``remark`` or ``note``; line and column are 0 if unknown."""

    severity: str
    file: str
    line: int
    column: int
    message: str
    notes: tuple[Diagnostic, ...] = ()

    @property
    def place(self) -> str:
        """The place as MLIR prints it: ``in.mlir:3:5``."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else "<unknown>:0"

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.message}"


@contextlib.contextmanager
def diagnosed(context: Any, tell: Callable[[Diagnostic], bool]) -> Iterator[None]:
    """Pass every diagnostic of a context to `tell` while the block runs.

    If `tell` returns False, MLIR passes the diagnostic on to earlier handlers, or prints it. The first
    exception of `tell` is raised at the end of the block.
    """
    raised: list[BaseException] = []

    def handle(diagnostic: int) -> bool:
        try:
            return tell(_copied(diagnostic, context))
        except BaseException as error:  # noqa: BLE001  (raised below)
            raised.append(error)
            return True

    with handled(context, handle):
        yield
    if raised:
        raise raised[0]


@contextlib.contextmanager
def error_list(context: Any, tell: Callable[[Diagnostic], None] | None) -> Iterator[list[Diagnostic]]:
    """Collect the errors of a context while the block runs.

    `tell` gets every diagnostic; without it, MLIR handles those that are not errors.
    """
    errors: list[Diagnostic] = []

    def handle(diagnostic: Diagnostic) -> bool:
        if diagnostic.severity == "error":
            errors.append(diagnostic)
        if tell is not None:
            tell(diagnostic)
        return tell is not None or diagnostic.severity == "error"

    with diagnosed(context, handle):
        yield errors


def _copied(address: int, context: Any) -> Diagnostic:
    """A copy of a diagnostic; MLIR's own lives only during the callback."""
    severity, location, message, notes = diagnostic_at(address, context)
    parts = tuple(_copied(note, context) for note in notes)
    return Diagnostic(_SEVERITIES[severity], *place_of(location), message, parts)
