# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the members of static archives, also of thin ones.

Source of the format: ar(5), and GNU ar's documentation of long names and thin archives.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHIVE: Final = b"!<arch>\n"
THIN: Final = b"!<thin>\n"
_HEADER: Final = 60
_TABLES: Final = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED")
"""The names of tables of symbols."""


class ArchiveMember(NamedTuple):
    """A file in an archive; `path` is where that of a thin archive is."""

    name: str
    data: bytes
    path: str = ""


def is_archive(data: bytes) -> bool:
    """Whether a file begins as an archive does."""
    return data[:8] in (ARCHIVE, THIN)


def read_members(path: str, data: bytes) -> Iterator[ArchiveMember]:
    """The members of the archive in a file, without tables.

    Raises:
        InputError: the archive is damaged, or a member of a thin archive cannot be read.
    """
    try:
        yield from _members(path, data)
    except (ValueError, IndexError) as error:
        raise InputError(f"{path}: expected an archive, got a damaged one") from error


def _members(path: str, data: bytes) -> Iterator[ArchiveMember]:
    thin = data[:8] == THIN
    long_names = b""
    place = 8
    while place + _HEADER <= len(data):
        header = data[place : place + _HEADER]
        name = header[:16].decode("utf-8", "surrogateescape").rstrip(" ")
        size = int(header[48:58])
        start = place + _HEADER
        inside = not thin or name in ("/", "//", "/SYM64/")
        body = data[start : start + size] if inside else b""
        if size < 0 or (inside and len(body) < size):
            raise ValueError(name)
        place = start + (size + size % 2 if inside else 0)
        if name == "//":
            long_names = body
        elif name.startswith("#1/"):  # BSD's long names stand before the contents
            length = int(name[3:])
            found = body[:length].rstrip(b"\0").decode("utf-8", "surrogateescape")
            if found not in _TABLES:
                yield ArchiveMember(found, body[length:])
        elif name not in _TABLES:
            full = _full_name(name, long_names)
            yield _thin_member(path, full) if thin else ArchiveMember(full, body)


def _full_name(name: str, long_names: bytes) -> str:
    if name.startswith("/"):
        start = int(name[1:].partition(":")[0])
        end = long_names.index(b"\n", start)
        name = long_names[start:end].decode("utf-8", "surrogateescape")
    return name.removesuffix("/")


def _thin_member(archive: str, name: str) -> ArchiveMember:
    path = os.path.normpath(os.path.join(os.path.dirname(archive), name))
    try:
        return ArchiveMember(os.path.basename(name), read_regular(path), path)
    except OSError as error:
        raise InputError(f"{archive}: expected its member {path}, got: {error.strerror}") from error
