# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is compared runs in turns, and ratios compare what ran side by side.

A machine whose speed changes while it measures makes all ratios of separate runs wrong. So a round has one
run of everything, every second round in the opposite order.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

T = TypeVar("T")

STARTS: Final = {
    "stock mlir-opt": ("mlir-opt-22", "--version"),
    "Python with numpy": ("env", "OPENBLAS_NUM_THREADS=1", sys.executable, "-c", "import numpy"),
}
"""What a start of ours contains at least, to run in turns with it: the yardstick of this machine's speed."""
QUIET: Final = 0.08
"""The seconds that both take on the machine that the bars in milliseconds and microseconds are for."""


class Used(NamedTuple):
    elapsed: float
    processor: float
    """User and system time."""
    memory: int = 0
    """The most bytes at once, of the process or of this one, which started it; 0 if nobody looked."""


def used(command: Sequence[str | Path], folder: Path | None = None) -> Used:
    """Run a command in a folder, and drop its output."""
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    elapsed = time.perf_counter() - began
    assert child.returncode == 0, command
    return Used(elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss << 10)


def processor_seconds(command: Sequence[str | Path], folder: Path | None = None) -> float:
    return used(command, folder).processor


def seconds(run: Callable[[], object]) -> float:
    """The time of a call on the clock."""
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def thread_seconds(run: Callable[[], object]) -> float:
    """The processor time that a call takes in this thread."""
    began = time.thread_time()
    run()
    return time.thread_time() - began


def microseconds(ask: Callable[[], object], questions: int) -> list[float]:
    """Ask many questions; the time of each."""
    clock = time.perf_counter
    marks = [clock()]
    for _ in range(questions):
        ask()
        marks.append(clock())
    return [(after - before) * 1e6 for before, after in pairwise(marks)]


def mean_microseconds(ask: Callable[[], object], questions: int) -> float:
    """The mean time of a question over many, without clocks between them."""
    began = time.perf_counter()
    for _ in range(questions):
        ask()
    return (time.perf_counter() - began) / questions * 1e6


def in_turns(runs: Mapping[str, Callable[[], T]], rounds: int) -> dict[str, list[T]]:
    """What functions return, by round."""
    results: dict[str, list[T]] = {name: [] for name in runs}
    for number in range(rounds):
        for name in list(runs)[:: -1 if number % 2 else 1]:
            results[name].append(runs[name]())
    return results


def commands_in_turns(
    commands: Mapping[str, Sequence[str | Path]], rounds: int, folder: Path | None = None
) -> dict[str, list[float]]:
    """The processor time of commands, by round."""
    return in_turns(
        {name: partial(processor_seconds, line, folder) for name, line in commands.items()}, rounds
    )


def starts() -> dict[str, Callable[[], float]]:
    """Functions that measure `STARTS`, to take turns with what is measured."""
    return {name: partial(processor_seconds, command) for name, command in STARTS.items()}


def slowness(times: Mapping[str, Sequence[float]]) -> float:
    """How much slower this machine is now, by what `STARTS` took; 1 if it is not slower."""
    return max(1.0, sum(min(times[name]) for name in STARTS) / QUIET)


def ratio(mine: Sequence[float], base: Sequence[float]) -> float:
    """How many times as long as `base`: the median of the ratios of two rounds, there and back."""
    pairs = range(0, len(base), 2)
    return statistics.median(sum(mine[n : n + 2]) / sum(base[n : n + 2]) for n in pairs)


def medians(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: statistics.median(rounds) for name, rounds in times.items()}


def least(times: Mapping[str, Sequence[float]], slower: float = 1.0) -> dict[str, float]:
    """The least of the rounds, as on a quiet machine if `slower` is this machine's `slowness`."""
    return {name: min(rounds) / slower for name, rounds in times.items()}
