# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A client of the C API, by what passpilot.h says alone."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import cache
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.plugin.toolchain import c_library

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.generic]

FLAG, CHOICE, NUMBER = range(3)
TYPES: Final = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
}
"""enum passpilot_type by numpy's names."""
Warn: Final = CFUNCTYPE(None, c_void_p, c_char_p)


class CFeature(ctypes.Structure):
    _fields_ = (("name", c_char_p), ("shape", POINTER(c_int64)), ("rank", c_uint32), ("type", c_uint32))


class CDomain(ctypes.Structure):
    _fields_ = (
        ("kind", c_uint32),
        ("count", c_int64),
        ("mask", c_char_p),
        ("low", c_double),
        ("high", c_double),
    )


class CPoint(ctypes.Structure):
    _fields_ = (
        ("name", c_char_p),
        ("features", POINTER(CFeature)),
        ("feature_count", c_size_t),
        ("advice", c_char_p),
        ("domain", CDomain),
    )


class CAdvice(ctypes.Union):
    _fields_ = (("integer", c_int64), ("number", c_double))


class COptions(ctypes.Structure):
    _fields_ = (
        ("size", c_size_t),
        ("timeout", c_double),
        ("default_on_error", c_int),
        ("log", c_char_p),
        ("load", c_char_p),
        ("warn", Warn),
        ("warn_data", c_void_p),
    )


class CPlace(ctypes.Structure):
    _fields_ = (
        ("caller", c_char_p),
        ("callee", c_char_p),
        ("file", c_char_p),
        ("line", c_uint32),
        ("column", c_uint32),
    )


@cache
def library() -> ctypes.CDLL:
    """libpasspilot_c.so.1."""
    made = ctypes.CDLL(str(c_library()))
    pointer, text = c_void_p, c_char_p
    for name, result, arguments in (
        ("runner_create", pointer, (text, POINTER(CPoint), POINTER(COptions))),
        ("runner_input", pointer, (pointer, text)),
        ("runner_mask", pointer, (pointer,)),
        ("runner_default", POINTER(CAdvice), (pointer,)),
        ("runner_reads", c_int, (pointer, text)),
        ("runner_evaluate", c_int, (pointer, POINTER(CAdvice))),
        ("runner_switch_context", None, (pointer, text)),
        ("runner_set_place", None, (pointer, POINTER(CPlace))),
        ("runner_fallbacks", c_uint64, (pointer,)),
        ("runner_close", c_int, (pointer, c_int)),
        ("runner_destroy", None, (pointer,)),
        ("last_error", text, ()),
    ):
        function = getattr(made, f"passpilot_{name}")
        function.restype, function.argtypes = result, arguments
    return made


class CApiError(Exception):
    """What passpilot_last_error() says."""

    def __init__(self) -> None:
        super().__init__(last_error())


def last_error() -> str:
    """The last error of this thread."""
    told: bytes = library().passpilot_last_error()
    return told.decode()


def flag() -> CDomain:
    """Yes or no."""
    return CDomain(FLAG)


def choice(count: int, mask: str | None = None) -> CDomain:
    """One of several."""
    return CDomain(CHOICE, count, mask.encode() if mask is not None else None)


def number(low: float, high: float) -> CDomain:
    """A number."""
    return CDomain(NUMBER, 0, None, low, high)


def described(
    features: Mapping[str, tuple[str, tuple[int, ...]]],
    domain: CDomain,
    *,
    name: str = "toy",
    advice: str | None = None,
) -> CPoint:
    """A decision point: each feature's type and shape by name."""
    rows = (CFeature * len(features))(
        *(
            CFeature(each.encode(), (c_int64 * len(shape))(*shape), len(shape), TYPES.get(dtype, 99))
            for each, (dtype, shape) in features.items()
        )
    )
    return CPoint(name.encode(), rows, len(features), advice.encode() if advice is not None else None, domain)


class CRunner:
    """A passpilot_runner; raises CApiError."""

    def __init__(
        self,
        spec: str,
        features: Mapping[str, tuple[str, tuple[int, ...]]],
        domain: CDomain | None = None,
        *,
        name: str = "toy",
        advice: str | None = None,
        timeout: float = 60.0,
        default_on_error: bool = False,
        log: Path | None = None,
        load: Path | None = None,
    ) -> None:
        self.warnings: list[str] = []
        self._warn = Warn(lambda _, text: self.warnings.append(text.decode()))
        self._features = dict(features)
        self._number = domain is not None and domain.kind == NUMBER
        point = described(features, domain or flag(), name=name, advice=advice)
        options = COptions(
            ctypes.sizeof(COptions),
            timeout,
            int(default_on_error),
            bytes(log) if log else None,
            bytes(load) if load else None,
            self._warn,
        )
        self.address: int | None = library().passpilot_runner_create(
            spec.encode(), ctypes.byref(point), ctypes.byref(options)
        )
        if not self.address:
            raise CApiError

    def input(self, name: str) -> Array:
        """The buffer of a feature."""
        address = library().passpilot_runner_input(self.address, name.encode())
        if not address:
            raise CApiError
        dtype, shape = self._features[name]
        raw = (ctypes.c_uint8 * (prod(shape) * np.dtype(dtype).itemsize)).from_address(address)
        return np.frombuffer(memoryview(raw), np.dtype(dtype)).reshape(shape)

    def mask(self, count: int) -> Array:
        """The buffer of the mask."""
        address = library().passpilot_runner_mask(self.address)
        return np.frombuffer(memoryview((c_int64 * count).from_address(address)), np.int64)

    @property
    def default(self) -> CAdvice:
        """The caller's own decision."""
        found: CAdvice = library().passpilot_runner_default(self.address).contents
        return found

    def reads(self, name: str) -> bool:
        """Whether anybody reads a feature."""
        return bool(library().passpilot_runner_reads(self.address, name.encode()))

    def ask(self, **features: ArrayLike) -> int | float:
        """The advice, on these features."""
        for name, value in features.items():
            self.input(name)[...] = value
        answer = CAdvice()
        if library().passpilot_runner_evaluate(self.address, ctypes.byref(answer)):
            raise CApiError
        result: int | float = answer.number if self._number else answer.integer
        return result

    def switch_context(self, name: str) -> None:
        """What follows belongs to `name`."""
        library().passpilot_runner_switch_context(self.address, name.encode())

    def place(self, place: CPlace | None) -> None:
        """Where what follows is."""
        library().passpilot_runner_set_place(self.address, ctypes.byref(place) if place else None)

    @property
    def fallbacks(self) -> int:
        """How many decisions the default took."""
        count: int = library().passpilot_runner_fallbacks(self.address)
        return count

    def close(self, *, keep: bool = True) -> None:
        """End its work."""
        if library().passpilot_runner_close(self.address, int(keep)):
            raise CApiError

    def destroy(self) -> None:
        """Free it."""
        library().passpilot_runner_destroy(self.address)


@contextmanager
def runner(spec: str, *arguments: object, **options: object) -> Iterator[CRunner]:
    """A runner that is destroyed in the end."""
    made = CRunner(spec, *arguments, **options)  # type: ignore[arg-type]
    try:
        yield made
    finally:
        made.destroy()
