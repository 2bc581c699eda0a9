# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Contents`: the loaded bytes of a program, an object or an archive by section, source file and symbol."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from passpilot.plugin import _core
from passpilot.plugin.errors import CompilationError, InputError, restated
from passpilot.plugin.isolated import run_isolated
from passpilot.plugin.json_and_toml import read_input

MAP_LINE: Final = re.compile(r" *([0-9a-f]+) +[0-9a-f]+ +([0-9a-f]+) +\d+ (\S| {8}\S| {16}\S)(.*)")
"""A line of lld's map: addresses, size, alignment; an output section, an input section or a symbol."""

MAP_HEAD: Final = re.compile(r" +VMA +LMA +Size Align Out ")

ARCHIVE: Final = b"!<arch>\n"
THIN: Final = b"!<thin>\n"

NO_UNIT: Final = "(unknown)"
"""The source file of bytes whose source file is not known."""

DEADLINE: Final = 60.0
"""Seconds for debug information."""

_MOST_MAP: Final = 512 << 20

_NUMBERED: Final = re.compile(r"\.llvm\.\d+$")
"""What ThinLTO appends to names: a hash, which differs from build to build."""


class SymbolSize(NamedTuple):
    """A function or a variable."""

    size: int
    """Its bytes; 0 if it is folded into another."""
    section: str
    unit: str
    """Its source file or archive member; empty if unknown."""
    folded: str = ""
    """The name of the symbol with the same code; empty if there is none."""


class SectionSize(NamedTuple):
    """A section of a file."""

    name: str
    size: int
    is_code: bool
    is_loaded: bool


@dataclass(frozen=True, slots=True)
class Contents:
    """Where the loaded bytes of a file are."""

    name: str
    sections: Mapping[str, int]
    units: Mapping[str, int]
    symbols: Mapping[str, SymbolSize]
    inlined: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """How many calls were inlined, by caller and callee, as far as it is known."""

    @property
    def allocated(self) -> int:
        """All bytes that are loaded."""
        return sum(self.sections.values())

    @classmethod
    def of(cls, path: str, linker_map: str = "") -> Contents:
        """Read a program, an object or an archive; units are those of lld's map if it is given.

        Raises:
            InputError: a file cannot be read, or is no such file.
        """
        data = read_input(path, "a file that can be read")
        symbols: dict[str, SymbolSize] = {}
        sections: dict[str, int] = {}
        units: dict[str, int] = {}
        for member, part in members(path, data):
            place = f"{path}({member})" if member else path
            found = loaded_sections(section_sizes(place, part))
            for section, size in found.items():
                sections[section] = sections.get(section, 0) + size
            own = _symbols(place, part, found, member)
            for name, symbol in own.items():
                known = symbols.get(name)
                symbols[name] = symbol._replace(size=symbol.size + known.size) if known else symbol
            if member:
                units[member] = units.get(member, 0) + sum(found.values())
            else:
                units = _units(own, sum(found.values()))
        if linker_map:
            units = _units_of_map(linker_map, sections)
        return cls(path, sections, units, symbols)


def members(path: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """The members of an archive that are no indices; a program or an object has one without a name.

    Raises:
        InputError: the archive is damaged, or a member of a thin archive cannot be read.
    """
    if not data.startswith((ARCHIVE, THIN)):
        yield "", data
        return
    try:
        found = _core.archive_members(data)
    except InputError as error:
        raise restated(error, f"{path}: {error}") from error
    for name, content in found:
        if data.startswith(THIN):
            content = read_input(os.path.join(os.path.dirname(path), name), "a member of a thin archive")
        yield name, content


def section_sizes(path: str, data: bytes) -> list[SectionSize]:
    """The sections of an ELF, COFF, Mach-O or wasm file.

    Raises:
        InputError: it is no such file, or is damaged.
    """
    try:
        return [SectionSize(*row) for row in _core.object_parts(data) if any(row[:2])]
    except InputError as error:
        raise restated(error, f"{path}: {error}") from error


def loaded_sections(sections: Iterable[SectionSize]) -> dict[str, int]:
    """The bytes of the sections that are loaded."""
    found: dict[str, int] = {}
    for part in sections:
        if part.is_loaded and part.size:
            found[part.name] = found.get(part.name, 0) + part.size
    return found


def _symbols(path: str, data: bytes, sections: Mapping[str, int], member: str) -> dict[str, SymbolSize]:
    """The symbols of loaded sections; of several at one place, the first by name has the bytes.

    A symbol that other files do not see is named ``UNIT:NAME``. Names that are there twice are added.
    """
    try:
        rows = _core.object_symbols(data)
    except InputError as error:
        raise restated(error, f"{path}: {error}") from error
    found: dict[str, SymbolSize] = {}
    owners: dict[tuple[int, int], str] = {}
    named, unit_at = [], _unit_at(path, data)
    for name, size, address, number, section, source, local in rows:
        if section in sections and name:
            unit, short = member or unit_at(address) or source, _NUMBERED.sub("", name)
            named.append((local, f"{unit}:{short}" if local and unit else short, size, address, number,
                          section, unit))  # fmt: skip
    for _, name, size, address, number, section, unit in sorted(named):
        owner = owners.setdefault((number, address), name)
        known = found.get(name)
        if owner != name:
            if known is None:
                found[name] = SymbolSize(0, section, unit, owner)
        elif known is None or known.folded:
            found[name] = SymbolSize(size, section, unit)
        else:
            found[name] = known._replace(size=known.size + size)
    return found


def _unit_at(path: str, data: bytes) -> Callable[[int], str]:
    """Finds the source file of an address by the debug information of an ELF program."""
    ranges: list[tuple[int, int, str]] = []
    if data.startswith(b"\x7fELF") and any(part.name == ".debug_info" for part in section_sizes(path, data)):
        try:
            ranges = sorted(run_isolated("size", partial(_core.unit_ranges, data), DEADLINE))
        except (CompilationError, InputError) as error:
            msg = f"{path}: expected debug information, got a damaged one; llvm-strip -g removes it"
            raise InputError(msg) from error
    starts = [start for start, _, _ in ranges]

    def find(address: int) -> str:
        start, end, name = ranges[at] if (at := bisect_right(starts, address) - 1) >= 0 else (0, 0, "")
        return name if start <= address < end else ""

    return find


def shown(name: str) -> str:
    """The name of a symbol as its source writes it, with the source file of one that others do not see."""
    unit, mark, symbol = name.rpartition(":")
    return f"{unit}{mark}{_core.demangle(symbol)}"


def _units(symbols: Mapping[str, SymbolSize], total: int) -> dict[str, int]:
    units: dict[str, int] = {}
    for symbol in symbols.values():
        if symbol.unit:
            units[symbol.unit] = units.get(symbol.unit, 0) + symbol.size
    rest = total - sum(units.values())
    return {**units, NO_UNIT: rest} if units and rest > 0 else units


def _units_of_map(path: str, sections: Mapping[str, int]) -> dict[str, int]:
    """The bytes that every object has in the sections that are loaded.

    Raises:
        InputError: the file cannot be read, or is no map of lld.
    """
    text = read_input(path, "a map of lld", _MOST_MAP).decode("utf-8", "replace")
    if not MAP_HEAD.match(text):
        msg = f"{path}: expected a map of lld, got another file"
        raise InputError(f"{msg}; link with -fuse-ld=lld -Wl,-Map=FILE")
    units: dict[str, int] = {}
    is_loaded = False
    for line in text.splitlines():
        found = MAP_LINE.match(line)
        if found and len(found[3]) == 1:
            is_loaded = found[3] + found[4] in sections
        elif found and len(found[3]) == 9 and is_loaded:
            place = (found[3].lstrip() + found[4]).rpartition(":(")[0] or NO_UNIT
            units[place] = units.get(place, 0) + int(found[2], 16)
    rest = sum(sections.values()) - sum(units.values())
    return {**units, NO_UNIT: units.get(NO_UNIT, 0) + rest} if rest > 0 else units
