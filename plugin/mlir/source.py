# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Source`: an MLIR input, or one part of it, with what its diagnostics show of it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.diagnostics import diagnosed

if TYPE_CHECKING:
    from collections.abc import Callable

    from passpilot.plugin.mlir.diagnostics import Diagnostic

SPLIT: Final = b"// -----"
"""The line between two parts of an input; the same stands between two parts of an output."""

BYTECODE: Final = b"ML\xefR"
ANONYMOUS: Final = "-"
"""What MLIR calls the file of a text that it did not read itself."""


@dataclass(frozen=True, slots=True)
class Source:
    """A module's text or bytecode; a part of a file has empty lines for what is before it."""

    path: str
    data: bytes
    whole: bool
    """Whether it is all of a file that MLIR can read again."""

    @property
    def name(self) -> str:
        """How diagnostics call it."""
        return "<stdin>" if self.path == "-" else self.path

    def parse(self, mlir: Any, context: Any, tell: Callable[[Diagnostic], None]) -> Any:
        """The module; `tell` gets each diagnostic.

        Raises:
            InputError: it is none.
        """
        errors: list[Diagnostic] = []

        def told(diagnostic: Diagnostic) -> bool:
            if diagnostic.severity == "error":
                errors.append(diagnostic)
            tell(diagnostic)
            return True

        context.emit_error_diagnostics = True
        try:
            with diagnosed(context, told):
                if self.whole:
                    return mlir.ir.Module.parseFile(self.path, context)
                return mlir.ir.Module.parse(self.data, context)
        except mlir.ir.MLIRError as error:
            got = f"{errors[0].message} ({self.place(errors[0])})" if errors else "something else"
            raise InputError(f"{self.name}: expected a module of MLIR, got: {got}") from error

    def place(self, diagnostic: Diagnostic) -> str:
        """Where a diagnostic is about, in MLIR's manner."""
        if diagnostic.file == ANONYMOUS and diagnostic.line:
            return f"{self.name}:{diagnostic.line}:{diagnostic.column}"
        return diagnostic.place

    def shown(self, diagnostic: Diagnostic) -> str:
        """A diagnostic with the line that it is about, and its notes, in MLIR's manner."""
        text = f"{self.place(diagnostic)}: {diagnostic.severity}: {diagnostic.message}\n"
        line = self._line(diagnostic)
        if line:
            text += f"{line}\n{' ' * (diagnostic.column - 1)}^\n"
        return text + "".join(map(self.shown, diagnostic.notes))

    def _line(self, diagnostic: Diagnostic) -> str:
        """The line; empty if it is not of this source, or there is no such place in it."""
        lines = self.lines()
        if diagnostic.file not in (ANONYMOUS, self.path) or not 1 <= diagnostic.line <= len(lines):
            return ""
        line = lines[diagnostic.line - 1]
        return line if 1 <= diagnostic.column <= len(line) + 1 else ""

    def lines(self) -> list[str]:
        """All lines; none if it is bytecode."""
        if self.data.startswith(BYTECODE):
            return []
        return self.data.decode("utf-8", "replace").split("\n")


def read_sources(path: str, *, split: bool) -> list[Source]:
    """An input, or its parts between the lines `SPLIT`.

    Raises:
        InputError: it cannot be read.
    """
    try:
        path.encode()
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except UnicodeEncodeError as error:
        raise InputError(f"{path!r}: expected a name in UTF-8; rename it") from error
    except OSError as error:
        raise InputError(f"{path}: expected a file that can be read, got: {error.strerror}") from error
    if not split:
        return [Source(path, data, whole=os.path.isfile(path))]
    sources: list[Source] = []
    part: list[bytes] = []
    for number, line in enumerate(data.split(b"\n")):
        if line.rstrip() == SPLIT:
            sources.append(Source(path, b"\n".join(part), whole=False))
            part = [b""] * (number + 1)
        else:
            part.append(line)
    return [*sources, Source(path, b"\n".join(part), whole=False)]
