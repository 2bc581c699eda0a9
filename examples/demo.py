# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles zstd at -Oz, advised by LLVM itself, a Python policy, and a model fitted here; prints one table.

The model is fitted to half of LLVM's own decisions, without the `cost_estimate` that decides them, and tested
on the other half. Run it with `make demo`.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

import passpilot

ROOT: Final = Path(__file__).parents[1]
PASSPILOT: Final = Path(sys.executable).with_name("passpilot")
PIPELINE: Final = "-passes=default<Oz>"
HIDDEN: Final = {"cost_estimate", "inlining_default", "inlining_decision"}
REPEATS: Final = 3


def run(*command: str | Path) -> str:
    """Run a command, which must succeed; its standard output and error."""
    done = subprocess.run([str(c) for c in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"demo: {' '.join(map(str, command))} exited with {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


@dataclass
class Row:
    """One row of the table: a way to decide, its command and its results."""

    title: str
    command: list[str | Path]
    decisions: int = 0
    agreement: float = 1.0
    microseconds: float | None = None
    size: int = 0
    seconds: float = 0.0


def loaded_bytes(bitcode: Path) -> int:
    """The code, constants, data and unwind tables in llc's object for a bitcode file."""
    obj = bitcode.with_suffix(".o")
    run("llc-22", "-O2", "-filetype=obj", "-relocation-model=pic", bitcode, "-o", obj)
    code_and_constants, data = run("llvm-size-22", obj).splitlines()[1].split()[:2]
    return int(code_and_constants) + int(data)


def advised(title: str, runner: str, source: Path, log: Path) -> Row:
    """Run with a log and make a row with the decisions and their agreement with the default."""
    command: list[str | Path] = [PASSPILOT, "opt", PIPELINE, source, f"--inline={runner}"]
    row = Row(title, command)
    run(*command, "--log", log, "-disable-output")
    decided = passpilot.read_log(log).to_arrays(["inlining_default", "inlining_decision"])
    row.decisions = len(decided["inlining_decision"])
    row.agreement = float(np.mean(decided["inlining_default"] == decided["inlining_decision"]))
    row.command.append("-stats")
    return row


def measure(rows: list[Row], work: Path) -> None:
    """Measure sizes and compile times, in turns so that all rows meet the same load."""
    times: list[list[float]] = [[] for _ in rows]
    outputs = [work / f"{i}.bc" for i in range(len(rows))]
    for _ in range(REPEATS):
        for row, seconds, output in zip(rows, times, outputs, strict=True):
            start = time.perf_counter()
            report = run(*row.command, "-o", output)
            seconds.append(time.perf_counter() - start)
            if asked := re.search(r"([\d.]+) microseconds per decision", report):
                row.microseconds = float(asked[1])
    for row, seconds, output in zip(rows, times, outputs, strict=True):
        row.seconds = statistics.median(seconds)
        row.size = loaded_bytes(output)


def fit(log: Path, model: Path) -> tuple[str, float]:
    """Fit a model to half of the log's decisions; return its runner spec and its score on the other half."""
    from skl2onnx import to_onnx
    from sklearn.ensemble import GradientBoostingClassifier

    logged = passpilot.read_log(log).to_arrays()
    names = [name for name in logged if name not in HIDDEN]
    inputs: NDArray[np.float32] = np.hstack([logged[name] for name in names]).astype(np.float32)
    answers = logged["inlining_decision"].ravel()
    order = np.random.default_rng(0).permutation(len(answers))
    seen, unseen = np.array_split(order, 2)
    trees = GradientBoostingClassifier(n_estimators=60, max_depth=4, random_state=0)
    trees.fit(inputs[seen], answers[seen])
    exported = to_onnx(trees, inputs[:1], options={"zipmap": False})
    passpilot.name_columns(exported, names)
    model.write_bytes(exported.SerializeToString())
    return f"onnx:{model}?output=label", float(trees.score(inputs[unseen], answers[unseen]))


def table(rows: list[Row]) -> Table:
    """The table of all rows, relative to the first, stock opt."""
    stock = rows[0]
    out = Table(
        title="zstd 1.5.7, the whole program, -Oz", title_justify="left", box=SIMPLE_HEAD, pad_edge=False
    )
    out.add_column("who decides", no_wrap=True)
    for heading in ("loaded bytes", "change", "decisions", "as LLVM", "µs each", "time"):
        out.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        out.add_row(
            row.title,
            f"{row.size:,}",
            "" if row is stock else f"{row.size / stock.size - 1:+.2%}",
            f"{row.decisions:,}",
            f"{row.agreement:.1%}",
            "" if row.microseconds is None else f"{row.microseconds:.2f}",
            f"{row.seconds:.2f} s" if row is stock else f"× {row.seconds / stock.seconds:.2f}",
        )
    return out


def main() -> None:
    """Fetch, compile, fit, measure, print."""
    console = Console()
    console.print("zstd: fetching its source, compiling it with clang-22 (once) ...", style="dim")
    built = subprocess.check_output(
        [sys.executable, "-m", "tests.corpus.build", "--only", "zstd", "--print"], cwd=ROOT, text=True
    )
    source = Path(built.splitlines()[0])
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory)
        console.print("logging LLVM's own decisions, fitting a model to half of them ...", style="dim")
        default = advised("", "default", source, work / "default.log")
        model, unseen = fit(work / "default.log", work / "model.onnx")
        console.print(f"on the other half the model decides as LLVM does in {unseen:.1%}", style="dim")
        rows = [
            Row("stock opt-22", ["opt-22", PIPELINE, source], decisions=default.decisions),
            advised("policy.py", "python:examples/policy.py:decide", source, work / "p.log"),
            advised("fitted ONNX", model, source, work / "m.log"),
        ]
        console.print("compiling with each, in turns ...", style="dim")
        measure(rows, work)
    console.print(table(rows))
    if unseen < 0.97:
        sys.exit("demo: expected the fitted model to decide as LLVM does in 97 % of unseen cases")


if __name__ == "__main__":
    main()
