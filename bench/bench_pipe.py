# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `pipe:` with a bare ping-pong of the same bytes between two Python processes, in turns; medians.

Both send 38 features of 8 bytes over a FIFO and wait for 16 bytes on another. The ping-pong has no deadline,
no checks and no runner; `pipe:` asks a Python policy behind `passpilot serve`. All processes share one core:
to wake another core of a virtual machine takes a hundred microseconds, and the scheduler decides which pair
pays them. Target: a ratio of at most 1.5.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench.bars import Bar, settle
from passpilot.features.point import find_point
from passpilot.runners.base import allocate
from passpilot.runners.pipe import PipeRunner

ROUNDS = 100
QUESTIONS = 500
FRAME = 38 * 8
ANSWER = 16
SERVE = "import sys; from passpilot.cli.serve import main; sys.exit(main(sys.argv[1:]))"
BARE = f"""
import os, sys
read = os.open(sys.argv[1] + ".out", os.O_RDONLY)
write = os.open(sys.argv[1] + ".in", os.O_WRONLY)
answer = bytes({ANSWER})
while os.read(read, {FRAME}):
    os.write(write, answer)
"""


def microseconds(ask: Callable[[], object]) -> float:
    """The mean time of a question over many."""
    start = time.perf_counter()
    for _ in range(QUESTIONS):
        ask()
    return (time.perf_counter() - start) / QUESTIONS * 1e6


def bare(base: str) -> Callable[[], object]:
    """Start the bare server; a function that asks it one question."""
    write_fd = os.open(f"{base}.out", os.O_WRONLY)
    read_fd = os.open(f"{base}.in", os.O_RDONLY)
    write, read, question = os.write, os.read, bytes(FRAME)

    def ask() -> None:
        write(write_fd, question)
        read(read_fd, ANSWER)

    return ask


def main() -> None:
    """Print the medians and the median of the rounds' ratios."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        policy = Path(folder, "policy.py")
        policy.write_text("def decide(obs):\n    return True\n")
        raw = f"{folder}/raw"
        for name in (f"{raw}.in", f"{raw}.out"):
            os.mkfifo(name)
        ours = f"{folder}/ours"
        command = [f"python:{policy}:decide", "--pipe", ours, "--once"]
        servers = [
            subprocess.Popen([sys.executable, "-c", BARE, raw]),
            subprocess.Popen([sys.executable, "-c", SERVE, *command]),
        ]
        ask_bare = bare(raw)
        with allocate(PipeRunner(ours, find_point("inline"), 60)) as runner:
            assert runner.frame.nbytes == FRAME
            rounds = [(microseconds(ask_bare), microseconds(runner.evaluate)) for _ in range(ROUNDS)]
        for server in servers:
            server.terminate()
            server.wait()
    plain, piped = (statistics.median(column) for column in zip(*rounds, strict=True))
    ratio = statistics.median(b / a for a, b in rounds)
    print(f"bare ping-pong {plain:6.2f} us   pipe: {piped:6.2f} us   ratio {ratio:.2f}")
    settle("pipe", Bar("`pipe:` to a Python policy", ratio, 1.5, "a bare ping-pong"))


if __name__ == "__main__":
    main()
