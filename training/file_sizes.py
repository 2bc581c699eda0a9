# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`file_sizes`: the four sizes of a program, and `SizeReport`, its sizes by section."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, cast

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import MOST_BYTES
from passpilot.plugin.json_and_toml import read_input, read_json
from passpilot.plugin.version import MAJOR
from passpilot.training.evaluation.tables import aligned, escaped, table
from passpilot.training.growth.contents import (
    Contents,
    SectionSize,
    SymbolSize,
    loaded_sections,
    members,
    section_sizes,
)
from passpilot.training.growth.inlined import InlinedCalls, inlined_calls
from passpilot.training.growth.regions import MemoryRegion, RegionUse, read_regions, region_uses
from passpilot.training.growth.text import SizeTable, content_blocks
from passpilot.training.rewards import xz_bytes
from passpilot.training.timing.commands import Commands

MOST_XZ: Final = 8 << 20
"""The largest file that a report compresses: xz needs a second for two megabytes, and 700 MB."""

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


def _read(path: str) -> list[SectionSize]:
    """The sections of a file, or of all members of an archive."""
    data = read_input(path, "a file that can be read")
    return [
        part
        for name, member in members(path, data)
        for part in section_sizes(f"{path}({name})" if name else path, member)
    ]


def file_sizes(path: str, commands: Commands | None = None, deadline: float = DEADLINE) -> FileSizes:
    """The sizes of an ELF, COFF, Mach-O or wasm file.

    Raises:
        InputError: the file cannot be read, is no such file, or llvm-strip is missing.
        CompilationError: llvm-strip fails.
    """
    return _sizes(path, _read(path), commands or Commands(), deadline)


def _sizes(
    path: str, sections: Iterable[SectionSize], commands: Commands, deadline: float, most: int = MOST_BYTES
) -> FileSizes:
    strip = shutil.which(f"llvm-strip-{MAJOR}")
    if strip is None:
        raise InputError(f"llvm-strip-{MAJOR} is not on the PATH; sudo apt-get install llvm-{MAJOR}")
    parts = list(sections)
    allocated = sum(part.size for part in parts if part.is_loaded)
    text = sum(part.size for part in parts if part.is_code)
    with tempfile.TemporaryDirectory(prefix="passpilot-strip-") as folder:
        stripped = os.path.join(folder, "stripped")
        done = commands.run([strip, "--strip-all", "-o", stripped, path], deadline)
        if done.code and (other := shutil.which("strip")):  # it refuses static programs of GNU ld
            done = commands.run([other, "--strip-all", "-o", stripped, path], deadline)
        done.check(f"{path}: llvm-strip: expected a program", deadline)
        size = os.path.getsize(stripped)
        if size > most:
            return FileSizes(allocated, text, size, -1)
        with open(stripped, "rb") as file:
            return FileSizes(allocated, text, size, xz_bytes(file.read()))


@dataclass(frozen=True, slots=True)
class MeasuredFile:
    """A file, its sizes and where its bytes are."""

    name: str
    sizes: Mapping[str, int | None]
    """Its four sizes; that of xz is None for a file that is too large to compress it in passing."""
    sections: Sequence[SectionSize]
    contents: Contents
    regions: Mapping[str, RegionUse] = field(default_factory=dict)
    """What it takes of regions of memory, if they are known."""

    @classmethod
    def of(
        cls,
        path: str,
        linker_map: str = "",
        regions: Sequence[MemoryRegion] = (),
        inlined: InlinedCalls = MappingProxyType({}),
    ) -> MeasuredFile:
        """Measure a file, as `SizeReport.of` does."""
        uses = region_uses(path, regions) if regions else {}
        sections = _read(path)
        sizes = _sizes(path, sections, Commands(), DEADLINE, MOST_XZ)._asdict()
        known = {name: None if size < 0 else size for name, size in sizes.items()}
        contents = replace(Contents.of(path, linker_map), inlined=inlined)
        return cls(path, known, sections, contents, uses)

    @property
    def rows(self) -> dict[str, int | None]:
        """The sizes, and what it takes of regions."""
        return {**self.sizes, **{name: use.used for name, use in self.regions.items()}}

    def to_json(self) -> dict[str, object]:
        """The sizes, all sections, those that are not loaded, too, the source files and the symbols."""
        return {
            "name": self.name,
            **self.sizes,
            **({"regions": self.regions} if self.regions else {}),
            "sections": [section._asdict() for section in self.sections],
            "units": dict(sorted(self.contents.units.items())),
            "symbols": {name: list(row) for name, row in sorted(self.contents.symbols.items())},
            **({"inlined": _sorted(self.contents.inlined)} if self.contents.inlined else {}),
        }

    @classmethod
    def from_json(cls, value: object, where: str) -> MeasuredFile:
        """The file that `to_json` has written.

        Raises:
            InputError: the value is none.
        """
        try:
            row = cast("Any", value)
            sections = [SectionSize(**section) for section in row["sections"]]
            symbols = {name: SymbolSize(*symbol) for name, symbol in row["symbols"].items()}
            regions = {name: RegionUse(*use) for name, use in row.get("regions", {}).items()}
            inlined = {name: dict[str, int](calls) for name, calls in row.get("inlined", {}).items()}
            units, loaded = dict[str, int](row["units"]), loaded_sections(sections)
            sizes = {name: row[name] for name in FileSizes._fields}
            numbers = [
                *sizes.values(),
                *units.values(),
                *loaded.values(),
                *(each.size for each in symbols.values()),
                *(size for use in regions.values() for size in use),
                *(count for calls in inlined.values() for count in calls.values()),
            ]
            texts = [row["name"], *(text for each in symbols.values() for text in each[1:])]
            if not all(isinstance(each, int) for each in numbers if each is not None):
                raise TypeError("a size that is no number")
            if not all(isinstance(text, str) for text in texts):
                raise TypeError("a name that is no text")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"{where}: expected what `passpilot size --result={where}` writes, got another file"
            raise InputError(msg) from error
        return cls(
            row["name"], sizes, sections, Contents(row["name"], loaded, units, symbols, inlined), regions
        )


@dataclass(frozen=True, slots=True)
class SizeReport:
    """The sizes of files, for people and as JSON."""

    files: Sequence[MeasuredFile]

    @classmethod
    def of(
        cls, paths: Iterable[str], linker_map: str = "", regions: str = "", inlined: str = ""
    ) -> SizeReport:
        """Measure files; `regions` is a linker script, `inlined` the folder of the build's decision logs.

        Raises:
            Error: a file cannot be measured, as `file_sizes` says.
        """
        known = read_regions(regions) if regions else []
        calls = inlined_calls(inlined) if inlined else {}
        return cls([MeasuredFile.of(path, linker_map, known, calls) for path in paths])

    @classmethod
    def read(cls, path: str, regions: str = "") -> SizeReport:
        """Read what `text` has written, or measure a program; `regions` is a linker script.

        Raises:
            Error: the file is neither.
        """
        if not read_input(path, "a result of passpilot size, or a program").lstrip().startswith(b"{"):
            try:
                return cls.of([path], regions=regions)
            except InputError as error:
                raise InputError(
                    f"{error}; `passpilot size PROGRAM --result=FILE` writes what is read here"
                ) from error
        value = read_json(path)
        files = value.get("files") if isinstance(value, dict) else None
        return cls([MeasuredFile.from_json(file, path) for file in files] if isinstance(files, list)
                   else [MeasuredFile.from_json(value, path)])  # fmt: skip

    def _rows(self) -> list[list[str]]:
        """The heads, the four sizes, regions, then the loaded sections, with a column for each file."""
        rows = [["", *(file.name for file in self.files)]]
        for name in FileSizes._fields:
            sizes = [file.sizes[name] for file in self.files]
            rows.append([name, *("-" if size is None else f"{size:,}" for size in sizes)])
        places = dict.fromkeys(name for file in self.files for name in file.regions)
        rows += [[name, *(str(file.regions.get(name, "-")) for file in self.files)] for name in places]
        loaded = [file.contents.sections for file in self.files]
        names = dict.fromkeys(name for sections in loaded for name in sections)
        for name in sorted(names, key=lambda name: -max(sections.get(name, 0) for sections in loaded)):
            cells = (f"{sections[name]:,}" if name in sections else "-" for sections in loaded)
            rows.append([f"  {name}", *cells])
        return rows

    def lines(self, limit: int) -> list[str]:
        """The table for a terminal; of a single file, its largest source files and symbols, too."""
        return [*aligned(self._rows()), *(line for block in self._blocks(limit) for line in block.lines())]

    def _blocks(self, limit: int) -> Iterable[SizeTable]:
        return content_blocks(self.files[0].contents, limit) if len(self.files) == 1 else ()

    def markdown(self, limit: int) -> str:
        """The tables as Markdown."""
        heads, *rows = ([escaped(cell) for cell in row] for row in self._rows())
        return "\n\n".join([table(heads, rows), *(each.markdown() for each in self._blocks(limit))]) + "\n"

    def text(self, growth: Sequence[Mapping[str, object]] = ()) -> str:
        """JSON that diffs well: the names are sorted, and a symbol has a line."""
        value = {"format": "passpilot size 2", "files": [file.to_json() for file in self.files]}
        return _lines({**value, **({"growth": growth} if growth else {})}, 0) + "\n"


def _sorted(calls: InlinedCalls) -> dict[str, dict[str, int]]:
    return {caller: dict(sorted(callees.items())) for caller, callees in sorted(calls.items())}


def _lines(value: object, depth: int) -> str:
    """JSON with a line for each of what is up to four levels deep."""
    if depth == 4 or not isinstance(value, (Mapping, list)) or not value:
        return json.dumps(value)
    if isinstance(value, list):
        ends, parts = "[]", [_lines(item, depth + 1) for item in value]
    else:
        ends = "{}"
        parts = [f"{json.dumps(name)}: {_lines(item, depth + 1)}" for name, item in value.items()]
    start = "\n" + " " * depth
    return f"{ends[0]}{start} " + f",{start} ".join(parts) + f"{start}{ends[1]}"
