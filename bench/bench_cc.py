# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares `passpilot cc` with clang-22 on one small C file: the cost per file of a build.

Prints a table and writes bench/results/cc.json. Whole commands at -O2 -c run in turns: the median of the
elapsed time, the medians of the rounds' differences and ratios to clang-22, and the least processor time.
Models and policies inline nothing, like const:0. Fails if the start of `cc` takes over 4 ms.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, settle  # noqa: E402
from passpilot.cli.aot import main as aot  # noqa: E402
from tests.runners.aot.models import small_mlp  # noqa: E402

ROUNDS: Final = 25
LIMIT: Final = 4.0
"""Milliseconds that a compilation without Python may take longer than with clang-22."""

FUNCTIONS: Final = 20
POLICY: Final = "def decide(obs):\n    return False\n"
MODEL: Final = "map=x:*&as=logits"


class Used(NamedTuple):
    """The times of a command, in milliseconds."""

    elapsed: float
    processor: float


def source() -> str:
    """A C file with twenty functions; every one calls another twice."""
    lines = ["int f0(int x) { return x * 3 + 1; }"]
    lines += [
        f"static int g{i}(int x) {{ return x % {i + 7} ? x + {i} : f{i - 1}(x) * x; }}\n"
        f"int f{i}(int x) {{ return g{i}(x) + g{i}(x + 1); }}"
        for i in range(1, FUNCTIONS + 1)
    ]
    return "\n".join(lines) + "\n"


def used(command: list[str], folder: Path) -> Used:
    """Run a command once and measure it."""
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    elapsed = time.perf_counter() - began
    assert child.returncode == 0, command
    return Used(elapsed * 1e3, (usage.ru_utime + usage.ru_stime) * 1e3)


def commands(folder: Path) -> dict[str, list[str]]:
    """The compared commands; the first is the reference."""
    (folder / "unit.c").write_text(source())
    (folder / "policy.py").write_text(POLICY)
    model = small_mlp()
    bias = next(each for each in model.graph.initializer if each.name == "b1")
    bias.raw_data = np.array([1e9, 0], "f4").tobytes()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    aot([str(folder / "model.onnx"), "-o", str(folder / "model.so"), "-mcpu=native"])
    rest = ["-O2", "-c", "unit.c", "-o", "unit.o"]
    cc = [str(Path(sys.executable).with_name("passpilot")), "cc"]
    runners = {
        "--inline=default": ["--inline=default"],
        "--inline=default, logged": ["--inline=default", "--log=logs"],
        "--inline=const:0": ["--inline=const:0"],
        "--inline=aot:": [f"--inline=aot:model.so?{MODEL}"],
        "--inline=onnx:": [f"--inline=onnx:model.onnx?{MODEL}"],
        "--inline=python:": ["--inline=python:policy.py:decide"],
        "--evict=random:": ["--evict=random:7"],
    }
    made = {"clang-22": ["clang-22", *rest], "cc": [*cc, *rest]}
    return made | {name: [*cc, *options, *rest] for name, options in runners.items()}


def measure(folder: Path) -> dict[str, dict[str, float]]:
    """Measure all commands, in turns."""
    compared = commands(folder)
    times: dict[str, list[Used]] = {name: [] for name in compared}
    for _ in range(ROUNDS):
        for name, command in compared.items():
            times[name].append(used(command, folder))
    return {name: _summary(times["clang-22"], each) for name, each in times.items()}


def _summary(clang: list[Used], mine: list[Used]) -> dict[str, float]:
    pairs = list(zip(mine, clang, strict=True))
    return {
        "elapsed_ms": statistics.median(each.elapsed for each in mine),
        "over_ms": statistics.median(each.elapsed - theirs.elapsed for each, theirs in pairs),
        "ratio": statistics.median(each.elapsed / theirs.elapsed for each, theirs in pairs),
        "processor_ms": min(each.processor for each in mine),
        "processor_over_ms": min(each.processor for each in mine) - min(each.processor for each in clang),
    }


def main() -> None:
    """Measure, print, write."""
    with tempfile.TemporaryDirectory() as name:
        results = measure(Path(name))
    table = Table(title=f"one small C file at -O2, {ROUNDS} rounds in turns")
    table.add_column("command")
    for column in ("elapsed, ms", "over clang-22, ms", "ratio", "processor, ms", "over clang-22, ms"):
        table.add_column(column, justify="right")
    for name, row in results.items():
        cells = [f"{value:.2f}" if key == "ratio" else f"{value:.0f}" for key, value in row.items()]
        table.add_row(name, *cells)
    Console(width=120).print(table)
    (ROOT / "bench/results").mkdir(exist_ok=True)
    (ROOT / "bench/results/cc.json").write_text(json.dumps(results, indent=1) + "\n")
    kinds = ("cc", "--inline=default")
    settle(
        "cc",
        *(Bar(f"`{kind}`, ms more per file", results[kind]["over_ms"], LIMIT, "clang-22") for kind in kinds),
    )


if __name__ == "__main__":
    main()
