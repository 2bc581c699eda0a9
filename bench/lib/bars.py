# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bars: what the figures of a measurement may be, what they are, and what they are compared with.

A measurement ends with `settle(Bar("C function, µs", value, 0.2), ...)`. It prints the bars and writes
bench/results/bars/NAME.json, where NAME is the module without ``bench.measure``. With `--check` on the
command line it exits 1 if a figure is beyond its bar.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bench.lib.command_line import CHECK, running
from bench.lib.records import read, write

FOLDER: Final = "bars"
MEASURES: Final = "bench.measure."


@dataclass(frozen=True)
class Bar:
    """One figure and its bar; with `least`, the figure must reach it."""

    name: str
    value: float
    limit: float
    peer: str = ""
    """Who the figure is relative to, as `opt-22`."""
    least: bool = False

    @property
    def passed(self) -> bool:
        """Whether the figure keeps its bar; a figure that is not a number does not."""
        return self.value >= self.limit if self.least else self.value <= self.limit

    @property
    def limit_text(self) -> str:
        return f"{'≥' if self.least else '≤'} {self.limit:g}"

    def __str__(self) -> str:
        verdict, peer = "ok" if self.passed else "BEYOND", f", against {self.peer}" if self.peer else ""
        return f"{verdict:6}  {self.name}: {self.value:.4g} ({self.limit_text}{peer})"


@dataclass(frozen=True)
class Record:
    """The bars of one run of a measurement."""

    script: str
    date: str
    machine: dict[str, str | int | float]
    bars: tuple[Bar, ...]

    @property
    def passed(self) -> bool:
        return all(bar.passed for bar in self.bars)


def read_record(script: str) -> Record | None:
    raw = read(f"{FOLDER}/{script}.json", {})
    return Record(**{**raw, "bars": tuple(Bar(**bar) for bar in raw["bars"])}) if raw else None


def machine() -> dict[str, str | int]:
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    for line in cpuinfo.read_text().splitlines() if cpuinfo.exists() else ():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "processor": model,
        "cores": os.cpu_count() or 1,
        "kernel": platform.release(),
        "python": platform.python_version(),
    }


def require(*bars: Bar) -> None:
    """Print bars; exit 1 if a figure is beyond its bar."""
    print(*bars, sep="\n")
    if not all(bar.passed for bar in bars):
        sys.exit(1)


def settle(*bars: Bar, required: bool = False) -> None:
    """Print and record the bars; with `--check`, or if required, exit 1 if a figure is beyond its bar."""
    print(*bars, sep="\n")
    date, load = time.strftime("%Y-%m-%d", time.gmtime()), round(os.getloadavg()[0], 1)
    record = Record(running().removeprefix(MEASURES), date, {**machine(), "load": load}, bars)
    write(f"{FOLDER}/{record.script}.json", asdict(record))
    if (required or CHECK in sys.argv[1:]) and not record.passed:
        sys.exit(1)
