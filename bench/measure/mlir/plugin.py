# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the plugin for stock mlir-opt with MLIR's own `inline`: accepting all, asking, loading.

Accepting and questions are counted in instructions of one mlir-opt on one thread, minus those that read and
write the module, and minus those of Python's start. A question costs what rejecting all calls does, minus
what `inline` does on a module where no call may be inlined; that includes the summaries and the features.
Loading is processor time, the least of the rounds, in turns. `passpilot mlir-opt` with an advisor is measured
from its start to its end, on a small module, and its figure divided by `slowness`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from bench.lib import STARTS, Bar, command, commands_in_turns, least, settle, show, show_rows, slowness
from bench.lib.instructions import instructions
from bench.measure.mlir.modules import module
from passpilot.plugin.toolchain import mlir_plugin
from tests.command import PASSPILOT
from tests.corpus.build import bindir

CALLS: Final = (2000, 4000)
REPEATS: Final = 6
"""The runs of a pass that changes nothing in one pipeline."""
ROUNDS: Final = 5
ROUNDS_OF_STARTS: Final = 15
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


LOAD: Final = f"--load-pass-plugin={mlir_plugin()}"
NONE: Final = "default-pipeline=}"

Run = tuple[str, ...]
"""The module, the pipeline and flags of one mlir-opt."""


def calls_module(calls: int, attributes: str = "") -> str:
    """A module of private functions of ten additions, and functions that each call ten of them."""
    leaves, size = calls // PER_FUNCTION, PER_FUNCTION
    return module(calls, size, leaves, size, operations=("addi",), step=13, attributes=attributes)


def mlir_opt(source: str, pipeline: str, *flags: str) -> list[str]:
    passes = f"--pass-pipeline=builtin.module({pipeline})"
    return [str(bindir() / "mlir-opt"), *flags, source, passes, "--mlir-disable-threading", "-o", "/dev/null"]


def counted(folder: Path, runs: dict[str, Run]) -> dict[str, int]:
    """The instructions of all runs, without those of Python's start in `python`."""
    count = instructions({name: mlir_opt(*run) for name, run in runs.items()}, folder)
    count["python"] -= count["start"] - count["small"]
    return count


def accepting(folder: Path, calls: int) -> dict[str, float]:
    """The millions of instructions of `inline`, and the ratios of accepting all calls to it."""
    (folder / "calls.mlir").write_text(calls_module(calls))
    python = "advised-inline{runner=python:policy.py:yes}"
    runs: dict[str, Run] = {
        "read": ("calls.mlir", "", LOAD),
        "inline": ("calls.mlir", "inline", LOAD),
        "default": ("calls.mlir", "advised-inline", LOAD),
        "const:1": ("calls.mlir", "advised-inline{runner=const:1}", LOAD),
        "python": ("calls.mlir", python, LOAD),
        "small": ("small.mlir", "", LOAD),
        "start": ("small.mlir", python, LOAD),
    }
    count = counted(folder, runs)
    inline = count["inline"] - count["read"]
    ratios = {name: (count[name] - count["read"]) / inline for name in ("default", "const:1", "python")}
    return {"inline, millions": inline / 1e6, **ratios}


def asking(folder: Path, calls: int) -> dict[str, float]:
    """Instructions per question, by runner, with the features."""

    def repeated(text: str) -> str:
        return ",".join([text] * REPEATS)

    (folder / "calls.mlir").write_text(calls_module(calls))
    (folder / "marked.mlir").write_text(calls_module(calls, "{no_inline}"))
    policy = repeated(f"advised-inline{{runner=python:policy.py:no {NONE}")
    runs: dict[str, Run] = {
        "read": ("calls.mlir", "", LOAD),
        "read marked": ("marked.mlir", "", LOAD),
        "marked": ("marked.mlir", repeated(f"inline{{{NONE}"), LOAD),
        "native": ("calls.mlir", repeated(f"advised-inline{{runner=const:0 {NONE}"), LOAD),
        "python": ("calls.mlir", policy, LOAD),
        "small": ("small.mlir", "", LOAD),
        "start": ("small.mlir", policy, LOAD),
    }
    count = counted(folder, runs)
    idle = count["read"] + count["marked"] - count["read marked"]
    return {name: (count[name] - idle) / calls / REPEATS for name in ("native", "python")}


def loading(folder: Path) -> dict[str, float]:
    """Milliseconds until the tool is ready, and for an operation's way to a Python pass and back."""
    own = "--passpilot-load=passes.py"
    runs: dict[str, Run] = {
        "tool": ("small.mlir", ""),
        "plugin": ("small.mlir", "", LOAD),
        "python": ("small.mlir", "advised-inline{runner=python:policy.py:no}", LOAD),
        "pass": ("small.mlir", "nothing", LOAD, own),
        "read": ("calls.mlir", "", LOAD),
        "reading": ("calls.mlir", "nothing", LOAD, own),
        "writing": ("calls.mlir", "mark", LOAD, own),
        "functions": ("calls.mlir", "func.func(mark)", LOAD, own),
    }
    (folder / "calls.mlir").write_text(calls_module(2000))
    t = least(commands_in_turns({name: mlir_opt(*run) for name, run in runs.items()}, ROUNDS, folder))
    base = t["pass"] - t["plugin"] + t["read"]
    seconds = {
        "plugin": t["plugin"] - t["tool"],
        "python runner": t["python"] - t["plugin"],
        "python pass": t["pass"] - t["plugin"],
        "module to a pass": t["reading"] - base,
        "module to a pass and back": t["writing"] - base,
        "400 functions to a pass and back": t["functions"] - base,
    }
    return {name: 1e3 * value for name, value in seconds.items()}


def starting(folder: Path) -> tuple[dict[str, float], float]:
    """Milliseconds of `passpilot mlir-opt` with a module of twenty small functions; and `slowness`."""
    ours, advised = (PASSPILOT, "mlir-opt", "small.mlir", "-o", "/dev/null"), "advised-inline)"
    runs: dict[str, Run] = {"inline": ("inline)",)}
    runs |= {runner: (advised, f"--inline={runner}") for runner in ("const:1", "python:policy.py:no")}
    commands: dict[str, list[str | Path]] = {
        f"passpilot mlir-opt, {name}": [*ours, f"--pass-pipeline=builtin.module({passes}", *flags]
        for name, (passes, *flags) in runs.items()
    }
    times = commands_in_turns({**commands, **STARTS}, ROUNDS_OF_STARTS, folder)
    return {name: 1e3 * min(times[name]) for name in commands}, slowness(times)


@command
def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "policy.py").write_text(POLICY)
        (folder / "passes.py").write_text(PASSES)
        (folder / "small.mlir").write_text(calls_module(PER_FUNCTION))
        rows = {f"{calls} calls": accepting(folder, calls) for calls in CALLS}
        question = asking(folder, min(CALLS))
        starts, slower = starting(folder)
        milliseconds = loading(folder) | starts
    show("accepting all: instructions, times MLIR's own inline", "module", rows)
    show_rows("a question", ("runner", "instructions, with features"), question.items())
    show_rows("loading", ("what", "ms"), milliseconds.items())
    advised = max(value for name, value in starts.items() if name.endswith(("const:1", ":no")))
    settle(
        *(
            Bar(
                f"plugin, `{kind}`, instructions",
                max(row[kind] for row in rows.values()),
                1.15,
                "MLIR's own `inline`",
            )
            for kind in ("default", "const:1")
        ),
        Bar("plugin, a question in Python, instructions", question["python"], 3500),
        Bar("plugin, a question of a native runner, instructions", question["native"], 2200),
        Bar("`passpilot mlir-opt` with an advisor, ms", advised / slower, 200),
    )
