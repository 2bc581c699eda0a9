# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `passpilot tune --reward='run: …'` gains over -O2, with inputs that the search does not see.

Searches the decisions of programs that interpret scripts, so many seconds per unit, by the time of one
script. The result runs in turns with LLVM's own program; `low` and `high` are the 95 % interval of the ratio
of their processor times, with that script and with another one. Prints a table with the curve of the search,
and writes bench/results/speed.json. Fails if a program is clearly slower with the other script.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from bench.lib import ROOT, command, show, write
from bench.lib.corpus import exported
from tests.command import PASSPILOT

SCRIPTS: Final = {"lua": "lua", "mujs": "js"}
RECORDED: Final = ("compilations", "seconds", "confirmed", "unseen", "curve")


def measured(name: str, budget: float, folder: Path) -> dict[str, Any]:
    corpus = exported(name, "O2", folder / f"{name}-corpus")
    seen, unseen = (ROOT / "bench/speed" / f"{script}.{SCRIPTS[name]}" for script in ("seen", "unseen"))
    command: list[str | Path] = [PASSPILOT, "tune", f"--corpus={corpus.folder}", f"--budget={budget}"]
    command += [f"--reward=run: {{}} '{seen}'", f"--unseen={{}} '{unseen}'", "-o", folder / name]
    subprocess.run(command, check=True)
    result = json.loads((folder / name / f"{name}.json").read_text())
    return {key: result[key] for key in RECORDED}


def interval(timed: dict[str, float] | None) -> str:
    return f"{timed['ratio']:.3f} ({timed['low']:.3f} to {timed['high']:.3f})" if timed else "no gain found"


@command
def main(*names: str, budget: float = 20.0) -> None:
    with tempfile.TemporaryDirectory() as folder:
        programs = {name: measured(name, budget, Path(folder)) for name in names or SCRIPTS}
    write("speed.json", {"budget": budget, "programs": programs})
    rows = {
        name: {
            "compilations": row["compilations"],
            "script of the search": interval(row["confirmed"]),
            "other script": interval(row["unseen"]),
            "curve": " ".join(f"{compiles}:{ratio:.3f}" for compiles, _, ratio in row["curve"]),
        }
        for name, row in programs.items()
    }
    show(f"run time relative to -O2; {budget:g} s per unit, two cores", "program", rows)
    slower = [name for name, row in programs.items() if row["unseen"] and row["unseen"]["low"] > 1]
    if slower:
        sys.exit(f"expected no slower program, got {', '.join(slower)}")
