# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search makes small: the machine code of objects, or of the program that they are linked to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.training.rewards import code_bytes, function_symbols

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from passpilot.training.tuning.unit import Compiled

DEADLINE: Final = 120.0
"""The seconds that a link, or the compilation of a unit, may take."""

_MAP_LINE: Final = re.compile(r" *[0-9a-f]+ +[0-9a-f]+ +([0-9a-f]+) +\d+ (\S| {8}\S| {16}\S)(.*)")
"""A line of lld's map: addresses, size, alignment; an output section, an input section or a symbol."""


class Sizes(NamedTuple):
    """The bytes of machine code, or what else is to be small.

    A function that other objects cannot see is named ``NUMBER:NAME``, with the number of its object.
    """

    total: float
    functions: Mapping[str, float]
    owners: Mapping[str, int]
    """The number of the object whose copy of a function counts."""
    objects: Sequence[float]
    """What every object contributes."""


class SizeMeasure(Protocol):
    """Measures what has been made of all units, in their order."""

    def __call__(self, made: Sequence[Compiled]) -> Sizes:
        """SizeMeasure.

        Raises:
            Error: the objects cannot be linked.
        """
        ...


def scoped(number: int, name: str, *, local: bool) -> str:
    """The name of a function among those of all objects."""
    return f"{number}:{name}" if local else name


def object_sizes(made: Sequence[Compiled]) -> Sizes:
    """The sum over the objects, as a linker would see them before it drops copies."""
    functions: dict[str, float] = {}
    owners: dict[str, int] = {}
    for number, compiled in enumerate(made):
        for symbol in function_symbols(compiled.code):
            name = scoped(number, symbol.name, local=symbol.local)
            functions[name] = functions.get(name, 0) + symbol.size
            owners.setdefault(name, number)
    each = [code_bytes(compiled.code) for compiled in made]
    return Sizes(sum(each), functions, owners, each)


def estimated_sizes(made: Sequence[Compiled]) -> Sizes:
    """An estimate of the linked size without a link: of functions with copies, the first copy counts."""
    functions: dict[str, float] = {}
    owners: dict[str, int] = {}
    parts = [0.0] * len(made)
    for number, compiled in enumerate(made):
        for symbol in function_symbols(compiled.code):
            name = scoped(number, symbol.name, local=symbol.local)
            if owners.setdefault(name, number) == number:
                functions[name] = functions.get(name, 0) + symbol.size
                parts[number] += symbol.size
    return Sizes(sum(parts), functions, owners, parts)


def run_compiler(words: Sequence[str], folder: str | None, what: str) -> None:
    """Run a compiler or linker in a folder; errors say that `what` was expected.

    Raises:
        InputError: it cannot be started.
        CompilationError: it fails, or does not end in time.
    """
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            timeout=DEADLINE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CompilationError(f"tune: expected {what} within {DEADLINE:g} s, got no end") from error
    except OSError as error:
        raise InputError(f"tune: expected to run {words[0]}, got: {error.strerror}") from error
    if done.returncode:
        told = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
        raise CompilationError(f"tune: expected {what}, got: {told}")


@dataclass
class LinkedSizes:
    """The size of the linked program, and which object brings which function into it.

    Attributes:
        command: the linker's driver and its arguments in order; a number stands for that object.
        folder: the directory to link in.
    """

    command: Sequence[str | int]
    folder: str
    _scratch: str = field(init=False)
    _written: dict[int, bytes] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._scratch = tempfile.mkdtemp(prefix="passpilot-link-")
        weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)

    def __call__(self, made: Sequence[Compiled]) -> Sizes:
        """See `SizeMeasure`."""
        image, map_ = os.path.join(self._scratch, "image"), os.path.join(self._scratch, "map")
        self.link(made, image, f"-Wl,-Map={map_},--no-demangle")
        with open(image, "rb") as file:
            total = code_bytes(file.read())
        with open(map_, encoding="utf-8", errors="surrogateescape") as lines:
            return self._read_map(total, lines.read(), [compiled.code for compiled in made])

    def link(self, made: Sequence[Compiled], image: str, *more: str) -> None:
        """Link the program to a file.

        Raises:
            Error: the objects cannot be linked.
        """
        for number, compiled in enumerate(made):
            if self._written.get(number) is not compiled.code:
                with open(os.path.join(self._scratch, f"{number}.o"), "wb") as file:
                    file.write(compiled.code)
                self._written[number] = compiled.code
        words = [
            os.path.join(self._scratch, f"{word}.o") if isinstance(word, int) else word
            for word in self.command
        ]
        run_compiler([*words, "-fuse-ld=lld", *more, "-o", image], self.folder, "the program to link")

    def _read_map(self, total: int, text: str, objects: Sequence[bytes]) -> Sizes:
        """Read which functions of which object the program has."""
        local = [{each.name for each in function_symbols(data) if each.local} for data in objects]
        known = {os.path.join(self._scratch, f"{number}.o"): number for number in range(len(objects))}
        functions: dict[str, float] = {}
        owners: dict[str, int] = {}
        parts = [0.0] * len(objects)
        code, number = False, None
        for line in text.splitlines():
            found = _MAP_LINE.match(line)
            if not found:
                continue
            size, column, rest = int(found[1], 16), found[2], found[3]
            if len(column) == 1:
                code = (column + rest).startswith((".text", ".init", ".fini"))
            elif len(column) == 9:
                number = known.get((column.lstrip() + rest).rpartition(":(")[0]) if code else None
                if number is not None:
                    parts[number] += size
            elif number is not None:
                plain = column.lstrip() + rest
                name = scoped(number, plain, local=plain in local[number])
                functions[name] = functions.get(name, 0) + size
                owners[name] = number
        return Sizes(total, functions, owners, parts)
