# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the members of static archives, also of thin ones, by LLVM's reader."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import is_below, read_regular

_THIN = b"!<thin>\n"


class ArchiveMember(NamedTuple):
    """A file in an archive; `path` is where that of a thin archive is."""

    name: str
    data: bytes
    path: str = ""


def is_archive(data: bytes) -> bool:
    """Whether a file begins as an archive does."""
    return data[:8] in (b"!<arch>\n", _THIN)


def read_members(path: str, data: bytes, root: str = "/") -> Iterator[ArchiveMember]:
    """The members of the archive in a file, without tables; files of a thin one must be below `root`.

    Raises:
        InputError: the archive is damaged, or a member of a thin archive cannot be read.
    """
    from passpilot.plugin import _core

    try:
        members = _core.archive_members(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    for name, contents in members:
        yield _thin_member(path, name, root) if data.startswith(_THIN) else ArchiveMember(name, contents)


def _thin_member(archive: str, name: str, root: str) -> ArchiveMember:
    path = os.path.normpath(os.path.join(os.path.dirname(archive), name))
    if not is_below(path, root):
        raise InputError(f"{archive}: expected members below {root}, got {path}; give a folder that has both")
    try:
        return ArchiveMember(os.path.basename(name), read_regular(path), path)
    except OSError as error:
        raise InputError(f"{archive}: expected its member {path}, got: {error.strerror}") from error
