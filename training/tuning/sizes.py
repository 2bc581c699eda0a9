# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search makes small: objects, or the program that they are linked to."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from passpilot.plugin import _core
from passpilot.training.growth.contents import MAP_HEAD, MAP_LINE
from passpilot.training.rewards import FILE_SIZES, FunctionSymbol, function_symbols
from passpilot.training.timing.commands import Commands

if TYPE_CHECKING:
    from passpilot.training.tuning.unit import Compiled

DEADLINE: Final = 120.0
"""The seconds that a link, or the compilation of a unit, may take."""

ALLOCATED: Final = "allocated"
CODE: Final = "text"
"""Names of `FILE_SIZES`. Functions count with all that they bring along, but for `CODE`."""

_ALLOC, _EXECUTABLE = 0x2, 0x4
"""SHF_ALLOC and SHF_EXECINSTR of a section's flags."""


class Sizes(NamedTuple):
    """The bytes that are to be small, or what else is.

    A function that other objects cannot see is named ``NUMBER:NAME``, with the number of its object.
    """

    total: float
    functions: Mapping[str, float]
    owners: Mapping[str, int]
    """The number of the object whose copy of a function counts."""
    objects: Sequence[float]
    """What every object contributes."""


class SizeMeasure(Protocol):
    """Measures the objects of all units, in their order."""

    def __call__(self, units: Sequence[Compiled], /) -> Sizes:
        """The sizes of the program."""


SizeOf = Callable[[Sequence["Compiled"], str], Sizes]
"""Measures one of `FILE_SIZES` of the objects of all units."""


def scoped(number: int, name: str, *, local: bool) -> str:
    """The name of a function among those of all objects."""
    return f"{number}:{name}" if local else name


def summed(
    rows: Iterable[tuple[int, str, float]], objects: Sequence[float], total: float | None = None
) -> Sizes:
    """The sizes of functions in `rows`: the number of an object, the function's name in all, and its size.

    The first object with a copy of a function is its owner. The total is the sum of objects by default.
    """
    functions: dict[str, float] = {}
    owners: dict[str, int] = {}
    for number, name, size in rows:
        functions[name] = functions.get(name, 0) + size
        owners.setdefault(name, number)
    return Sizes(sum(objects) if total is None else total, functions, owners, objects)


def start_time(units: Sequence[Compiled]) -> Sizes:
    """The run time of LLVM's own program relative to itself; `SpeedSearch` measures other programs."""
    return Sizes(1.0, {}, {}, [0.0] * len(units))


def _bytes(symbol: FunctionSymbol, kind: str) -> int:
    return symbol.size if kind == CODE else symbol.size + symbol.more


def _symbols(units: Sequence[Compiled], kind: str = ALLOCATED) -> Iterator[tuple[int, str, float]]:
    for number, unit in enumerate(units):
        for symbol in function_symbols(unit.code):
            yield number, scoped(number, symbol.name, local=symbol.local), _bytes(symbol, kind)


def object_sizes(units: Sequence[Compiled], kind: str = ALLOCATED) -> Sizes:
    """The sum of a size over the objects, as a linker would see them before it drops copies."""
    return summed(_symbols(units, kind), [FILE_SIZES[kind](unit.code) for unit in units])


def estimated_sizes(units: Sequence[Compiled]) -> Sizes:
    """An estimate of the linked size without a link: of functions with copies, the first copy counts."""
    owners: dict[str, int] = {}
    rows = [row for row in _symbols(units) if owners.setdefault(row[1], row[0]) == row[0]]
    objects = [0.0] * len(units)
    for number, _, size in rows:
        objects[number] += size
    return summed(rows, objects)


def run_compiler(
    words: Sequence[str], folder: str | None, what: str, commands: Commands | None = None
) -> None:
    """Run a compiler or linker in a folder, perhaps among `commands`; errors say that `what` was expected.

    Raises:
        CompilationError: it cannot be started, fails, or does not end in time.
    """
    done = (commands or Commands()).run(words, DEADLINE, directory=folder)
    done.check(f"tune: expected {what}", DEADLINE)


@dataclass
class LinkedSizes:
    """The size of the linked program, and which object brings which function into it.

    Attributes:
        command: the linker's driver and its arguments in order; a number stands for that object.
        folder: the directory to link in.
        linker: the arguments that choose the linker.
    """

    command: Sequence[str | int]
    folder: str
    linker: Sequence[str] = ("-fuse-ld=lld",)
    _scratch: str = field(init=False)
    _written: dict[int, bytes] = field(init=False, default_factory=dict)
    _last: tuple[list[bytes], bytes, str] = field(init=False, default=([], b"", ""))

    def __post_init__(self) -> None:
        self._scratch = tempfile.mkdtemp(prefix="passpilot-link-")
        weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)

    def __call__(self, units: Sequence[Compiled], kind: str = ALLOCATED) -> Sizes:
        """One of `FILE_SIZES` of the program without symbols; what every function and object brings."""
        objects = [unit.code for unit in units]
        if self._last[0] != objects:
            self._last = objects, *self._linked(units)
        _, image, map_ = self._last
        total = FILE_SIZES[kind](image)
        if not map_:  # of a linker whose map is another
            estimate = estimated_sizes(units)
            return estimate._replace(total=total)
        return self._read_map(total, map_, objects, _parts_of(image, kind), kind)

    def _linked(self, units: Sequence[Compiled]) -> tuple[bytes, str]:
        """The program without symbols, and lld's map; empty for files that are not ELF, and other linkers."""
        image, map_ = os.path.join(self._scratch, "image"), os.path.join(self._scratch, "map")
        is_elf = all(unit.code.startswith(b"\x7fELF") for unit in units)
        self.link(units, image, "-Wl,-s", *[f"-Wl,-Map={map_},--no-demangle"] * is_elf)
        with open(image, "rb") as file:
            data = file.read()
        if not is_elf:
            return data, ""
        with open(map_, encoding="utf-8", errors="surrogateescape") as lines:
            text = lines.read()
        return data, text * bool(MAP_HEAD.match(text))

    def link(self, units: Sequence[Compiled], image: str, *more: str) -> None:
        """Link the program to a file.

        Raises:
            Error: the objects cannot be linked.
        """
        for number, unit in enumerate(units):
            if self._written.get(number) is not unit.code:
                with open(os.path.join(self._scratch, f"{number}.o"), "wb") as file:
                    file.write(unit.code)
                self._written[number] = unit.code
        words = [
            os.path.join(self._scratch, f"{word}.o") if isinstance(word, int) else word
            for word in self.command
        ]
        run_compiler([*words, *self.linker, *more, "-o", image], self.folder, "the program to link")

    def _read_map(
        self, total: int, text: str, objects: Sequence[bytes], parts_of: Mapping[str, bool], kind: str
    ) -> Sizes:
        """Read which functions of which object the program has.

        `parts_of` has the output sections that count, and whether they have machine code.
        """
        symbols = [{each.name: each for each in function_symbols(data)} for data in objects]
        known = {os.path.join(self._scratch, f"{number}.o"): number for number in range(len(objects))}
        places: dict[tuple[str, int], list[tuple[str, float]]] = {}
        parts = [0.0] * len(objects)
        code, number = None, None
        for line in text.splitlines():
            found = MAP_LINE.match(line)
            if not found:
                continue
            address, size, column, rest = found[1], int(found[2], 16), found[3], found[4]
            if len(column) == 1:
                code = parts_of.get(column + rest)
            elif len(column) == 9:
                place = (column.lstrip() + rest).rpartition(":(")[0]
                number = None if code is None else known.get(place)
                if number is not None:
                    parts[number] += size
            elif code and number is not None and (symbol := symbols[number].get(column.lstrip() + rest)):
                # a symbol of another object has the same code, and costs nothing
                more = _bytes(symbol, kind) - symbol.size
                name = scoped(number, symbol.name, local=symbol.local)
                places.setdefault((address, number), []).append((name, size + more))
        rows = (  # what is folded costs once
            (number, name, size / len(same)) for (_, number), same in places.items() for name, size in same
        )
        return summed(rows, parts, total)


def _parts_of(image: bytes, kind: str) -> dict[str, bool]:
    """The sections of a program that count, and whether they have machine code."""
    wanted = _ALLOC | _EXECUTABLE if kind == CODE else _ALLOC
    return {
        name: bool(flags & _EXECUTABLE)
        for name, flags, data in _core.object_sections(image)
        if flags & wanted == wanted and data
    }
