# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `passpilot attach` with a minimal peer in C on the same FIFOs, in turns; medians. Both say no.

The first rows are stock opt on a real program, with some thousands of questions: elapsed and processor time
of whole processes, including Python's start; target: at most 1.5. In the last row a program replaces opt that
asks the same but computes nothing between its questions: the bare round trip, by its own clock.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bench.lib import ROOT, Bar, Used, command, in_turns, medians, ratio, settle, show
from bench.lib.corpus import built
from passpilot.features.catalogue import HOOKED
from passpilot.features.point import find_point
from passpilot.runners.base import own_features
from passpilot.runners.foreign.mlgo import Header
from tests.command import PASSPILOT

QUESTIONS: Final = 20_000
POINT: Final = find_point("inline")
HEADER: Final = Header(own_features(POINT), POINT.advice)
PEER: Final = "peer in C"
ATTACH: Final = "attach"

Command = Sequence[str | Path]


def compiled(name: str, target: Path) -> Path:
    subprocess.run(["cc", "-O2", ROOT / "bench/native" / name, "-o", target], check=True)
    return target


def measured(run: Callable[[], str]) -> tuple[Used, str]:
    """The time of a run that waits for its child processes, and what the compiler prints."""
    start, before = time.perf_counter(), os.times()
    printed = run()
    clock, after = time.perf_counter() - start, os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return Used(clock, used), printed


def with_attach(command: Command, *flags: str) -> str:
    ours = [PASSPILOT, "attach", "--inline=const:0", *flags, "--", *command]
    done = subprocess.run(ours, check=True, capture_output=True, text=True)
    return done.stdout + done.stderr


def with_peer(peer: Path, command: Command) -> str:
    """Run the command with the peer in C; its output."""
    base = peer.with_name("channel")
    for end in ("in", "out"):
        Path(f"{base}.{end}").unlink(missing_ok=True)
        os.mkfifo(f"{base}.{end}")
    how = HOOKED["inline"].interactive
    assert how is not None
    flags = [*(flag.format(base) for flag in how.flags), how.lifted]
    with subprocess.Popen([peer, base, str(HEADER.nbytes)]):
        done = subprocess.run([command[0], *flags, *command[1:]], check=True, capture_output=True, text=True)
    return done.stdout


@command
def main(program: str = "lua", level: str = "Oz", rounds: int = 5) -> None:
    bitcode = built([program])[0].whole(level)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        peer, asker = compiled("attach_peer.c", folder / "peer"), compiled("attach_asker.c", folder / "opt")
        (folder / "header").write_bytes(HEADER.line)
        real: Command = ["opt-22", f"-passes=default<{level}>", bitcode, "-disable-output"]
        bare: Command = [asker, f"QUESTIONS={QUESTIONS}", f"HEADER={folder}/header"]
        (asked,) = re.findall(r"(\d+) decisions", with_attach(real, "--stats"))[:1]

        def both(command: Command) -> dict[str, list[tuple[Used, str]]]:
            runs = {PEER: partial(with_peer, peer, command), ATTACH: partial(with_attach, command)}
            return in_turns({side: partial(measured, run) for side, run in runs.items()}, rounds)

        whole, single = both(real), both(bare)
    figures = {
        "elapsed, s": {side: [used.elapsed for used, _ in runs] for side, runs in whole.items()},
        "processor, s": {side: [used.processor for used, _ in runs] for side, runs in whole.items()},
        "bare question, µs": {
            side: [float(printed.split()[0]) / 1e3 for _, printed in runs] for side, runs in single.items()
        },
    }
    ratios = {what: ratio(times[ATTACH], times[PEER]) for what, times in figures.items()}
    rows = {what: {**medians(times), "ratio": ratios[what]} for what, times in figures.items()}
    show(f"{program} at {level}, {asked} questions; {QUESTIONS} bare ones", "", rows)
    settle(
        Bar("stock opt under `attach`, elapsed", ratios["elapsed, s"], 1.5, "a peer in C"),
        Bar("stock opt under `attach`, processor time", ratios["processor, s"], 1.5, "a peer in C"),
    )
