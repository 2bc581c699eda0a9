# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewards: measures of a compiled module, and the improvement over the compiler's default."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.features.catalogue import emit_points
from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from passpilot.plugin import _core
    from passpilot.plugin.compile import FileType
    from passpilot.plugin.module import Module

_EXECUTABLE: Final = 0x4
"""SHF_EXECINSTR of a section's flags. Source: the ELF specification."""

_SYMBOLS: Final = 2
"""SHT_SYMTAB, the type of a section of symbols."""

_FUNCTION: Final = 2
"""STT_FUNC, the type of a symbol."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of generated code, lower is better; `filetype` and `costs` are what it needs generated."""

    filetype: FileType
    costs: bool
    of: Callable[[_core.Emitted], float]


@dataclass(frozen=True, slots=True)
class ModuleMeasure:
    """One measure of a module behind its pipeline, lower is better; no code is generated for it."""

    of: Callable[[Module], float]


def improvement(value: float, baseline: float) -> float:
    """The fraction by which `value` is below `baseline`; 0 if `baseline` is 0."""
    return (baseline - value) / baseline if baseline else 0.0


def code_size(emitted: _core.Emitted) -> float:
    """`code_bytes` of what was emitted."""
    return float(code_bytes(emitted.code))


def code_bytes(data: bytes) -> int:
    """The bytes of machine code in an ELF object: the sizes of its executable sections.

    Raises:
        InputError: the target's object format is not ELF.
    """
    if data[:4] != b"\x7fELF":
        raise InputError("code size: expected a target with ELF objects, got one with others")
    return sum(row[5] for row in _sections(data)[1:] if row[2] & _EXECUTABLE)


def _sections(data: bytes) -> list[tuple[int, ...]]:
    """The section headers of an ELF file. Source: the ELF specification."""
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    (table,) = struct.unpack_from(order + ("Q" if wide else "I"), data, 40 if wide else 32)
    size, count = struct.unpack_from(order + "HH", data, 58 if wide else 46)
    section = struct.Struct(order + ("IIQQQQIIQQ" if wide else "10I"))
    if not count:  # more than 65279 sections: the first one's size is their number
        count = section.unpack_from(data, table)[5]
    return [section.unpack_from(data, table + number * size) for number in range(count)]


class FunctionSymbol(NamedTuple):
    """A function that an ELF object defines."""

    name: str
    size: int
    local: bool
    """Whether other objects cannot see it."""


def function_symbols(data: bytes) -> list[FunctionSymbol]:
    """The functions that an ELF object defines."""
    wide, order = data[4] == 2, "<" if data[5] == 1 else ">"
    rows = _sections(data)
    found = []
    for row in rows:
        if row[1] != _SYMBOLS:
            continue
        names, symbols = rows[row[6]][4], data[row[4] : row[4] + row[5]]
        for symbol in struct.iter_unpack(order + ("IBBHQQ" if wide else "IIIBBH"), symbols):
            name, info, section_, length = (
                (symbol[0], symbol[1], symbol[3], symbol[5])
                if wide
                else (symbol[0], *symbol[3::2], symbol[2])
            )
            if info & 15 == _FUNCTION and section_:
                text = data[names + name : data.index(0, names + name)].decode("utf-8", "surrogateescape")
                found.append(FunctionSymbol(text, length, not info >> 4))
    return found


def symbol_sizes(data: bytes) -> dict[str, int]:
    """The bytes of each function that an ELF object defines, by its symbol."""
    sizes: dict[str, int] = {}
    for symbol in function_symbols(data):
        sizes[symbol.name] = sizes.get(symbol.name, 0) + symbol.size
    return sizes


def _allocation_cost(emitted: _core.Emitted) -> float:
    return sum(cost for _, _, cost in emitted.costs)


def _native_estimate(module: Module) -> float:
    from passpilot.training.native_size.model import shipped

    return sum(shipped().sizes(module).values())


MEASURES: Final[Mapping[str, Measure | ModuleMeasure | None]] = {
    "native-size": Measure("obj", costs=False, of=code_size),
    "allocation-cost": Measure("null", costs=True, of=_allocation_cost),
    "native-estimate": ModuleMeasure(_native_estimate),
    "none": None,
}
"""The rewards by name."""

REWARDS: Final = tuple(name for name, measure in MEASURES.items() if measure)
"""The names of those that measure something."""


def check_reward(name: str, points: Iterable[str]) -> None:
    """Check that a reward depends on the decisions at all of these points.

    Raises:
        InputError: it does not, because it does not see generated code, or it is unknown.
    """
    if isinstance(find_measure(name), ModuleMeasure) and (late := set(points).intersection(emit_points())):
        expected = "points of the pipeline, since no code is generated for it"
        raise InputError(f"reward {name}: expected {expected}, got {min(late)}; take another reward")


def find_measure(name: str) -> Measure | ModuleMeasure | None:
    """The measure of a reward; None for ``none``.

    Raises:
        InputError: the reward is unknown.
    """
    if name not in MEASURES:
        raise InputError(f"reward: expected one of {', '.join(MEASURES)}, got {name!r}")
    return MEASURES[name]
