# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures `passpilot cc -Oz --best-of=4`: the size of objects, by program, relative to clang-22 -Oz.

usage: python -m bench.measure.policies.best_of [PROGRAM ...]

Compiles up to UNITS units of each program; by default of the programs for validation and test, on which the
variants, recipes of `@oz`, were not made. Prints a table, writes bench/results/best_of.json, and fails if the
geometric mean over the programs is above LIMIT. The time is that of all compilations of a program, one after
the other.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.lib.bars import Bar, arguments, settle
from bench.lib.records import ROOT
from passpilot.training.rewards import code_bytes
from tests.corpus.build import build
from tests.corpus.programs import all_programs

UNITS: Final = 6
LIMIT: Final = 0.975
COUNT: Final = 4


def main(names: list[str]) -> None:
    """Measure, print, write."""
    parts = tomllib.loads((ROOT / "tests/corpus/split.toml").read_text())["parts"]
    names = names or [*parts["validation"], *parts["test"]]
    if problems := build(names):
        sys.exit(f"bench_best_of: {problems[0]}")
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            rows[name] = measured(name, Path(folder))
    mean = math.exp(sum(math.log(row["best"] / row["stock"]) for row in rows.values()) / len(rows))
    table = Table(title=f"clang -Oz and passpilot cc -Oz --best-of={COUNT}, up to {UNITS} units each")
    table.add_column("program")
    for column in ("units", "clang -Oz, bytes", "best, bytes", "ratio", "time, ratio"):
        table.add_column(column, justify="right")
    for name, row in rows.items():
        ratio, times = row["best"] / row["stock"], row["best_s"] / row["stock_s"]
        table.add_row(
            name, *(f"{row[key]:.0f}" for key in ("units", "stock", "best")), f"{ratio:.3f}", f"{times:.1f}"
        )
    table.add_row("geometric mean", "", "", "", f"{mean:.4f}", "")
    Console(width=110).print(table)
    (ROOT / "bench/results").mkdir(exist_ok=True)
    (ROOT / "bench/results/best_of.json").write_text(
        json.dumps({"mean": mean, "programs": rows}, indent=1) + "\n"
    )
    settle(
        Bar(f"size of `cc -Oz --best-of={COUNT}`, {len(rows)} programs", mean, LIMIT, "clang-22 -Oz"),
    )
    if mean > LIMIT:
        sys.exit(f"bench_best_of: expected at most {LIMIT}, got {mean:.4f}")


def measured(name: str, folder: Path) -> dict[str, float]:
    """The sizes and times of one program's units."""
    units = sorted(all_programs()[name].whole("Oz").parent.glob("*.bc"), key=lambda path: path.stat().st_size)
    units = [unit for unit in units if unit.name != "whole.bc" and not unit.name.startswith("_driver")]
    units = units[-1 :: -max(1, len(units) // UNITS)][:UNITS]
    row = {"units": float(len(units)), "stock": 0.0, "best": 0.0, "stock_s": 0.0, "best_s": 0.0}
    passpilot = str(Path(sys.executable).with_name("passpilot"))
    for unit in units:
        for key, command in (("stock", ["clang-22"]), ("best", [passpilot, "cc", f"--best-of={COUNT}"])):
            made = folder / f"{key}.o"
            began = time.perf_counter()
            subprocess.run(
                [*command, "-Oz", "-fPIC", "-c", unit, "-o", made], check=True, stderr=subprocess.DEVNULL
            )
            row[f"{key}_s"] += time.perf_counter() - began
            row[key] += code_bytes(made.read_bytes())
    return row


if __name__ == "__main__":
    main(arguments())
