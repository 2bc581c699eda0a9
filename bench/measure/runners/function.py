# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares a compiled function in Python with the same one in C: instructions per decision, start of `cc`.

The core asks both 200 times about 1,000 observations. valgrind counts the instructions; those of
a process that asks once are subtracted, and so is the cost of a list of answers, which const:0 measures.
`passpilot cc` runs in turns on one small C file and refuses all calls. Targets: 1.5 times the C function, and
4 ms more than const:0.

usage: python -m bench.measure.runners.function
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from bench.lib import Bar, command, in_turns, settle, show, used
from bench.lib.instructions import executed
from bench.lib.native import c_function
from bench.measure.inline.cc import source
from passpilot.features.point import find_point
from passpilot.features.spec import layout
from passpilot.runners.base import allocate
from passpilot.runners.native import function_runner
from passpilot.runners.spec import make_runner
from tests.command import PASSPILOT

ROUNDS: Final = 25
ASKED: Final = 200
ROWS: Final = 1000
NAMES: Final = ("cost_estimate", "callee_users", "caller_users", "nr_ctant_params")
POLICY: Final = """\
def decide(obs):
    size = obs["cost_estimate"].item() - 5 * (obs["callee_users"] <= 2)
    if obs["nr_ctant_params"] > 0 and size * 2 < 100:
        return True
    return size < 40 and obs["callee_users"].item() * 3 > obs["caller_users"].item()


def refuse(obs):
    return obs["cost_estimate"] < -(10**6)
"""
BODY: Final = """\
  int64_t cost = *(const int64_t *)inputs[0], users = *(const int64_t *)inputs[1];
  int64_t size = cost - 5 * (users <= 2);
  *(int64_t *)output = (*(const int64_t *)inputs[3] > 0 && size * 2 < 100) ||
                       (size < 40 && users * 3 > *(const int64_t *)inputs[2]);
"""
C: Final = "C function"
AOT: Final = "compiled Python"
CONSTANT: Final = "const:0"


def ask(kind: str, folder: str, times: int) -> None:
    """Ask one runner about all rows, so many times."""
    point = find_point("inline")
    runner = (
        function_runner(c_function(Path(folder, "f.so"), BODY), point.select(NAMES), point.advice)
        if kind == C
        else make_runner(CONSTANT if kind == CONSTANT else f"aot:{folder}/decide.so", point)
    )
    allocate(runner)
    count = layout(runner.inputs)[1] // 8
    rows = np.random.default_rng(0).integers(0, 60, (ROWS, count)).view(np.uint8)
    for _ in range(times):
        runner.evaluate_batch(rows)


def per_decision(kind: str, folder: Path) -> float:
    """Instructions for one decision."""
    once, often = (
        executed(
            [
                sys.executable,
                "-c",
                f"from {__spec__.name} import ask; ask({kind!r}, {str(folder)!r}, {times})",
            ]
        )
        for times in (1, ASKED + 1)
    )
    return (often - once) / (ASKED * ROWS)


@command
def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "p.py").write_text(POLICY)
        (folder / "unit.c").write_text(source())
        for function in ("decide", "refuse"):
            used((PASSPILOT, "aot", f"p.py:{function}", "-o", f"{function}.so"), folder)
        counts = {kind: per_decision(kind, folder) for kind in (CONSTANT, C, AOT)}
        runners = {CONSTANT: CONSTANT, "aot:": "aot:refuse.so", "python:": "python:p.py:refuse"}
        rest = ("-O2", "-c", "unit.c", "-o", "unit.o")
        commands = {kind: (PASSPILOT, "cc", f"--inline={runner}", *rest) for kind, runner in runners.items()}
        times = in_turns({kind: partial(used, words, folder) for kind, words in commands.items()}, ROUNDS)
    own = {kind: counts[kind] - counts[CONSTANT] for kind in (C, AOT)}
    show("instructions per decision, without the list of answers", "runner", {"": own})
    over = {
        kind: 1e3
        * statistics.median(a.elapsed - b.elapsed for a, b in zip(runs, times[CONSTANT], strict=True))
        for kind, runs in times.items()
    }
    show(f"cc on a small file, ms more than const:0, {ROUNDS} rounds in turns", "runner", {"": over})
    settle(
        Bar("a compiled function in Python, instructions", own[AOT] / own[C], 1.5, "the same function in C"),
        Bar("`cc` with it, ms more per file", over["aot:"], 4, "`cc --inline=const:0`"),
    )
