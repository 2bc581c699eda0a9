# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kinds of object files by their first bytes, and a hash of the machine code. LLVM reads their sections."""

from __future__ import annotations

import hashlib
from typing import Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import utf8

BITCODE: Final = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""How bitcode begins, plain and wrapped."""

RELOCATABLE: Final = 1
SHARED: Final = 3
"""Types of ELF files. Source: the ELF specification, e_type."""

_EXECUTABLE: Final = 0x4
"""SHF_EXECINSTR of a section's flags."""


_OTHERS: Final = (b"\0asm", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\x64\x86", b"\x4c\x01", b"\x64\xaa")
"""How objects of wasm, Mach-O and COFF begin."""


def is_object(data: bytes) -> bool:
    """Whether these are the bytes of an object for a linker, of machine code."""
    return elf_type(data) == RELOCATABLE or data.startswith(_OTHERS)


def elf_type(data: bytes) -> int:
    """The e_type of an ELF file; 0 for other files."""
    if data[:4] != b"\x7fELF" or len(data) < 18:
        return 0
    return int.from_bytes(data[16:18], "little" if data[5] == 1 else "big")


def code_hash(data: bytes) -> str:
    """A hash of the machine code in an ELF object; stripping does not change it. Empty for other files.

    It covers name and bytes of all executable sections.
    """
    from passpilot.plugin import _core

    digest = hashlib.sha256()
    try:
        for name, flags, code in _core.object_sections(data) if elf_type(data) else ():
            if flags & _EXECUTABLE:
                digest.update(b"%s\0%d\0" % (utf8(name), len(code)))
                digest.update(code)
    except InputError:
        return ""
    return digest.hexdigest() if elf_type(data) else ""
