# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole commands that are compared: their processor time, in turns, and the ratios of it.

A machine whose speed changes while it measures makes all ratios of separate runs wrong. So a round has one
run of all commands, every second round in the opposite order, and a ratio compares what was run side by side.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

STARTS: Final = {
    "stock mlir-opt": ("mlir-opt-22", "--version"),
    "Python with numpy": ("env", "OPENBLAS_NUM_THREADS=1", sys.executable, "-c", "import numpy"),
}
"""What a start of ours contains at least, to run in turns with it: the yardstick of this machine's speed."""
QUIET: Final = 0.08
"""The seconds that both take on the machine that the bars in milliseconds and microseconds are for."""


def processor_seconds(command: Sequence[str | Path], folder: Path | None = None) -> float:
    """User and system time of one run in a folder, whose output is dropped."""
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return used.ru_utime + used.ru_stime


def in_turns(
    commands: Mapping[str, Sequence[str | Path]], rounds: int, folder: Path | None = None
) -> dict[str, list[float]]:
    """The seconds of the commands by round."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds):
        for name in list(commands)[:: -1 if number % 2 else 1]:
            times[name].append(processor_seconds(commands[name], folder))
    return times


def time_starts(times: dict[str, list[float]]) -> None:
    """Add the seconds of one run of all `STARTS`, between runs of what is measured in this process."""
    for name, command in STARTS.items():
        times.setdefault(name, []).append(processor_seconds(command))


def slowness(times: Mapping[str, Sequence[float]]) -> float:
    """How much slower this machine is now, by what `STARTS` took; 1 if it is not slower."""
    return max(1.0, sum(min(times[name]) for name in STARTS) / QUIET)


def ratio(mine: Sequence[float], base: Sequence[float]) -> float:
    """How many times as long as `base`: the median of the ratios of two rounds, there and back."""
    pairs = range(0, len(base), 2)
    return statistics.median(sum(mine[n : n + 2]) / sum(base[n : n + 2]) for n in pairs)
