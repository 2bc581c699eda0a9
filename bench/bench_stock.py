# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the plugin in stock opt: the cost of loading on an empty module, and of advice on a large one.

Prints tables and writes bench/results/stock.json. The figures are medians of the rounds' differences and
ratios of processor time, for whole commands in turns. Targets: 15 ms over the plain tool with aot:, 60 ms
with onnx:, 250 ms with python:; on a module of a megabyte, 1.05 times plain opt for a model that reads the
default alone, and 1.15 times plain opt or const:0, which read no feature, where all features are read.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Final

import numpy as np
import onnx
from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, settle  # noqa: E402
from bench.turns import in_turns, ratio  # noqa: E402
from passpilot.cli.aot import main as aot  # noqa: E402
from passpilot.plugin.toolchain import llvm_plugin  # noqa: E402
from tests.corpus.build import bindir, build  # noqa: E402
from tests.corpus.programs import programs  # noqa: E402
from tests.runners.aot.models import small_mlp  # noqa: E402

EMPTY_ROUNDS: Final = 31
LARGE_ROUNDS: Final = 8
LARGE: Final = "re2"
"""1.3 MB of bitcode."""
PASSES: Final = "-passes=default<O2>"
MODEL: Final = "map=x:*&as=logits"


def echo() -> onnx.ModelProto:
    """A model that answers the default's decision."""
    make, kind = onnx.helper, onnx.TensorProto.INT64
    given, answer = (
        make.make_tensor_value_info(name, kind, [1]) for name in ("inlining_default", "inlining_decision")
    )
    node = make.make_node("Identity", [given.name], [answer.name])
    graph = make.make_graph([node], "echo", [given], [answer])
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 17)], ir_version=9)


def models(folder: Path) -> None:
    """Write models and policies that refuse every call, and others that follow the default."""
    model = small_mlp()
    bias = next(each for each in model.graph.initializer if each.name == "b1")
    bias.raw_data = np.array([1e9, 0], "f4").tobytes()
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "echo.onnx").write_bytes(echo().SerializeToString())
    for name in ("model", "echo"):
        aot([str(folder / f"{name}.onnx"), "-o", str(folder / f"{name}.so"), "-mcpu=native"])
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
    times = in_turns(commands, EMPTY_ROUNDS, folder)
    return {name: 1e3 * _over(times, name) for name in commands if name != "opt"}


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
        "aot: echo of plain opt": opt(source, "-passpilot-inline=aot:echo.so"),
        "python: echo of plain opt": opt(source, "-passpilot-inline=python:policy.py:echo"),
        "default, logged, of plain opt": opt(source, "-passpilot-inline=default", "-passpilot-log=/dev/null"),
    }
    times = in_turns(commands, LARGE_ROUNDS, folder)
    return {
        name: ratio(mine, times["plain" if name.endswith("plain opt") else "no"])
        for name, mine in times.items()
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
        bar = 1.05 if kind == "aot: echo" else 1.15  # the others read or log all features
        made.append(Bar(f"`{kind.strip(',')}` on {LARGE}", value, bar, base))
    return made


def main() -> None:
    """Measure, print, write."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models(folder)
        results = {
            "milliseconds over opt, empty module": loading(folder),
            f"times, {LARGE}": advising(folder),
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
