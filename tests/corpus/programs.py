# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `spec.toml` says, and where the results are kept."""

from __future__ import annotations

import fnmatch
import os
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal

HERE: Final = Path(__file__).parent
DRIVERS: Final = HERE / "drivers"
LEVELS: Final = ("Oz", "O2")


def cache_home() -> Path:
    """The user's cache for the corpus; nothing in it is needed by a user of passpilot."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "passpilot-corpus"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where an archive comes from, and what it must hash to."""

    kind: Literal["pypi", "npm", "apt"]
    package: str
    version: str
    file: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Driver:
    """The program that exercises a library: its sources and data, arguments, and what it prints."""

    args: tuple[str, ...]
    stdout_sha256: str
    sources: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """One program of the corpus. Paths are relative to the unpacked source, globs included."""

    name: str
    version: str
    lang: Literal["c", "c++"]
    license: str
    domain: str
    origin: Origin
    root: str
    units: tuple[str, ...]
    cflags: tuple[str, ...]
    libs: tuple[str, ...]
    driver: Driver
    exclude: tuple[str, ...] = field(default=())

    @property
    def source(self) -> Path:
        """The unpacked source tree."""
        return cache_home() / "dev" / "src" / self.name

    def bitcode(self, level: str) -> Path:
        """The directory of this program's bitcode files at one level."""
        return cache_home() / "dev" / "bc" / self.name / level

    def whole(self, level: str) -> Path:
        """The linked program, everything but `main` internal."""
        return self.bitcode(level) / "whole.bc"

    def unit(self, source: str, level: str) -> Path:
        """The bitcode of one translation unit."""
        return self.bitcode(level) / (source.replace("/", "__") + ".bc")

    def sources(self) -> list[str]:
        """Translation units, those of the driver last."""
        found = [
            p.relative_to(self.source).as_posix() for g in self.units for p in sorted(self.source.glob(g))
        ]
        kept = [u for u in dict.fromkeys(found) if not any(fnmatch.fnmatch(u, e) for e in self.exclude)]
        return kept + [f"_driver/{s}" for s in self.driver.sources]


def _frozen(table: dict[str, object]) -> dict[str, object]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}


def _program(table: dict[str, object]) -> Program:
    fields = _frozen(table)
    origin, driver = fields.pop("origin"), fields.pop("driver")
    assert isinstance(origin, dict)
    assert isinstance(driver, dict)
    return Program(origin=Origin(**origin), driver=Driver(**_frozen(driver)), **fields)  # type: ignore[arg-type]


@cache
def programs() -> dict[str, Program]:
    """All programs by name, in the order of `spec.toml`."""
    spec = tomllib.loads((HERE / "spec.toml").read_text())
    return {p.name: p for p in map(_program, spec["program"])}
