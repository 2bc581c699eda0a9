# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`file_sizes`: the four sizes of a program, and `SizeReport`, its sizes by section."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError, restated
from passpilot.plugin.files import read_regular
from passpilot.plugin.version import MAJOR
from passpilot.training.evaluation.tables import aligned, escaped, table
from passpilot.training.rewards import xz_bytes
from passpilot.training.timing.commands import Commands

DEADLINE: Final = 120.0
"""Seconds for llvm-strip."""


class FileSizes(NamedTuple):
    """The sizes of a program or an object, in bytes."""

    allocated: int
    """What is loaded: all sections of memory but those of zeros."""
    text: int
    """Machine code."""
    stripped: int
    """The file without symbols and debug information."""
    xz: int
    """That file, compressed."""


class SectionSize(NamedTuple):
    """A section of a file."""

    name: str
    size: int
    is_code: bool
    is_loaded: bool


def _read(path: str) -> tuple[bytes, list[SectionSize]]:
    try:
        data = read_regular(path)
    except OSError as error:
        raise InputError(f"{path}: expected a file that can be read, got: {error.strerror}") from error
    try:
        return data, [SectionSize(*row) for row in _core.object_parts(data) if any(row[:2])]
    except InputError as error:
        raise restated(error, f"{path}: {error}") from error


def file_sizes(path: str, commands: Commands | None = None, deadline: float = DEADLINE) -> FileSizes:
    """The sizes of an ELF, COFF, Mach-O or wasm file.

    Raises:
        InputError: the file cannot be read, is no such file, or llvm-strip is missing.
        CompilationError: llvm-strip fails.
    """
    return _sizes(path, _read(path)[1], commands or Commands(), deadline)


def _sizes(path: str, sections: Iterable[SectionSize], commands: Commands, deadline: float) -> FileSizes:
    strip = shutil.which(f"llvm-strip-{MAJOR}")
    if strip is None:
        raise InputError(f"llvm-strip-{MAJOR} is not on the PATH; sudo apt-get install llvm-{MAJOR}")
    parts = list(sections)
    allocated = sum(part.size for part in parts if part.is_loaded)
    text = sum(part.size for part in parts if part.is_code)
    with tempfile.TemporaryDirectory(prefix="passpilot-strip-") as folder:
        stripped = os.path.join(folder, "stripped")
        done = commands.run([strip, "--strip-all", "-o", stripped, path], deadline)
        done.check(f"{path}: llvm-strip: expected a program", deadline)
        with open(stripped, "rb") as file:
            bare = file.read()
    return FileSizes(allocated, text, len(bare), xz_bytes(bare))


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """A file, its sizes and its sections."""

    name: str
    sizes: FileSizes
    sections: Sequence[SectionSize]

    def loaded(self) -> dict[str, int]:
        """The bytes of the sections that are loaded, by name, the largest first."""
        found: dict[str, int] = {}
        for section in self.sections:
            if section.is_loaded and section.size:
                found[section.name] = found.get(section.name, 0) + section.size
        return dict(sorted(found.items(), key=lambda item: -item[1]))


@dataclass(frozen=True, slots=True)
class SizeReport:
    """The sizes of files, for people and as JSON."""

    files: Sequence[MeasuredFile]

    @classmethod
    def of(cls, paths: Iterable[str]) -> SizeReport:
        """Measure files.

        Raises:
            Error: a file cannot be measured, as `file_sizes` says.
        """
        found = []
        for path in paths:
            sections = _read(path)[1]
            found.append(MeasuredFile(path, _sizes(path, sections, Commands(), DEADLINE), sections))
        return cls(found)

    def _rows(self) -> list[list[str]]:
        """The heads, the four sizes, then the loaded sections, with a column for each file."""
        rows = [["", *(file.name for file in self.files)]]
        rows += [
            [size, *(f"{getattr(file.sizes, size):,}" for file in self.files)] for size in FileSizes._fields
        ]
        loaded = [file.loaded() for file in self.files]
        names = dict.fromkeys(name for sections in loaded for name in sections)
        for name in sorted(names, key=lambda name: -max(sections.get(name, 0) for sections in loaded)):
            cells = (f"{sections[name]:,}" if name in sections else "-" for sections in loaded)
            rows.append([f"  {name}", *cells])
        return rows

    def lines(self) -> list[str]:
        """The table for a terminal."""
        return aligned(self._rows())

    def markdown(self) -> str:
        """The table as Markdown."""
        heads, *rows = ([escaped(cell) for cell in row] for row in self._rows())
        return table(heads, rows) + "\n"

    def to_json(self) -> dict[str, object]:
        """The sizes and all sections, those that are not loaded, too."""
        files = [
            {
                "name": file.name,
                **file.sizes._asdict(),
                "sections": [section._asdict() for section in file.sections],
            }
            for file in self.files
        ]
        return {"format": "passpilot size 1", "files": files}
