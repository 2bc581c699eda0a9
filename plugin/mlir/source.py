# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Source`: an MLIR input or one part of it; it shows diagnostics with their line."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import decoded, printable
from passpilot.plugin.mlir.capi import names_in, parsed_file
from passpilot.plugin.mlir.diagnostics import Diagnostic, error_list

SPLIT: Final = b"// -----"
"""The line between two parts of an input, and of an output."""

BITCODE: Final = b"BC\xc0\xde"
BYTECODE: Final = b"ML\xefR"
_ESCAPED: Final = re.compile(rb"\\[89A-Fa-f][0-9A-Fa-f]|[\x80-\xff]")
"""What text with a name that is not UTF-8 has."""

ANONYMOUS: Final = "-"
"""MLIR's file name for text that it did not read from a file."""


@dataclass(frozen=True, slots=True)
class Source:
    """Text or bytecode of a module; a part starts with empty lines, so that line numbers are the file's."""

    path: str
    data: bytes
    whole: bool
    """Whether the data is a whole file, which MLIR can read itself."""

    @property
    def name(self) -> str:
        """The name in diagnostics."""
        return "<stdin>" if self.path == "-" else self.path

    def parse(self, mlir: Any, context: Any, tell: Callable[[Diagnostic], None]) -> Any:
        """Parse the module; `tell` gets every diagnostic.

        Raises:
            InputError: the data is not a module.
        """
        if self.data.startswith(BITCODE):
            raise InputError(
                f"{self.name}: expected a module of MLIR, got LLVM bitcode; `passpilot opt` reads it"
            )
        if b"\0" in self.data and not self.data.startswith(BYTECODE):
            raise InputError(f"{self.name}: expected a module of MLIR, got binary data of another kind")
        with error_list(context, tell) as errors:
            module = parsed_file(self.path, context) if self.whole else parsed(mlir, self.data, context)
        if module is None:
            got = f"{errors[0].message} ({self.place(errors[0])})" if errors else "something else"
            raise InputError(f"{self.name}: expected a module of MLIR, got: {got}")
        check_names(self.name, self.data, module)
        return module

    def place(self, diagnostic: Diagnostic) -> str:
        """The place of a diagnostic as MLIR prints it, with this source's name."""
        if diagnostic.file == ANONYMOUS and diagnostic.line:
            return f"{self.name}:{diagnostic.line}:{diagnostic.column}"
        return diagnostic.place

    def shown(self, diagnostic: Diagnostic) -> str:
        """A diagnostic with its source line and notes, as MLIR prints it."""
        text = f"{self.place(diagnostic)}: {diagnostic.severity}: {diagnostic.message}\n"
        line = self._line(diagnostic)
        if line:
            text += f"{line}\n{' ' * (diagnostic.column - 1)}^\n"
        return text + "".join(map(self.shown, diagnostic.notes))

    def _line(self, diagnostic: Diagnostic) -> str:
        """The source line of a diagnostic; empty if the place is not in this source."""
        lines = self.lines()
        if diagnostic.file not in (ANONYMOUS, self.path) or not 1 <= diagnostic.line <= len(lines):
            return ""
        line = lines[diagnostic.line - 1]
        return line if 1 <= diagnostic.column <= len(line) + 1 else ""

    def lines(self) -> list[str]:
        """All lines of text; none for bytecode."""
        if self.data.startswith(BYTECODE):
            return []
        return decoded(self.data).split("\n")


def parsed(mlir: Any, data: bytes, context: Any) -> Any:
    """The module in text or bytecode; None if there is none."""
    context.emit_error_diagnostics = True  # the exception cannot have words that are not UTF-8
    try:
        return mlir.ir.Module.parse(data, context)
    except mlir.ir.MLIRError:
        return None


def check_names(who: str, data: bytes, module: Any) -> None:
    """Refuse a module that MLIR's Python bindings cannot show.

    Raises:
        InputError: the name of an operation is not UTF-8.
    """
    if module.context.allow_unregistered_dialects and (data.startswith(BYTECODE) or _ESCAPED.search(data)):
        for name in map(decoded, names_in(module)):
            if printable(name) != name:
                message = "expected names of operations in UTF-8, which MLIR's Python bindings need"
                raise InputError(f"{who}: {message}, got {name}; rename it")


def read_sources(path: str, *, split: bool) -> list[Source]:
    """Read an input; with `split`, one source per part between the lines `SPLIT`.

    Raises:
        InputError: it cannot be read.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
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
