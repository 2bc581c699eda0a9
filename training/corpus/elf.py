# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads sections of ELF objects: embedded bitcode, and a hash of the machine code."""

from __future__ import annotations

import hashlib
import struct
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

ELF: Final = b"\x7fELF"
BITCODE: Final = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""How bitcode begins, plain and wrapped."""

RELOCATABLE: Final = 1
SHARED: Final = 3
"""Types of ELF files. Source: the ELF specification, e_type."""

_EXECUTABLE: Final = 0x4
"""SHF_EXECINSTR of a section's flags."""

_EMPTY: Final = 8
"""SHT_NOBITS, the type of sections without bytes."""


class ElfSection(NamedTuple):
    """A section of an object."""

    name: str
    flags: int
    data: bytes


def elf_type(data: bytes) -> int:
    """The e_type of an ELF file; 0 for other files."""
    if data[:4] != ELF or len(data) < 18:
        return 0
    return int(struct.unpack_from("<H" if data[5] == 1 else ">H", data, 16)[0])


def sections(data: bytes) -> Iterator[ElfSection]:
    """The sections of an ELF object.

    Raises:
        InputError: it is none, or is damaged.
    """
    if data[:4] != ELF:
        raise InputError("expected an ELF object, got another file")
    try:
        yield from _sections(data)
    except (struct.error, IndexError, ValueError) as error:
        raise InputError("expected an ELF object, got a damaged one") from error


def _sections(data: bytes) -> Iterator[ElfSection]:
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    (table,) = struct.unpack_from(order + ("Q" if wide else "I"), data, 40 if wide else 32)
    size, count, names = struct.unpack_from(order + "HHH", data, 58 if wide else 46)
    form = struct.Struct(order + ("IIQQQQIIQQ" if wide else "10I"))
    if not table:
        return
    if table > len(data) or size < form.size:
        raise ValueError("the table of sections")
    first = form.unpack_from(data, table)
    count, names = count or first[5], first[6] if names == 0xFFFF else names  # more than 65279 sections
    if table + count * size > len(data):
        raise ValueError("the table of sections")
    rows = [form.unpack_from(data, table + number * size) for number in range(count)]
    start = rows[names][4]
    for row in rows[1:]:
        name = data[start + row[0] : data.index(0, start + row[0])].decode("utf-8", "replace")
        if row[4] + row[5] > len(data) and row[1] != _EMPTY:
            raise ValueError(name)
        yield ElfSection(name, row[2], b"" if row[1] == _EMPTY else data[row[4] : row[4] + row[5]])


def code_hash(data: bytes) -> str:
    """A hash of the machine code in an ELF object; stripping does not change it. Empty for other files.

    It covers name and bytes of all executable sections.
    """
    digest = hashlib.sha256()
    try:
        for section in sections(data):
            if section.flags & _EXECUTABLE:
                digest.update(b"%s\0%d\0" % (section.name.encode(), len(section.data)))
                digest.update(section.data)
    except InputError:
        return ""
    return digest.hexdigest()
