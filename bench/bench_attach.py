# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `passpilot attach` with a minimal peer in C on the same FIFOs, in turns; medians. Both say no.

The first rows are stock opt on a real program: elapsed and processor time of whole processes, including
Python's start; target: at most 1.5. In the last row a program replaces opt that asks the same but computes
nothing between its questions: the bare round trip, by its own clock.

usage: bench_attach.py [PROGRAM [LEVEL [ROUNDS]]]      (lua Oz 5; some thousands of questions)
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
from typing import Final, NamedTuple

from passpilot.features.catalogue import HOOKED
from passpilot.features.point import find_point
from passpilot.runners.base import own_features
from passpilot.runners.foreign.mlgo import Header

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, arguments, settle  # noqa: E402
from tests.corpus.programs import cache_home  # noqa: E402

PASSPILOT: Final = Path(sys.executable).with_name("passpilot")
QUESTIONS: Final = 20_000

Command = Sequence[str | Path]


def compiled(name: str, folder: Path, output: str) -> Path:
    """Compile a C program of this folder."""
    source, target = Path(__file__).with_name(name), folder / output
    subprocess.run(["cc", "-O2", source, "-o", target], check=True)
    return target


class Run(NamedTuple):
    """The result of one run: elapsed seconds, processor seconds, and the compiler's output."""

    clock: float
    processor: float
    printed: str


def measured(run: Callable[[], str]) -> Run:
    """Measure a run, which must wait for its child processes."""
    start, before = time.perf_counter(), os.times()
    printed = run()
    clock, after = time.perf_counter() - start, os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return Run(clock, used, printed)


def with_attach(command: Command, *flags: str) -> str:
    """Run the command under `passpilot attach`; its output."""
    ours = [PASSPILOT, "attach", "--inline=const:0", *flags, "--", *command]
    done = subprocess.run(ours, check=True, capture_output=True, text=True)
    return done.stdout + done.stderr


def with_peer(peer: Path, folder: Path, command: Command) -> str:
    """Run the command with the peer in C; its output."""
    base = folder / "peer"
    for end in ("in", "out"):
        Path(f"{base}.{end}").unlink(missing_ok=True)
        os.mkfifo(f"{base}.{end}")
    size = Header(own_features(find_point("inline")), find_point("inline").advice).nbytes
    how = HOOKED["inline"].interactive
    assert how is not None
    flags = [*(flag.format(base) for flag in how.flags), how.lifted]
    with subprocess.Popen([peer, base, str(size)]):
        done = subprocess.run([command[0], *flags, *command[1:]], check=True, capture_output=True, text=True)
    return done.stdout


def print_row(what: str, unit: str, pairs: Sequence[tuple[float, float]]) -> float:
    """Print the medians of both sides; returns the median of the rounds' ratios."""
    peer, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(b / a for a, b in pairs)
    print(f"{what:18}peer in C {peer:7.2f} {unit:3} attach {ours:7.2f} {unit:3} ratio {ratio:.2f}")
    return ratio


def main() -> None:
    """Measure in turns and print the rows."""
    given = arguments()
    program, level, rounds = (*given, *("lua", "Oz", "5")[len(given) :])
    bitcode = cache_home() / f"dev/bc/{program}/{level}/whole.bc"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer, asker = compiled("attach_peer.c", folder, "peer"), compiled("attach_asker.c", folder, "opt")
        point = find_point("inline")
        (folder / "header").write_bytes(Header(own_features(point), point.advice).line)
        real: Command = ["opt-22", f"-passes=default<{level}>", bitcode, "-disable-output"]
        bare: Command = [asker, f"QUESTIONS={QUESTIONS}", f"HEADER={folder}/header"]
        asked = int(re.findall(r"(\d+) decisions", with_attach(real, "--stats"))[0])
        print(f"{program} at {level}, {asked} questions of stock opt; then {QUESTIONS} bare questions")

        def both(command: Command) -> tuple[Run, Run]:
            return (
                measured(lambda: with_peer(peer, folder, command)),
                measured(lambda: with_attach(command)),
            )

        whole = [both(real) for _ in range(int(rounds))]
        single = [both(bare) for _ in range(int(rounds))]
    clock = print_row("whole, clock", "s", [(a.clock, b.clock) for a, b in whole])
    processor = print_row("whole, processor", "s", [(a.processor, b.processor) for a, b in whole])
    print_row(
        "bare question",
        "us",
        [(float(a.printed) / 1e3, float(b.printed.split()[0]) / 1e3) for a, b in single],
    )
    settle(
        "attach",
        Bar("stock opt under `attach`, elapsed", clock, 1.5, "a peer in C"),
        Bar("stock opt under `attach`, processor time", processor, 1.5, "a peer in C"),
    )


if __name__ == "__main__":
    main()
