# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`file_sizes`: the four sizes of a program: what is loaded, its code, the file, and the file compressed."""

from __future__ import annotations

import lzma
import os
import shutil
import tempfile
from typing import NamedTuple

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular
from passpilot.plugin.version import MAJOR
from passpilot.training.rewards import allocated_bytes, code_bytes
from passpilot.training.timing.commands import Commands

DEADLINE = 120.0
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


def file_sizes(path: str, commands: Commands | None = None, deadline: float = DEADLINE) -> FileSizes:
    """The sizes of an ELF, COFF, Mach-O or wasm file.

    Raises:
        InputError: the file cannot be read, is no such file, or llvm-strip is missing.
        CompilationError: llvm-strip fails.
    """
    strip = shutil.which(f"llvm-strip-{MAJOR}")
    if strip is None:
        raise InputError(f"llvm-strip-{MAJOR} is not on the PATH; sudo apt-get install llvm-{MAJOR}")
    try:
        data = read_regular(path)
    except OSError as error:
        raise InputError(f"{path}: expected a file that can be read, got: {error.strerror}") from error
    allocated, text = allocated_bytes(data), code_bytes(data)
    with tempfile.TemporaryDirectory(prefix="passpilot-strip-") as folder:
        stripped = os.path.join(folder, "stripped")
        done = (commands or Commands()).run([strip, "--strip-all", "-o", stripped, path], deadline)
        done.check("llvm-strip: expected a program", deadline)
        with open(stripped, "rb") as file:
            bare = file.read()
    return FileSizes(allocated, text, len(bare), len(lzma.compress(bare, preset=9)))
