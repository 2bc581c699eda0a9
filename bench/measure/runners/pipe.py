# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `pipe:` with a bare ping-pong of the same bytes between two Python processes, in turns; medians.

Both send 38 features of 8 bytes over a FIFO and wait for 16 bytes on another. The ping-pong has no deadline,
no checks and no runner; `pipe:` asks a Python policy behind `passpilot serve`. All processes share one core:
to wake another core of a virtual machine takes a hundred microseconds, and the scheduler decides which pair
pays them. Target: a ratio of at most 1.5.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, in_turns, mean_microseconds, medians, ratio, settle
from bench.lib.peers import null_policy, piped, process
from passpilot.features.point import find_point
from passpilot.runners.base import allocate
from passpilot.runners.pipe import PipeRunner

ROUNDS: Final = 100
QUESTIONS: Final = 500
FRAME: Final = 38 * 8
ANSWER: Final = 16
BARE: Final = f"""
import os, sys
read = os.open(sys.argv[1] + ".out", os.O_RDONLY)
write = os.open(sys.argv[1] + ".in", os.O_WRONLY)
answer = bytes({ANSWER})
while os.read(read, {FRAME}):
    os.write(write, answer)
"""


def bare(base: str) -> Callable[[], object]:
    write_fd = os.open(f"{base}.out", os.O_WRONLY)
    read_fd = os.open(f"{base}.in", os.O_RDONLY)
    write, read, question = os.write, os.read, bytes(FRAME)

    def ask() -> None:
        write(write_fd, question)
        read(read_fd, ANSWER)

    return ask


@command
def main() -> None:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    point = find_point("inline")
    with tempfile.TemporaryDirectory() as folder:
        raw, ours = f"{folder}/raw", Path(folder, "ours")
        for name in (f"{raw}.in", f"{raw}.out"):
            os.mkfifo(name)
        with (
            process(sys.executable, "-c", BARE, raw),
            piped(null_policy(Path(folder), point), ours, "--once"),
            allocate(PipeRunner(str(ours), point, 60)) as runner,
        ):
            assert runner.frame.nbytes == FRAME
            sides = {"bare ping-pong": bare(raw), "pipe:": runner.evaluate}
            runs = {name: partial(mean_microseconds, ask, QUESTIONS) for name, ask in sides.items()}
            times = in_turns(runs, ROUNDS)
    print(*(f"{name} {median:.2f} µs" for name, median in medians(times).items()), sep="   ")
    settle(
        Bar(
            "`pipe:` to a Python policy",
            ratio(times["pipe:"], times["bare ping-pong"]),
            1.5,
            "a bare ping-pong",
        )
    )
