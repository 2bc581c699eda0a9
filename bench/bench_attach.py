# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot attach` against a minimal peer in C on the same FIFOs, in turns; medians. Both always say no.

One row is stock opt on a real program, whole processes from their start to their end, Python's included. The
other has a program in the place of opt that asks as it does but computes nothing between its questions: its
own clock around them. At most 1.5 each.

usage: bench_attach.py [PROGRAM [LEVEL [ROUNDS]]]      (cmark-gfm Oz 5; some thousands of questions)
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from passpilot.features.point import find_point
from passpilot.runners.attach import _FLAGS, _GROWTH
from passpilot.runners.base import own_features
from passpilot.runners.mlgo import Header

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from tests.corpus.programs import cache_home  # noqa: E402

PASSPILOT: Final = Path(sys.executable).with_name("passpilot")
QUESTIONS: Final = 20_000
BOUND: Final = 1.5

Command = Sequence[str | Path]


def compiled(name: str, folder: Path, output: str) -> Path:
    """A C program of this folder, built."""
    source, target = Path(__file__).with_name(name), folder / output
    subprocess.run(["cc", "-O2", source, "-o", target], check=True)
    return target


def with_attach(command: Command, *flags: str) -> tuple[float, str]:
    """Seconds of the whole, and what the command printed."""
    start = time.perf_counter()
    done = subprocess.run(
        [PASSPILOT, "attach", "--inline=const:0", *flags, "--", *command],
        check=True,
        capture_output=True,
        text=True,
    )
    return time.perf_counter() - start, done.stdout + done.stderr


def with_peer(peer: Path, folder: Path, command: Command) -> tuple[float, str]:
    """The same of the command with the peer in C."""
    base = folder / "peer"
    for end in ("in", "out"):
        Path(f"{base}.{end}").unlink(missing_ok=True)
        os.mkfifo(f"{base}.{end}")
    size = Header(own_features(find_point("inline")), find_point("inline").advice).nbytes
    flags = [*(flag.format(base) for flag in _FLAGS["inline"]), f"{_GROWTH}=1e9"]
    start = time.perf_counter()
    with subprocess.Popen([peer, base, str(size)]):
        done = subprocess.run([command[0], *flags, *command[1:]], check=True, capture_output=True, text=True)
    return time.perf_counter() - start, done.stdout


def in_turns(rounds: int, run: Callable[[int], tuple[float, float]]) -> tuple[float, float, float]:
    """The medians of both, and the median of the rounds' ratios; each is the first every other time."""
    pairs = [run(number) for number in range(rounds)]
    peer, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    return peer, ours, statistics.median(b / a for a, b in pairs)


def main() -> None:
    """Print both rows."""
    program, level, rounds = (*sys.argv[1:], *("cmark-gfm", "Oz", "5")[len(sys.argv) - 1 :])
    bitcode = cache_home() / f"dev/bc/{program}/{level}/whole.bc"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer, asker = compiled("attach_peer.c", folder, "peer"), compiled("attach_asker.c", folder, "opt")
        point = find_point("inline")
        (folder / "header").write_bytes(Header(own_features(point), point.advice).line)
        real: Command = ["opt-22", f"-passes=default<{level}>", bitcode, "-disable-output"]
        bare: Command = [asker, f"QUESTIONS={QUESTIONS}", f"HEADER={folder}/header"]
        _, said = with_attach(real, "--stats")
        asked = int(re.findall(r"(\d+) decisions", said)[0])

        def whole(number: int) -> tuple[float, float]:
            first = with_attach(real)[0] if number % 2 else 0.0
            c = with_peer(peer, folder, real)[0]
            return c, first or with_attach(real)[0]

        def question(number: int) -> tuple[float, float]:  # noqa: ARG001
            c, ours = with_peer(peer, folder, bare)[1], with_attach(bare)[1]
            return float(c) / 1e3, float(ours.split()[0]) / 1e3

        seconds = in_turns(int(rounds), whole)
        microseconds = in_turns(int(rounds), question)
    print(f"{program} at {level}, {asked} questions, stock opt; then {QUESTIONS} bare questions")
    print("whole process  peer in C {:7.2f} s    attach {:7.2f} s    ratio {:.2f}".format(*seconds))
    print("one question   peer in C {:7.2f} us   attach {:7.2f} us   ratio {:.2f}".format(*microseconds))
    extra = (seconds[1] - seconds[0]) / asked * 1e6
    print(f"at most {BOUND}; {extra:.1f} us more per question of the whole, the start of Python included")


if __name__ == "__main__":
    main()
