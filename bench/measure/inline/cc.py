# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `passpilot cc` with clang-22 on one small C file: the cost per file of a build.

Whole commands at -O2 -c run in turns: the median of the elapsed time, the medians of the rounds' differences
and ratios to clang-22, and the least processor time. Models and policies inline nothing, like const:0. The
start of `cc` may take 4 ms.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from bench.lib import Bar, command, in_turns, settle, show, used
from bench.lib.models import refusing_mlp
from bench.lib.turns import Used
from tests.command import PASSPILOT

ROUNDS: Final = 25
LIMIT: Final = 4.0
"""Milliseconds that a compilation without Python may take longer than with clang-22."""
FUNCTIONS: Final = 20
KEYS: Final = "map=x:*&as=logits"
RUNNERS: Final = {
    "--inline=default": ("--inline=default",),
    "--inline=default, logged": ("--inline=default", "--log=logs"),
    "--inline=const:0": ("--inline=const:0",),
    "--inline=aot:": (f"--inline=aot:model.so?{KEYS}",),
    "--inline=onnx:": (f"--inline=onnx:model.onnx?{KEYS}",),
    "--inline=python:": ("--inline=python:policy.py:decide",),
    "--evict=random:": ("--evict=random:7",),
}


def source() -> str:
    """A C file with twenty functions; every one calls another twice."""
    lines = ["int f0(int x) { return x * 3 + 1; }"]
    lines += [
        f"static int g{i}(int x) {{ return x % {i + 7} ? x + {i} : f{i - 1}(x) * x; }}\n"
        f"int f{i}(int x) {{ return g{i}(x) + g{i}(x + 1); }}"
        for i in range(1, FUNCTIONS + 1)
    ]
    return "\n".join(lines) + "\n"


def summary(clang: Sequence[Used], mine: Sequence[Used]) -> dict[str, float]:
    """The figures of a command, in milliseconds."""
    pairs = [(a.elapsed, b.elapsed) for a, b in zip(mine, clang, strict=True)]
    processor, base = (min(run.processor for run in runs) for runs in (mine, clang))
    return {
        "elapsed, ms": 1e3 * statistics.median(a for a, _ in pairs),
        "over clang-22, ms": 1e3 * statistics.median(a - b for a, b in pairs),
        "ratio": statistics.median(a / b for a, b in pairs),
        "processor, ms": 1e3 * processor,
        "processor over clang-22, ms": 1e3 * (processor - base),
    }


@command
def main() -> None:
    rest = ("-O2", "-c", "unit.c", "-o", "unit.o")
    commands = {"clang-22": ("clang-22", *rest), "cc": (PASSPILOT, "cc", *rest)}
    commands |= {name: (PASSPILOT, "cc", *options, *rest) for name, options in RUNNERS.items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "unit.c").write_text(source())
        (folder / "policy.py").write_text("def decide(obs):\n    return False\n")
        refusing_mlp(folder, "-mcpu=native")
        times = in_turns({who: partial(used, command, folder) for who, command in commands.items()}, ROUNDS)
    rows = {who: summary(times["clang-22"], runs) for who, runs in times.items()}
    show(f"one small C file at -O2, {ROUNDS} rounds in turns", "command", rows)
    settle(
        *(
            Bar(f"`{kind}`, ms more per file", rows[kind]["over clang-22, ms"], LIMIT, "clang-22")
            for kind in ("cc", "--inline=default")
        )
    )
