# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables of docs/tuning-mlir.md from what bench.measure.mlir.tune and .estimate have recorded.

usage: python -m bench.pages.kernels [--check]
"""

from __future__ import annotations

from typing import Any, Final

from bench.lib import command, read
from bench.measure.mlir.tune import FOLDER, KERNELS, LOOPS, OURS, PEERS, speed
from bench.pages.markdown import replaced, table, write_or_check

PAGE: Final = "docs/tuning-mlir.md"
HEADS: Final = {"numpy": "numpy, OpenBLAS", "iree": "IREE's default", "tvm": "TVM without a schedule"}


def kernels() -> str:
    """The speed of what was found beside others."""
    lines = []
    for name in KERNELS:
        row: dict[str, Any] = read(f"{FOLDER}/{name}.json", {})
        if row:
            times = row["microseconds"]
            speeds = [f"{speed(row, side):.1f}" if side in times else "" for side in (LOOPS, *PEERS)]
            lines.append([name, f"{row['plans']}", f"**{speed(row, OURS):.1f}**", *speeds])
    heads = ["kernel", "plans", "tuned", "`convert-linalg-to-loops`", *(HEADS[name] for name in PEERS)]
    return table(heads, lines)


def estimate() -> str:
    """How many runs the search needs with and without the estimate."""
    rows: dict[str, dict[str, Any]] = read(f"{FOLDER}/estimate.json", {})
    lines = []
    for name, row in rows.items():
        lines += [
            [name, who, *(f"{row[who][runs - 1] / 1000:.3g} ms" for runs in row["runs"])]
            for who in ("estimate", "chance")
        ]
    runs = next(iter(rows.values()))["runs"] if rows else []
    return table(["kernel", "chosen by", *(f"{count} runs" for count in runs)], lines)


@command
def main(*, check: bool = False) -> None:
    top = read(f"{FOLDER}/peak.json", 0.0)
    text = f"""
{estimate()}
The best time after so many runs, the median of three seeds (`python -m bench.measure.mlir.estimate`).

## What it finds

GFLOP/s in one thread, on a virtual AMD EPYC (Zen 5, AVX-512). Its peak, by a loop of multiply-adds, is
{top:.0f} GFLOP/s. All sides of a row ran in turns on one processor, and the figures are those of the least
processor times (`python -m bench.measure.mlir.tune`). The machine had other work to do, which met all sides.

{kernels()}
TVM's column is its compiler without a schedule. The wheel reads no MLIR, so only the matmuls are written
for it.

"""
    write_or_check({PAGE: replaced(PAGE, "bench.pages.kernels", text)}, check=check)
