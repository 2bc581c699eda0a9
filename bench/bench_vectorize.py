# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-vectorize` can gain over -O3, on the ten kernels of bench/kernels.

1. In-sample: `--policies` random policies compile each kernel; successive halving selects the fastest by
   timed runs, each next to a run of plain -O3. The selected one and plain -O3 then run in turns, `--pairs`
   times, and only these last runs count.
2. Rules: fixed policies, such as "LLVM's width, interleaved twice", are measured on each kernel. For each
   kernel, the rule that is best on the nine others is applied to it: what a fixed policy gains on programs
   that it was not selected on.

Kernels are compiled with -O3 -march=native -ffast-math. Results are checked against plain -O3's, to rounding.
Writes bench/results/vectorize.json.

usage: bench_vectorize.py [--kernels dot,gemm] [--policies 100] [--pairs 60]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.kernel_timing import KERNELS, Kernel  # noqa: E402
from passpilot.features.llvm.vectorize import INTERLEAVES, VECTOR_PLANS  # noqa: E402
from passpilot.passes.shipped.vectorize import VECTORIZE  # noqa: E402

if TYPE_CHECKING:
    from passpilot.runners.python import Observation


def allowed(obs: Observation, width: int, count: int) -> int:
    """The choice of a plan, or 0, LLVM's own, if the plan is not allowed."""
    choice = VECTOR_PLANS.index((width, count)) if (width, count) in VECTOR_PLANS else 0
    return choice if obs["mask"][0, choice] else 0


def scaled(factor: float, count: int, obs: Observation) -> int:
    """LLVM's width times a factor, with an interleave count."""
    return allowed(obs, int(obs["llvm_width"].item() * factor), count)


def rules() -> Mapping[str, Callable[[Observation], int]]:
    """The fixed policies by name."""
    made: dict[str, Callable[[Observation], int]] = {"LLVM's own": lambda _: 0}
    for width, count in VECTOR_PLANS[1:]:
        made[f"{width} x {count}"] = partial(lambda w, c, obs: allowed(obs, w, c), width, count)
    for factor in (0.5, 1, 2):
        for count in INTERLEAVES:
            made[f"LLVM's width times {factor:g}, x {count}"] = partial(scaled, factor, count)
    return made


def mean(values: Iterable[float]) -> float:
    """The geometric mean."""
    return statistics.geometric_mean(values)


def held_out(speeds: Mapping[str, Sequence[float]], kernels: int) -> list[tuple[str, float]]:
    """For each kernel: the rule that is best on the others, and the speed it has on this one."""
    found = []
    for place in range(kernels):
        others = {
            name: mean(speed for at, speed in enumerate(each) if at != place) for name, each in speeds.items()
        }
        rule = max(others, key=lambda name: others[name])
        found.append((rule, speeds[rule][place]))
    return found


def measure(names: Sequence[str], policies: int, pairs: int, folder: Path) -> list[dict[str, object]]:
    """Search and measure; returns a row for each kernel."""
    kernels = [Kernel(KERNELS / f"{name}.c", folder, VECTORIZE) for name in names]
    searched = []
    for kernel in kernels:
        builds = [kernel.build(f"random:{seed}", f"random:{seed}") for seed in range(policies)]
        best = kernel.best([kernel.plain, *builds])
        searched.append((best.policy, len({id(each) for each in builds}), kernel.speed(best, pairs)))
        print(kernel.name, *searched[-1], file=sys.stderr, flush=True)
    speeds = {
        name: [kernel.speed(kernel.build(name, rule), pairs) for kernel in kernels]
        for name, rule in rules().items()
    }
    rows = []
    for kernel, found, (rule, other) in zip(kernels, searched, held_out(speeds, len(kernels)), strict=True):
        policy, distinct, speed = found
        rows.append(
            {
                "kernel": kernel.name,
                "microseconds": statistics.median(kernel.plain.seconds) * 1e6,
                "programs": distinct,
                "policy": policy,
                "in_sample": speed,
                "rule": rule,
                "held_out": other,
            }
        )
    return rows


def main() -> None:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", default=",".join(sorted(path.stem for path in KERNELS.glob("*.c"))))
    parser.add_argument("--policies", type=int, default=100)
    parser.add_argument("--pairs", type=int, default=60)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(args.kernels.split(","), args.policies, args.pairs, Path(folder))
    table = Table(*rows[0], title="speed relative to -O3, medians of pairs")
    for row in rows:
        table.add_row(*(f"{each:.3f}" if isinstance(each, float) else str(each) for each in row.values()))
    means = [mean(float(str(row[name])) for row in rows) for name in ("in_sample", "held_out")]
    Console(width=110).print(table, f"geometric mean: {means[0]:.3f} in-sample, {means[1]:.3f} held out")
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / "vectorize.json").write_text(json.dumps({"kernels": rows, "means": means}, indent=1))


if __name__ == "__main__":
    main()
