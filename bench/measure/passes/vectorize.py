# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-vectorize` can gain over -O3, on the ten kernels of bench/kernels.

1. In-sample: `--policies` random policies compile each kernel; successive halving selects the fastest by
   timed runs, each next to a run of plain -O3. The selected one and plain -O3 then run in turns, `--pairs`
   times, and only these last runs count.
2. Rules: fixed policies, such as "LLVM's width, interleaved twice", are measured on each kernel. For each
   kernel, the rule that is best on the nine others is applied to it: what a fixed policy gains on programs
   that it was not selected on.

Kernels are compiled with -O3 -march=native -ffast-math. Results are checked against plain -O3's, to rounding.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.lib import command, geometric_means, show
from bench.lib.corpus import best_elsewhere
from bench.measure.passes.kernels import KERNELS, Kernel
from passpilot.features.llvm.vectorize import INTERLEAVES, VECTOR_PLANS
from passpilot.passes.shipped.vectorize import VECTORIZE

if TYPE_CHECKING:
    from passpilot.runners.python import Observation

NAMES: Final = ",".join(sorted(path.stem for path in KERNELS.glob("*.c")))


def allowed(obs: Observation, width: int, count: int) -> int:
    """The choice of a plan, or 0, LLVM's own, if the plan is not allowed."""
    choice = VECTOR_PLANS.index((width, count)) if (width, count) in VECTOR_PLANS else 0
    return choice if obs["mask"][0, choice] else 0


def scaled(factor: float, count: int, obs: Observation) -> int:
    """LLVM's width times a factor, with an interleave count."""
    return allowed(obs, int(obs["llvm_width"].item() * factor), count)


def rules() -> Mapping[str, Callable[[Observation], int]]:
    """The fixed policies by name."""
    policies: dict[str, Callable[[Observation], int]] = {"LLVM's own": lambda _: 0}
    for width, count in VECTOR_PLANS[1:]:
        policies[f"{width} x {count}"] = partial(lambda w, c, obs: allowed(obs, w, c), width, count)
    for factor in (0.5, 1, 2):
        for count in INTERLEAVES:
            policies[f"LLVM's width times {factor:g}, x {count}"] = partial(scaled, factor, count)
    return policies


def searched(kernel: Kernel, policies: int, pairs: int) -> dict[str, object]:
    """The fastest of random policies on one kernel."""
    builds = [kernel.build(f"random:{seed}", f"random:{seed}") for seed in range(policies)]
    best = kernel.best([kernel.plain, *builds])
    row = {
        "µs": statistics.median(kernel.plain.seconds) * 1e6,
        "programs": len({id(build) for build in builds}),
        "policy": best.policy,
        "in-sample": kernel.speed(best, pairs),
    }
    print(kernel.name, row, file=sys.stderr, flush=True)
    return row


@command
def main(*, kernels: str = NAMES, policies: int = 100, pairs: int = 60) -> None:
    with tempfile.TemporaryDirectory() as folder:
        built = [Kernel(KERNELS / f"{name}.c", Path(folder), VECTORIZE) for name in kernels.split(",")]
        rows = {kernel.name: searched(kernel, policies, pairs) for kernel in built}
        costs = {
            kernel.name: {
                name: 1 / kernel.speed(kernel.build(name, rule), pairs) for name, rule in rules().items()
            }
            for kernel in built
        }
    for name, row in rows.items():
        rule = best_elsewhere(costs, name, costs[name])
        row |= {"rule of the others": rule, "held out": 1 / costs[name][rule]}
    means = geometric_means(rows.values(), ("in-sample", "held out"))
    show("speed relative to -O3, medians of pairs", "kernel", rows, means)
