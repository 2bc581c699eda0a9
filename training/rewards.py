# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewards: measures of a compiled module, and the improvement over the compiler's default."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.features.catalogue import emit_points
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from passpilot.plugin.compile import FileType
    from passpilot.plugin.module import Module


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
    """The bytes of machine code in an ELF, COFF, Mach-O or wasm file: the sizes of its executable sections.

    Raises:
        InputError: it is no such file, or is damaged.
    """
    return _core.object_sizes(data)[0]


def allocated_size(emitted: _core.Emitted) -> float:
    """`allocated_bytes` of what was emitted."""
    return float(allocated_bytes(emitted.code))


def allocated_bytes(data: bytes) -> int:
    """The bytes of an ELF, COFF, Mach-O or wasm file that are loaded.

    They are those of code, constants, data, unwind tables and relocations; what is zero at the start, debug
    information and symbols do not count.

    Raises:
        InputError: it is no such file, or is damaged.
    """
    return _core.object_sizes(data)[1]


def xz_bytes(data: bytes) -> int:
    """The bytes of a file that `xz -9e` compresses.

    Without the e, a file whose content moves by one byte may become 7 % larger by chance, and with it 0.2 %.
    """
    return len(lzma.compress(data, preset=9 | lzma.PRESET_EXTREME))


FILE_SIZES: Final[Mapping[str, Callable[[bytes], int]]] = {
    "allocated": allocated_bytes,
    "text": code_bytes,
    "file": len,
    "compressed": xz_bytes,
    "zstd": _core.zstd_size,
}
"""The sizes of a stripped program, by the names of rewards."""

SIZE_HEADS: Final = {"allocated": "allocated", "text": ".text", "file": "stripped", "compressed": "xz"}
"""The sizes that every table has, and how they are called."""


class FunctionSymbol(NamedTuple):
    """A function that an object defines."""

    name: str
    size: int
    local: bool
    """Whether other objects cannot see it."""
    more: int = 0
    """The bytes of its unwind entries, of its tables of calls and jumps, and of its padding."""


def function_symbols(data: bytes) -> list[FunctionSymbol]:
    """The functions that an object defines.

    Raises:
        InputError: it is none, or is damaged.
    """
    return [FunctionSymbol(*row) for row in _core.object_functions(data)]


def symbol_sizes(data: bytes) -> dict[str, int]:
    """The bytes of each function that an object defines, by its symbol."""
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
    "allocated": Measure("obj", costs=False, of=allocated_size),
    "allocation-cost": Measure("null", costs=True, of=_allocation_cost),
    "native-estimate": ModuleMeasure(_native_estimate),
    "none": None,
}

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
