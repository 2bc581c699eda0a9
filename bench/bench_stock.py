# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the plugin in stock opt: the cost of loading on an empty module, and of advice on a large one.

Prints tables and writes bench/results/stock.json. Loading is the median of the rounds' differences of
processor time, for commands in turns, divided by `slowness`; advice is the ratio of instructions. Targets:
15 ms over the plain tool with aot:, 60 ms with onnx:, 250 ms with python:; on a large module, where all
features are read or logged, 1.15 times plain opt or const:0, which read none. bench_features.py has models
that read few.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, settle  # noqa: E402
from bench.instructions import instructions  # noqa: E402
from bench.turns import STARTS, in_turns, slowness  # noqa: E402
from passpilot.cli.aot import main as aot  # noqa: E402
from passpilot.plugin.toolchain import llvm_plugin  # noqa: E402
from tests.corpus.build import bindir, build  # noqa: E402
from tests.corpus.programs import programs  # noqa: E402
from tests.runners.aot.models import small_mlp  # noqa: E402

EMPTY_ROUNDS: Final = 31
LARGE: Final = "cmark-gfm"
"""0.7 MB of bitcode, for which opt takes seconds."""
PASSES: Final = "-passes=default<O2>"
MODEL: Final = "map=x:*&as=logits"


def models(folder: Path) -> None:
    """Write models and a policy that refuse every call, and one that follows the default."""
    model = small_mlp()
    bias = next(each for each in model.graph.initializer if each.name == "b1")
    bias.raw_data = np.array([1e9, 0], "f4").tobytes()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    aot([str(folder / "model.onnx"), "-o", str(folder / "model.so")])
    (folder / "policy.py").write_text(
        "def no(obs):\n    return False\n\ndef echo(obs):\n    return obs.default()\n"
    )


def opt(source: Path, *flags: str) -> list[str]:
    """A command of stock opt with the plugin."""
    load = f"-load-pass-plugin={llvm_plugin()}"
    return [str(bindir() / "opt"), load, *flags, PASSES, str(source), "-o", "/dev/null"]


def loading(folder: Path) -> dict[str, float]:
    """Milliseconds more than the plain tool, on an empty module."""
    source = folder / "empty.ll"
    source.write_text("")
    plain = [str(bindir() / "opt"), PASSES, str(source), "-o", "/dev/null"]
    commands = {
        "opt": plain,
        "plugin alone": opt(source),
        "aot:": opt(source, f"-passpilot-inline=aot:model.so?{MODEL}"),
        "onnx:": opt(source, f"-passpilot-inline=onnx:model.onnx?{MODEL}"),
        "python:": opt(source, "-passpilot-inline=python:policy.py:no"),
    }
    times = in_turns({**commands, **STARTS}, EMPTY_ROUNDS, folder)
    slower = slowness(times)
    return {name: 1e3 * _over(times, name) / slower for name in commands if name != "opt"}


def _over(times: dict[str, list[float]], name: str) -> float:
    return statistics.median(mine - plain for mine, plain in zip(times[name], times["opt"], strict=True))


def advising(folder: Path) -> dict[str, float]:
    """Ratios to the same decisions without a model: by the core's const:0, or by plain opt's default."""
    assert not build([LARGE])
    source = programs()[LARGE].whole("O2")
    commands = {
        "no": opt(source, "-passpilot-inline=const:0"),
        "aot: of const:0": opt(source, f"-passpilot-inline=aot:model.so?{MODEL}"),
        "onnx: of const:0": opt(source, f"-passpilot-inline=onnx:model.onnx?{MODEL}"),
        "python: of const:0": opt(source, "-passpilot-inline=python:policy.py:no"),
        "plain": [str(bindir() / "opt"), PASSES, str(source), "-o", "/dev/null"],
        "python: echo of plain opt": opt(source, "-passpilot-inline=python:policy.py:echo"),
        "default, logged, of plain opt": opt(source, "-passpilot-inline=default", "-passpilot-log=/dev/null"),
    }
    counts = instructions(commands, folder)
    return {
        name: mine / counts["plain" if name.endswith("plain opt") else "no"]
        for name, mine in counts.items()
        if name not in ("no", "plain")
    }


def bars(milliseconds: dict[str, float], times: dict[str, float]) -> list[Bar]:
    """What the figures may be."""
    limits = {"aot:": 15, "onnx:": 60, "python:": 250}
    made = [
        Bar(f"the plugin with `{kind}`, ms more", milliseconds[kind], bar, "opt-22")
        for kind, bar in limits.items()
    ]
    for name, value in times.items():
        kind, _, base = name.partition(" of ")
        made.append(Bar(f"`{kind.strip(',')}` on {LARGE}, instructions", value, 1.15, base))
    return made


def main() -> None:
    """Measure, print, write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models(folder)
        results = {
            "milliseconds over opt, empty module": loading(folder),
            f"instructions, {LARGE}": advising(folder),
        }
    console = Console(width=120)
    for title, rows in results.items():
        table = Table(title=title)
        table.add_column("what")
        table.add_column("median", justify="right")
        for what, value in rows.items():
            table.add_row(what, f"{value:.2f}" if value < 10 else f"{value:.0f}")
        console.print(table)
    (ROOT / "bench/results").mkdir(exist_ok=True)
    (ROOT / "bench/results/stock.json").write_text(json.dumps(results, indent=1) + "\n")
    settle("stock", *bars(*results.values()))


if __name__ == "__main__":
    main()
