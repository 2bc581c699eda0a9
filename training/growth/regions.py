# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`region_uses`: what a program takes of each memory region of its linker script, such as flash and RAM."""

from __future__ import annotations

import ast
import operator
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from passpilot.plugin.errors import InputError
from passpilot.plugin.json_and_toml import read_input

ELSEWHERE: Final = "(no region)"
"""The row of bytes that are in no region."""

_MEMORY: Final = re.compile(r"\bMEMORY\s*\{([^{}]*)\}")
_REGION: Final = re.compile(
    r"([\w.$-]+)\s*(?:\([^)]*\)\s*)?:\s*(?:ORIGIN|org|o)\s*=([^,]*),\s*(?:LENGTH|len|l)\s*=([^:,;]*?)"
    r"(?=[\s,;]*(?:[\w.$-]+\s*(?:\([^)]*\)\s*)?:|$))",
    re.DOTALL,
)
_GNU_MAP: Final = re.compile(
    r"^Memory Configuration\n\nName .*\n((?:\S+ +0x[0-9a-f]+ +0x[0-9a-f]+.*\n)+)", re.MULTILINE
)
_MOST: Final = 512 << 20

_OPERATORS: Final[Mapping[type, Callable[[int, int], int]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}

_ALLOC, _NOBITS, _LOAD = 0x2, 8, 1
"""SHF_ALLOC, SHT_NOBITS and PT_LOAD of the ELF specification."""


class MemoryRegion(NamedTuple):
    """A region of memory."""

    name: str
    origin: int
    length: int


class RegionUse(NamedTuple):
    """The bytes of a region that a program takes, and those that there are; 0 if it is no region."""

    used: int
    length: int

    def __str__(self) -> str:
        share = f" of {self.length:,} ({self.used / self.length:.1%})" if self.length else ""
        return f"{self.used:,}{share}"


def read_regions(path: str) -> list[MemoryRegion]:
    """The regions in MEMORY of a linker script, or in a map of GNU ld.

    Raises:
        InputError: the file cannot be read, or has none.
    """
    text = read_input(path, "a linker script", _MOST).decode("utf-8", "replace")
    if found := _GNU_MAP.search(text):
        rows = [line.split() for line in found[1].splitlines()]
        return [
            MemoryRegion(row[0], int(row[1], 16), int(row[2], 16)) for row in rows if row[0] != "*default*"
        ]
    plain = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    regions: list[MemoryRegion] = []
    for block in _MEMORY.findall(plain):
        for name, origin, length in _REGION.findall(block):
            known = {region.name: region for region in regions}
            where = f"{path}: region {name}"
            regions.append(MemoryRegion(name, _number(origin, known, where), _number(length, known, where)))
    if not regions:
        included = re.search(r"^\s*INCLUDE\s+(\S+)", plain, re.MULTILINE)
        hint = f"; give {included[1]}, which it includes" if included else ""
        raise InputError(f"{path}: expected MEMORY with regions, as in a linker script, got none{hint}")
    return regions


def region_uses(path: str, regions: Sequence[MemoryRegion]) -> dict[str, RegionUse]:
    """What an ELF program takes of each region.

    What is copied at the start, as `.data` from flash to RAM, is in both; what is zero only where it runs.

    Raises:
        InputError: the file cannot be read, or is no ELF program.
    """
    data = read_input(path, "a file that can be read")
    used = dict.fromkeys([*(region.name for region in regions), ELSEWHERE], 0)
    try:
        for size, places in _pieces(data):
            names = {_region_at(place, regions) for place in places}
            for name in names - {ELSEWHERE} or names:
                used[name] += size
    except (struct.error, ValueError, IndexError) as error:
        raise InputError(f"{path}: expected an ELF program for --regions, got another file") from error
    lengths = {region.name: region.length for region in regions}
    return {
        name: RegionUse(size, lengths.get(name, 0)) for name, size in used.items() if size or name in lengths
    }


def _region_at(address: int, regions: Sequence[MemoryRegion]) -> str:
    inside = (region.name for region in regions if 0 <= address - region.origin < region.length)
    return next(inside, ELSEWHERE)


def _number(text: str, known: Mapping[str, MemoryRegion], where: str) -> int:
    """The value of an expression of a linker script without symbols."""

    def value(node: ast.AST) -> int:
        match node:
            case ast.Expression(body=inner):
                return value(inner)
            case ast.Constant(value=int(number)):
                return number
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
            case ast.Call(func=ast.Name(id=("ORIGIN" | "LENGTH") as which), args=[ast.Name(id=name)]):
                return known[name].origin if which == "ORIGIN" else known[name].length
        raise ValueError

    try:
        plain = re.sub(
            r"\b(0[xX][0-9a-fA-F]+|\d+)([KkMm])\b", lambda each: _scaled(each[1], each[2]), text.strip()
        )
        plain = re.sub(r"\b0+(?=\d)", "0o", plain).replace("/", "//")
        return value(ast.parse(plain, mode="eval"))
    except (SyntaxError, ValueError, KeyError, ZeroDivisionError, RecursionError) as error:
        raise InputError(
            f"{where}: expected numbers, got {text.strip()[:60]!r}; give a file that has MEMORY with "
            "numbers, or the map that GNU ld writes"
        ) from error


def _scaled(digits: str, unit: str) -> str:
    return str(int(digits, 0 if digits[:2] in ("0x", "0X") else 10) << (10 if unit in "kK" else 20))


def _pieces(data: bytes) -> Iterator[tuple[int, set[int]]]:
    """The sections of a program in memory: their sizes, and the addresses where they run and are loaded."""
    if data[:4] != b"\x7fELF":
        raise ValueError
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    word = "Q" if wide else "I"
    segments_at, sections_at = struct.unpack_from(f"{order}2{word}", data, 32 if wide else 28)
    sizes = struct.unpack_from(f"{order}4H", data, 54 if wide else 42)
    segments = [
        _segment(data, segments_at + number * sizes[0], order, wide=wide) for number in range(sizes[1])
    ]
    if not segments:
        raise ValueError
    for number in range(sizes[3]):
        row = struct.unpack_from(f"{order}2I4{word}", data, sections_at + number * sizes[2])
        _, kind, flags, address, offset, size = row
        if not flags & _ALLOC or not size:
            continue
        places = {address}
        for start, virtual, physical, length in segments:
            if kind != _NOBITS and start <= offset < start + length and virtual <= address < virtual + length:
                places.add(physical + address - virtual)
        yield size, places


def _segment(data: bytes, at: int, order: str, *, wide: bool) -> tuple[int, int, int, int]:
    """The offset, the two addresses and the size in the file of a segment; of size 0 if it is not loaded."""
    if wide:
        kind, _, offset, virtual, physical, size = struct.unpack_from(f"{order}2I4Q", data, at)
    else:
        kind, offset, virtual, physical, size = struct.unpack_from(f"{order}5I", data, at)
    return offset, virtual, physical, size if kind == _LOAD else 0
