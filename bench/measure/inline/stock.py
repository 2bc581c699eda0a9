# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the plugin in stock opt: the cost of loading on an empty module, and of advice on a large one.

Loading is the median of the rounds' differences of processor time, for commands in turns, divided by
`slowness`; advice is the ratio of instructions. Targets: 15 ms over the plain tool with aot:, 60 ms with
onnx:, 250 ms with python:; on a large module, where all features are read or logged, 1.15 times plain opt or
const:0, which read none. bench.measure.inline.features has models that read few.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.lib import STARTS, Bar, command, commands_in_turns, settle, show_rows, slowness
from bench.lib.corpus import built
from bench.lib.instructions import instructions
from bench.lib.models import refusing_mlp
from passpilot.plugin.toolchain import llvm_plugin
from tests.corpus.build import bindir

ROUNDS: Final = 31
LARGE: Final = "cmark-gfm"
"""0.7 MB of bitcode, for which opt takes seconds."""
KEYS: Final = "map=x:*&as=logits"
POLICY: Final = "def no(obs):\n    return False\n\ndef echo(obs):\n    return obs.default()\n"
REFUSE: Final = {
    "aot:": f"aot:model.so?{KEYS}",
    "onnx:": f"onnx:model.onnx?{KEYS}",
    "python:": "python:policy.py:no",
}
"""Runners that refuse every call."""


def opt(source: Path, *flags: str) -> list[str]:
    """A command of stock opt."""
    return [str(bindir() / "opt"), *flags, "-passes=default<O2>", str(source), "-o", "/dev/null"]


def advised(source: Path, *flags: str) -> list[str]:
    """The same with the plugin."""
    return opt(source, f"-load-pass-plugin={llvm_plugin()}", *flags)


def inlined(source: Path, runner: str, *flags: str) -> list[str]:
    """The same with a runner of inlining."""
    return advised(source, f"-passpilot-inline={runner}", *flags)


def loading(folder: Path) -> dict[str, float]:
    """Milliseconds more than the plain tool, on an empty module."""
    source = folder / "empty.ll"
    source.write_text("")
    commands: dict[str, Sequence[str]] = {"opt": opt(source), "plugin alone": advised(source)}
    commands |= {name: inlined(source, runner) for name, runner in REFUSE.items()}
    times = commands_in_turns({**commands, **STARTS}, ROUNDS, folder)
    more = {
        name: statistics.median(a - b for a, b in zip(times[name], times["opt"], strict=True))
        for name in commands
    }
    return {name: 1e3 * seconds / slowness(times) for name, seconds in more.items() if name != "opt"}


def advising(folder: Path) -> dict[str, float]:
    """Ratios to the same decisions without a model: by the core's const:0, or by plain opt's default."""
    source = built([LARGE])[0].whole("O2")
    commands = {"const:0": inlined(source, "const:0"), "plain opt": opt(source)}
    commands |= {f"{name} of const:0": inlined(source, runner) for name, runner in REFUSE.items()}
    commands["python: echo of plain opt"] = inlined(source, "python:policy.py:echo")
    commands["default, logged, of plain opt"] = inlined(source, "default", "-passpilot-log=/dev/null")
    counts = instructions(commands, folder)
    return {name: count / counts[name.split(" of ")[1]] for name, count in counts.items() if " of " in name}


@command
def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        refusing_mlp(folder)
        (folder / "policy.py").write_text(POLICY)
        milliseconds, ratios = loading(folder), advising(folder)
    show_rows("empty module", ("what", "ms over opt"), milliseconds.items())
    show_rows(LARGE, ("what", "instructions"), ratios.items())
    bars = [
        Bar(f"the plugin with `{kind}`, ms more", milliseconds[kind], limit, "opt-22")
        for kind, limit in {"aot:": 15, "onnx:": 60, "python:": 250}.items()
    ]
    for name, value in ratios.items():
        kind, _, base = name.partition(" of ")
        bars.append(Bar(f"`{kind.strip(',')}` on {LARGE}, instructions", value, 1.15, base))
    settle(*bars)
