# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Units in objects with embedded bitcode (`-Xclang -fembed-bitcode=all`), as in mlgo-utils' extract_ir.

The sections `.llvmbc` and `.llvmcmd` have the module before optimization and the arguments of `clang -cc1`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import MOST_TEXT, files_below, is_below, read_regular
from passpilot.training.corpus.archive import is_archive, read_members
from passpilot.training.corpus.arguments import value_of
from passpilot.training.corpus.builder import CorpusDraft, UnitDraft
from passpilot.training.corpus.elf import BITCODE, code_hash
from passpilot.training.corpus.layout import UnitOrigin, command_arguments

INDEX: Final = "-fthinlto-index="
"""The argument that names the index of a unit of a distributed ThinLTO build."""

_HOW: Final = "compile with -Xclang -fembed-bitcode=all, or record the build by passpilot cc --record"


@dataclass(frozen=True, slots=True)
class EmbeddedUnit:
    """What an object has in it: a module, the arguments, and a hash of its machine code."""

    bitcode: bytes
    arguments: tuple[str, ...]
    code_sha256: str


def read_embedded(name: str, data: bytes) -> EmbeddedUnit:
    """The unit in an object.

    Raises:
        InputError: the object has none, or several.
    """
    if data.startswith(BITCODE):
        raise InputError(f"{name}: expected an object, got bitcode, as -flto makes it; {_HOW}")
    try:
        found = {name: contents for name, _, contents in _core.object_sections(data)}
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    bitcode = found.get(".llvmbc", b"")
    if not bitcode.startswith(BITCODE):
        raise InputError(f"{name}: expected an object with embedded bitcode, got one without; {_HOW}")
    arguments = command_arguments(found.get(".llvmcmd", b""))
    if arguments.count("-cc1") != 1:
        got = "an object of several units" if arguments.count("-cc1") else "one without its arguments"
        raise InputError(f"{name}: expected an object with embedded arguments, got {got}; {_HOW}")
    return EmbeddedUnit(bitcode, arguments, code_hash(data))


def draft_objects(folder: str) -> CorpusDraft:
    """A draft of all `*.o` below a folder, named by their paths in it.

    Raises:
        InputError: the folder cannot be read.
    """
    return draft_embedded(
        [(str(path.relative_to(folder)), path) for path in files_below(folder, ".o")], folder
    )


def draft_params(file: str, root: str) -> CorpusDraft:
    """A draft of the objects and archives in a linker's response file; paths in it are relative to `root`.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        words = shlex.split(read_regular(file, MOST_TEXT).decode("utf-8", "surrogateescape"))
    except OSError as error:
        raise InputError(f"{file}: expected a linker's parameters, got: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{file}: expected a linker's parameters, got: {error}") from error
    outputs = {number + 1 for number, word in enumerate(words) if word in ("-o", "--output")}
    inputs = [
        word
        for number, word in enumerate(words)
        if number not in outputs and not word.startswith("-") and word.endswith((".o", ".a"))
    ]
    return draft_embedded([(name, Path(root, name)) for name in dict.fromkeys(inputs)], root)


def draft_embedded(objects: Iterable[tuple[str, Path]], root: str) -> CorpusDraft:
    """A draft of the units in objects and archives, with their names; what has none is a problem.

    Indices for ThinLTO are files relative to `root`.
    """
    units: list[UnitDraft] = []
    problems: list[str] = []
    for name, path in objects:
        try:
            units += _units(inside(name), path, root, problems)
        except InputError as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{name}: expected an object, got: {error.strerror}")
    return CorpusDraft(units, problems=problems)


def _units(name: str, path: Path, root: str, problems: list[str]) -> list[UnitDraft]:
    data = read_regular(path)
    if not is_archive(data):
        return [_unit(name, path, data, root)]
    units: dict[str, UnitDraft] = {}
    for member in read_members(str(path), data, root):
        inner, number = f"{name}/{member.name}", 2
        while inner in units:
            inner, number = f"{name}/{member.name}.{number}", number + 1
        try:
            units[inner] = _unit(inner, path, member.data, root)
        except InputError as error:
            problems.append(str(error))
    return list(units.values())


def _unit(name: str, path: Path, data: bytes, root: str) -> UnitDraft:
    found = read_embedded(name, data)
    thinlto = None
    if index := next(
        (argument[len(INDEX) :] for argument in found.arguments if argument.startswith(INDEX)), ""
    ):
        place = Path(root, index)
        if not is_below(place, root):
            raise InputError(f"{name}: expected its index for ThinLTO below {root}, got {index}")
        if not place.is_file():
            raise InputError(f"{name}: expected its index for ThinLTO, {place}, got none")
        thinlto = partial(read_regular, place)
    source = value_of(found.arguments, "-main-file-name")
    language = "c++" if source.endswith((".cpp", ".cc", ".cxx", ".C", ".c++")) else "c" if source else ""
    origin = UnitOrigin("", language, found.code_sha256, source, output=os.path.abspath(path))
    return UnitDraft(name, lambda: found.bitcode, lambda _: found.arguments, origin, thinlto)


def inside(name: str) -> str:
    """The name as one within a corpus: no absolute path, and none that leads upwards."""
    return os.path.normpath(f"/{name}").lstrip("/")
