# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which files the link of a program may read: those of its corpus, the system's libraries, the user's root.

A corpus may come from elsewhere, so inputs in its own folder must be objects: sources, assembly and linkers'
scripts could include other files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import is_below, read_regular
from passpilot.training.corpus.archive import is_archive, read_members
from passpilot.training.corpus.elf import BITCODE

if TYPE_CHECKING:
    from passpilot.training.corpus.layout import CorpusProgram

SYSTEM: Final = ("/usr", "/lib", "/lib32", "/lib64", "/opt")
"""Folders of the system's libraries, where linkers search anyway."""

_TOOLS: Final = re.compile(r"--(?:sysroot|gcc-[\w-]+)=(.*)", re.DOTALL)
"""Options of a folder in which clang also looks for linkers: never one of the corpus."""

_ATTACHED: Final = re.compile(r"-{1,2}[A-Za-z]")
"""How an option begins whose value may stand directly behind it."""


_READS: Final = re.compile(
    r"(?:^|\0)(?:--?(?:version-script|dynamic-list|script)[=\0]|-T\0?(?!text|data|bss))([^/\0][^\0]*)"
)
"""Options of a link that read a file of a relative name; a NUL is between words."""


def link_folder(program: CorpusProgram, folder: str) -> str:
    """Where a program is linked: in the build's folder, or in the corpus's if that is not on this machine."""
    return program.directory if os.path.isdir(program.directory) else folder


def refusal(program: CorpusProgram, folder: str, root: str) -> str:
    """What is wrong with the files that a program's link would read; empty if nothing is."""
    base = link_folder(program, folder)
    if program.directory not in ("", base) and (name := _relative(program)):
        expected = f"{program.name}: expected {name} of its link in {program.directory}, got no such folder"
        return f"{expected}; put it there, or record the build on this machine"
    places = {os.path.join(base, found[1]) for word in program.arguments if (found := _TOOLS.fullmatch(word))}
    for path in (*places, *_files(program, base)):
        if not (root and is_below(path, root)) and not any(is_below(path, place) for place in SYSTEM):
            if path in places:
                expected = f"a toolchain of the link in {', '.join(SYSTEM)}"
            elif not is_below(path, folder):
                expected = f"inputs of the link below {folder}"
            elif not os.path.isdir(path) and not _is_object(path, folder):
                expected = "objects and archives as inputs of the link"
            else:
                continue
            place = os.path.dirname(os.path.realpath(path))
            return f"{program.name}: expected {expected}, got {path}; give --root={place} to permit it"
    return ""


def _relative(program: CorpusProgram) -> str:
    """The first file of a relative name that a program's link reads; empty if there is none."""
    words = (word.removeprefix("-Wl,").replace(",", "\0") for word in program.arguments)
    named = _READS.findall("\0".join(words))
    return next((name for name in (*program.foreign, *named) if not os.path.isabs(name)), "")


def _files(program: CorpusProgram, base: str) -> Iterator[str]:
    """The files that words of a link may name, and the folders of `-L`."""
    for word in (*program.foreign, *program.arguments):
        parts = re.split("[,=]", word)
        for part in dict.fromkeys((word, *parts, *(_ATTACHED.sub("", part, count=1) for part in parts))):
            path = os.path.join(base, part) if part and "\0" not in part else ""
            if path and os.path.exists(path) and (word.startswith("-L") or not os.path.isdir(path)):
                yield path


def _is_object(path: str, folder: str) -> bool:
    """Whether a file is an object or an archive; members of a thin one must be below the folder."""
    try:
        data = read_regular(path)
        found = [member.data for member in read_members(path, data, folder)] if is_archive(data) else [data]
    except (OSError, InputError):
        return False
    return all(data.startswith((b"\x7fELF", *BITCODE)) for data in found)
