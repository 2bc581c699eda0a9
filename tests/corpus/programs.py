# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `spec.toml` and `more.toml` say, and where the results are kept."""

from __future__ import annotations

import fnmatch
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal

from passpilot.plugin.version import MAJOR

HERE: Final = Path(__file__).parent
DRIVERS: Final = HERE / "drivers"
LEVELS: Final = ("Oz", "O2")


def cache_home() -> Path:
    """The user's cache for the corpus; nothing in it is needed by a user of passpilot."""
    folder = "passpilot-corpus" if MAJOR == 22 else f"passpilot-corpus-{MAJOR}"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / folder


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
class Configured:
    """A header that CMake would make of a template: its place, and the values of the template's names."""

    source: str
    target: str
    values: Mapping[str, str]


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
    cxxflags: tuple[str, ...] = field(default=(), repr=False)
    """Flags of C++ alone, in a program that has C, too."""
    configured: tuple[Configured, ...] = field(default=(), repr=False)
    part: Literal["dev", "more"] = field(default="dev", repr=False)
    """The file that names it: `spec.toml` or `more.toml`."""

    @property
    def source(self) -> Path:
        """The unpacked source tree."""
        return cache_home() / self.part / "src" / self.name

    def flags(self, source: str) -> tuple[str, ...]:
        """The compiler's flags for a translation unit, without the level."""
        cxx = self.lang == "c++" and not source.endswith(".c")
        return (*self.cflags, *(self.cxxflags if cxx else ()), "-I_driver")

    def bitcode(self, level: str) -> Path:
        """The directory of this program's bitcode files at one level."""
        return cache_home() / self.part / "bc" / self.name / level

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


def _program(table: dict[str, object], part: str) -> Program:
    fields = _frozen(table)
    origin, driver, configured = fields.pop("origin"), fields.pop("driver"), fields.pop("configured", ())
    assert isinstance(origin, dict)
    assert isinstance(driver, dict)
    assert isinstance(configured, tuple)
    return Program(
        origin=Origin(**origin),
        driver=Driver(**_frozen(driver)),  # type: ignore[arg-type]
        configured=tuple(Configured(**each) for each in configured),
        part=part,  # type: ignore[arg-type]
        **fields,  # type: ignore[arg-type]
    )


def _read(file: str, part: str) -> dict[str, Program]:
    spec = tomllib.loads((HERE / file).read_text())
    return {each.name: each for each in (_program(table, part) for table in spec["program"])}


@cache
def programs() -> dict[str, Program]:
    """The programs that tests use, by name, in the order of `spec.toml`."""
    return _read("spec.toml", "dev")


@cache
def all_programs() -> dict[str, Program]:
    """These and the programs of `more.toml`, which are fetched on demand."""
    return {**programs(), **_read("more.toml", "more")}
