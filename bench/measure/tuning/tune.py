# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `passpilot tune` gains on programs of the corpus, beside the policy `@oz`, in all sizes.

Against R1 of docs/evaluation.md, units are searched with --compiles compilations each; against R2, the whole
program is searched with --lto compilations. `passpilot eval` builds -Oz, `@oz` and the decisions with the
same flags, runs the programs, which must print what is recorded, and counts the instructions of their runs.
Writes bench/results/tune.json after each program; programs that are there are not measured again, so that
the corpus can be measured in parts. --part names parts of the corpus. --keep names a folder for the decision
files. Fails if a program is larger than -Oz, or if the geometric mean of the loaded bytes is above its limit:
0.905 against R1, 0.94 against R2, and 0.02 below `@oz` in both.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import geometric_mean
from typing import Any, Final

import passpilot
from bench.lib import Bar, command, read, require, show, write
from bench.lib.corpus import exported, part
from tests.command import PASSPILOT
from tests.corpus.build import build

RECORD: Final = "tune.json"
LIMITS: Final = {"R1": 0.905, "R2": 0.94}
BELOW_OZ: Final = 0.02
DEADLINE: Final = 8 * 3600
"""Seconds for one search."""
SIZES: Final = ("allocated", "text", "stripped", "xz", "instructions")
TUNED: Final = "decisions:{folder}/{program}.decisions"

Row = dict[str, Any]


def measured(name: str, reference: str, compiles: int, folder: Path) -> Row:
    """The sizes of one program against one reference, by how it is built."""
    corpus = exported(name, "Oz", folder / f"{reference}-corpus", reference)
    lto = reference == "R2"
    output = folder / reference
    search: list[str | Path] = [PASSPILOT, "tune", f"--corpus={corpus.folder}", f"--compiles={compiles}"]
    subprocess.run([*search, *["--lto"] * lto, "-o", output], check=True, timeout=DEADLINE)
    decisions = f"decisions:{output / f'{name}.decisions'}"
    result = passpilot.evaluate(
        corpus.folder, ["@oz", decisions], baselines=["-Oz"], rounds=0, runs="instructions", lto=lto
    )
    (program,) = result.programs
    rows = dict(zip(("-Oz", "@oz", "tune"), program["results"].values(), strict=True))
    if problems := [text for row in rows.values() for text in row["errors"]]:
        sys.exit(f"{name}: {problems[0]}")
    return {how: {size: row[size] for size in SIZES} for how, row in rows.items()}


def ratio(row: Row, reference: str, how: str, size: str) -> float:
    sizes = row[reference]
    return float(sizes[how][size] / sizes["-Oz"][size])


def show_and_check(rows: dict[str, Row]) -> None:
    """Print the ratios; exits 1 beyond a limit."""
    bars = []
    for reference, limit in LIMITS.items():
        table = {
            name: {
                f"{how} {size}": ratio(row, reference, how, size) for how in ("@oz", "tune") for size in SIZES
            }
            for name, row in rows.items()
        }
        means = {
            key: geometric_mean(row[key] for row in table.values()) for key in next(iter(table.values()))
        }
        show(f"against {reference}", "program", table, means)
        tuned, oz = means["tune allocated"], means["@oz allocated"]
        worst = max(row["tune allocated"] for row in table.values())
        bars += [
            Bar(f"tune against {reference}, mean", tuned, limit),
            Bar(f"tune against {reference}, the largest", worst, 1),
            Bar(f"tune against {reference}", tuned, oz - BELOW_OZ, "@oz, less 0.02"),
        ]
    require(*bars)


@command
def main(
    *programs: str, parts: str = "validation", compiles: int = 16, lto: int = 64, keep: str = ""
) -> None:
    rows: dict[str, Row] = read(RECORD, {})
    chosen = programs or part(*parts.split(","))
    for name in chosen:
        if rows.get(name, {}).get("compiles", 0) >= compiles:
            continue
        if problems := build([name]):
            print(f"{name} is left out: {problems[0]}", file=sys.stderr)
            continue
        with tempfile.TemporaryDirectory() as folder:
            rows[name] = {"compiles": compiles, "lto": lto} | {
                reference: measured(name, reference, count, Path(folder))
                for reference, count in (("R1", compiles), ("R2", lto))
            }
            for path in Path(folder).glob("R?/*.decisions") if keep else ():
                kept = Path(keep, path.parent.name)
                kept.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, kept)
        write(RECORD, dict(sorted(rows.items())))
        found = {reference: ratio(rows[name], reference, "tune", "allocated") for reference in LIMITS}
        print(name, *(f"{reference} {value:.3f}" for reference, value in found.items()), flush=True)
    show_and_check({name: row for name, row in rows.items() if name in chosen})
