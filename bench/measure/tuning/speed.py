# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `passpilot tune --reward='run: …'` gains over -O2, with inputs that the search does not see.

usage: python -m bench.measure.tuning.speed [--budget=SECONDS] [PROGRAM ...]

Searches the decisions of programs that interpret scripts, SECONDS (20) per unit, by the time of one script.
The result runs in turns with LLVM's own program; `low` and `high` are the 95 % interval of the ratio of their
processor times, with that script and with another one. Prints a table and the curve of the search, and writes
bench/results/speed.json. Fails if a program is clearly slower with the other script.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench.lib.records import ROOT
from tests.corpus.export import export

SCRIPTS: Final = {"lua": "lua", "mujs": "js"}
RESULTS: Final = ROOT / "bench/results/speed.json"
PASSPILOT: Final = Path(sys.executable).with_name("passpilot")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=float, default=20.0)
    parser.add_argument("programs", nargs="*", default=list(SCRIPTS))
    options = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.programs:
            rows[name] = measured(name, options.budget, Path(folder))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"budget": options.budget, "programs": rows}, indent=1) + "\n")
    table = Table(title=f"run time relative to -O2; {options.budget:g} s per unit, two cores")
    for column in ("program", "compilations", "script of the search", "other script", "curve"):
        table.add_column(column)
    for name, row in rows.items():
        curve = " ".join(f"{compiles}:{ratio:.3f}" for compiles, _, ratio in row["curve"])
        table.add_row(
            name, str(row["compilations"]), interval(row["confirmed"]), interval(row["unseen"]), curve
        )
    Console(width=120).print(table)
    slower = [name for name, row in rows.items() if row["unseen"] and row["unseen"]["low"] > 1]
    if slower:
        sys.exit(f"bench_speed: expected no slower program, got {', '.join(slower)}")


def interval(timed: dict[str, float] | None) -> str:
    """A ratio and its interval."""
    return f"{timed['ratio']:.3f} ({timed['low']:.3f} to {timed['high']:.3f})" if timed else "no gain found"


def measured(name: str, budget: float, folder: Path) -> dict[str, Any]:
    """Search one program."""
    problems = export(folder / f"{name}-corpus", [name], "O2", sections=True)
    if problems:
        sys.exit(f"bench_speed: {problems[0]}")
    scripts = ROOT / "bench/speed"
    subprocess.run(
        [
            PASSPILOT,
            "tune",
            f"--corpus={folder / f'{name}-corpus'}",
            f"--budget={budget}",
            f"--reward=run: {{}} '{scripts / f'seen.{SCRIPTS[name]}'}'",
            f"--unseen={{}} '{scripts / f'unseen.{SCRIPTS[name]}'}'",
            "-o",
            folder / name,
        ],
        check=True,
    )
    row: dict[str, Any] = json.loads((folder / name / f"{name}.json").read_text())
    return {key: row[key] for key in ("compilations", "seconds", "confirmed", "unseen", "curve")}


if __name__ == "__main__":
    main()
