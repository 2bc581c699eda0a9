# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the runs that a search of kernels needs with the estimate, and with chance in its place.

usage: python -m bench.measure.mlir.estimate [KERNEL...] [--runs=N] [--recorded] [--check]

Both search the same space from the same seeds. The curve is the best time after every run, the median of the
seeds. The bar: with half of the runs, the estimate is as fast as chance with all of them.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import geometric_mean, median
from typing import Any, Final

from bench.lib import ROOT, Bar, command, read, settle, write
from bench.measure.mlir.tune import DEADLINE, FOLDER
from passpilot.plugin.isolated import run_isolated
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.kernels.kernel import Kernel
from passpilot.training.tuning.kernels.search import KernelSearch, run_time
from passpilot.training.tuning.kernels.unit import KernelUnit
from passpilot.training.tuning.study import Budget, Study, Trial

KERNELS: Final = ("matmul-256", "matmul-odd", "layer-norm")
SEEDS: Final = (0, 1, 2)


def curve(unit: KernelUnit, seed: int, runs: int, *, ranked: bool) -> list[float]:
    """The best microseconds after every run."""
    best: list[float] = []

    def note(study: Study, trial: Trial) -> None:
        if trial.number:
            best.append(study.best_value)

    units: Any = [unit]
    engine = Engine(units, Machines(), DEADLINE)
    search = KernelSearch(units, engine, run_time, Budget(compiles=runs + 1), (note,))
    search.seed, search.is_ranked = seed, ranked
    search.start = search.begin()
    search.search()
    return best + [best[-1]] * (runs - len(best))


def measure(name: str, runs: int) -> dict[str, Any]:
    unit = KernelUnit(Kernel.read(ROOT / "bench" / "kernels" / f"{name}.mlir"))
    unit.warm_up()
    unit = replace(unit, expected=run_isolated("bench", unit.reference, DEADLINE))
    row: dict[str, Any] = {"runs": [runs // 8, runs // 4, runs // 2, runs]}
    for who, ranked in (("estimate", True), ("chance", False)):
        curves = [curve(unit, seed, runs, ranked=ranked) for seed in SEEDS]
        row[who] = [round(median(values), 3) for values in zip(*curves, strict=True)]
    return row


@command
def main(*names: str, runs: int = 32, recorded: bool = False) -> None:
    rows = read(f"{FOLDER}/estimate.json", {})
    for name in () if recorded else names or KERNELS:
        rows[name] = measure(name, runs)
        write(f"{FOLDER}/estimate.json", rows)
    ratios = [row["estimate"][len(row["chance"]) // 2 - 1] / row["chance"][-1] for row in rows.values()]
    settle(
        Bar(
            "time with half of the runs, by the estimate", geometric_mean(ratios), 1.0, "chance with all runs"
        )
    )
