# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the plugin for stock mlir-opt with MLIR's own `inline`: accepting all, asking, loading.

Prints tables and writes bench/results/mlir_plugin.json. Accepting and questions are counted in instructions
of one mlir-opt on one thread, minus those that read and write the module, and minus those of Python's start.
A question costs what rejecting all calls does, minus what `inline` does on a module where no call may be
inlined; that includes the summaries and the features. Loading is processor time, the least of the rounds, in
turns. `passpilot mlir-opt` with an advisor is measured from its start to its end, on a small module, and its
figure divided by `slowness`. `bars` has the targets.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.lib.bars import Bar, settle
from bench.lib.instructions import instructions
from bench.lib.records import ROOT
from bench.lib.turns import STARTS, commands_in_turns, slowness
from passpilot.plugin.toolchain import mlir_plugin

CALLS: Final = (2000, 4000)
"""The calls of the modules."""
REPEATS: Final = 6
"""The runs of a pass that changes nothing in one pipeline."""
ROUNDS: Final = 5
"""The rounds of loading."""
ROUNDS_OF_STARTS: Final = 15
"""The rounds in which `passpilot mlir-opt` starts."""
PER_FUNCTION: Final = 10
"""The calls in a function, and the operations in a callee."""

POLICY: Final = """\
def yes(obs):
    return True

def no(obs):
    return False
"""
PASSES: Final = """\
from dataclasses import dataclass
from passpilot import mlir

@mlir.pass_("nothing")
@dataclass(frozen=True)
class Nothing:
    def run(self, operation):
        pass

@mlir.pass_("mark")
@dataclass(frozen=True)
class Mark:
    def run(self, operation):
        ir = mlir.bindings().ir
        operation.attributes["my.mark"] = ir.UnitAttr.get(operation.context)
"""


def module(calls: int, attributes: str = "") -> str:
    """A module of private functions of ten additions, and functions that each call ten of them."""
    count = calls // PER_FUNCTION
    leaves = [_leaf(number) for number in range(count)]
    callers = [_caller(number, count, attributes) for number in range(count)]
    return "\n".join(["module {", *leaves, *callers, "}", ""])


def _leaf(number: int) -> str:
    sums = [f"  %v{i + 1} = arith.addi %v{i}, %b : i32" for i in range(1, PER_FUNCTION)]
    head = f"func.func private @leaf{number}(%a: i32, %b: i32) -> i32 {{\n  %v1 = arith.addi %a, %b : i32"
    return "\n".join([head, *sums, f"  return %v{PER_FUNCTION} : i32", "}"])


def _caller(number: int, leaves: int, attributes: str) -> str:
    lines = [f"func.func @caller{number}(%v0: i32, %b: i32) -> i32 {{"]
    for i in range(PER_FUNCTION):
        callee = (number * 7 + i * 13) % leaves
        lines.append(f"  %v{i + 1} = call @leaf{callee}(%v{i}, %b) {attributes} : (i32, i32) -> i32")
    return "\n".join([*lines, f"  return %v{PER_FUNCTION} : i32", "}"])


def counted(folder: Path, runs: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """The instructions of all runs of mlir-opt."""
    return instructions({name: _command(*run) for name, run in runs.items()}, folder)


def _command(source: str, pipeline: str, *flags: str) -> list[str]:
    tool = "/usr/lib/llvm-22/bin/mlir-opt"
    passes = f"--pass-pipeline=builtin.module({pipeline})"
    return [tool, *flags, source, passes, "--mlir-disable-threading", "-o", "/dev/null"]


def accepting(folder: Path, calls: int) -> dict[str, float]:
    """The millions of instructions of `inline`, and the ratios of accepting all calls to it."""
    (folder / "calls.mlir").write_text(module(calls))
    load = f"--load-pass-plugin={mlir_plugin()}"
    runs: dict[str, tuple[str, ...]] = {
        "read": ("calls.mlir", "", load),
        "inline": ("calls.mlir", "inline", load),
        "default": ("calls.mlir", "advised-inline", load),
        "const:1": ("calls.mlir", "advised-inline{runner=const:1}", load),
        "python": ("calls.mlir", "advised-inline{runner=python:policy.py:yes}", load),
        "small": ("small.mlir", "", load),
        "start": ("small.mlir", "advised-inline{runner=python:policy.py:yes}", load),
    }
    count = counted(folder, runs)
    count["python"] -= count["start"] - count["small"]
    inline = count["inline"] - count["read"]
    ratios = {name: (count[name] - count["read"]) / inline for name in ("default", "const:1", "python")}
    return {"inline": inline / 1e6, **ratios}


def _repeated(text: str) -> str:
    return ",".join([text] * REPEATS)


def asking(folder: Path, calls: int) -> dict[str, float]:
    """Instructions per question."""
    (folder / "calls.mlir").write_text(module(calls))
    (folder / "marked.mlir").write_text(module(calls, "{no_inline}"))
    load, none = f"--load-pass-plugin={mlir_plugin()}", "default-pipeline=}"
    policy = _repeated(f"advised-inline{{runner=python:policy.py:no {none}")
    runs: dict[str, tuple[str, ...]] = {
        "read": ("calls.mlir", "", load),
        "read marked": ("marked.mlir", "", load),
        "marked": ("marked.mlir", _repeated(f"inline{{{none}"), load),
        "native": ("calls.mlir", _repeated(f"advised-inline{{runner=const:0 {none}"), load),
        "python": ("calls.mlir", policy, load),
        "small": ("small.mlir", "", load),
        "start": ("small.mlir", policy, load),
    }
    count = counted(folder, runs)
    count["python"] -= count["start"] - count["small"]
    idle = count["read"] + count["marked"] - count["read marked"]
    return {name: (count[name] - idle) / calls / REPEATS for name in ("native", "python")}


def loading(folder: Path) -> dict[str, float]:
    """Milliseconds until the tool is ready, and for an operation's way to a Python pass and back."""
    load, mine = f"--load-pass-plugin={mlir_plugin()}", "--passpilot-load=passes.py"
    runs: dict[str, tuple[str, ...]] = {
        "tool": ("small.mlir", ""),
        "plugin": ("small.mlir", "", load),
        "python": ("small.mlir", "advised-inline{runner=python:policy.py:no}", load),
        "pass": ("small.mlir", "nothing", load, mine),
        "read": ("calls.mlir", "", load),
        "reading": ("calls.mlir", "nothing", load, mine),
        "writing": ("calls.mlir", "mark", load, mine),
        "functions": ("calls.mlir", "func.func(mark)", load, mine),
    }
    (folder / "calls.mlir").write_text(module(2000))
    commands = {name: _command(*run) for name, run in runs.items()}
    t = {name: min(times) for name, times in commands_in_turns(commands, ROUNDS, folder).items()}
    base = t["pass"] - t["plugin"] + t["read"]
    return {
        "plugin": 1e3 * (t["plugin"] - t["tool"]),
        "python runner": 1e3 * (t["python"] - t["plugin"]),
        "python pass": 1e3 * (t["pass"] - t["plugin"]),
        "module to a pass": 1e3 * (t["reading"] - base),
        "module to a pass and back": 1e3 * (t["writing"] - base),
        "400 functions to a pass and back": 1e3 * (t["functions"] - base),
    }


def starting(folder: Path) -> tuple[dict[str, float], float]:
    """Milliseconds of `passpilot mlir-opt` with a module of twenty small functions; and `slowness`."""
    command = (str(Path(sys.executable).with_name("passpilot")), "mlir-opt", "small.mlir", "-o", "/dev/null")
    pipeline = "--pass-pipeline=builtin.module(advised-inline)"
    runs: dict[str, tuple[str, ...]] = {"inline": ("--pass-pipeline=builtin.module(inline)",)}
    runs |= {name: (pipeline, f"--inline={name}") for name in ("const:1", "python:policy.py:no")}
    commands = {f"passpilot mlir-opt, {name}": [*command, *run] for name, run in runs.items()}
    times = commands_in_turns({**commands, **STARTS}, ROUNDS_OF_STARTS, folder)
    return {name: 1e3 * min(times[name]) for name in commands}, slowness(times)


def bars(results: dict[str, dict[str, float]]) -> list[Bar]:
    """What the figures may be: for the ratios, the worst of the modules."""
    worst = {
        kind: max(row[kind] for row in results.values() if kind in row) for kind in ("default", "const:1")
    }
    question, starts = results["instructions per question"], results["milliseconds"]
    advised = max(starts[name] for name in starts if name.endswith(("const:1", ":no")))
    return [
        *(
            Bar(f"plugin, `{kind}`, instructions", ratio, 1.15, "MLIR's own `inline`")
            for kind, ratio in worst.items()
        ),
        Bar("plugin, a question in Python, instructions", question["python"], 3500),
        Bar("plugin, a question of a native runner, instructions", question["native"], 2200),
        Bar("`passpilot mlir-opt` with an advisor, ms", advised / results["slowness"]["of starts"], 200),
    ]


def main() -> None:
    """Measure, print, write."""
    results: dict[str, dict[str, float]] = {}
    inlined = Table(title="accepting all: instructions, times MLIR's own inline")
    for column in ("calls", "inline, millions", "default", "const:1", "python"):
        inlined.add_column(column, justify="right")
    others = Table("what", "cost")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.py").write_text(POLICY)
        (folder / "passes.py").write_text(PASSES)
        (folder / "small.mlir").write_text(module(PER_FUNCTION))
        for calls in CALLS:
            row = results[f"{calls} calls"] = accepting(folder, calls)
            inline, *ratios = row.values()
            inlined.add_row(str(calls), f"{inline:.0f}", *(f"{ratio:.3f}" for ratio in ratios))
        results["instructions per question"] = asking(folder, min(CALLS))
        starts, slower = starting(folder)
        results["milliseconds"] = loading(folder) | starts
        results["slowness"] = {"of starts": slower}
    for what, value in results["instructions per question"].items():
        others.add_row(f"a question, {what} runner, with features", f"{value:.0f} instructions")
    for what, value in results["milliseconds"].items():
        others.add_row(what, f"{value:.0f} ms")
    console = Console(width=120)
    console.print(inlined, others)
    (ROOT / "bench/results").mkdir(exist_ok=True)
    (ROOT / "bench/results/mlir_plugin.json").write_text(json.dumps(results, indent=1) + "\n")
    settle(*bars(results))


if __name__ == "__main__":
    main()
