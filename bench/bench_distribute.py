# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-distribute` can gain over -O3, on the kernels of bench/kernels/distribution.

Each kernel is compiled without distribution, with distribution of every loop that LLVM can distribute, and
by the rule to distribute a loop if LLVM would vectorize a part of it without a check. The builds run in turns
with plain -O3, `--pairs` times. Writes bench/results/distribute.json.

usage: bench_distribute.py [--pairs 200]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench.kernel_timing import KERNELS, Kernel  # noqa: E402
from passpilot.passes.shipped.distribute import DISTRIBUTE  # noqa: E402

if TYPE_CHECKING:
    from passpilot.runners.python import Observation


def rule(obs: Observation) -> bool:
    """Distribute if that lets LLVM vectorize, and costs no check."""
    return obs["vectorized"].item() > 0 and not obs["is_checked"].item()


def main() -> None:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=200)
    pairs = parser.parse_args().pairs
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted((KERNELS / "distribution").glob("*.c")):
            kernel = Kernel(source, Path(folder), DISTRIBUTE)
            every, ruled = kernel.build("every loop", "const:1"), kernel.build("the rule", rule)
            speed = kernel.speed(every, pairs)
            speeds = [speed, speed if ruled is every else kernel.speed(ruled, pairs)]
            microseconds = statistics.median(kernel.plain.seconds) * 1e6
            rows.append(
                {
                    "kernel": kernel.name,
                    "microseconds": microseconds,
                    "every loop": speeds[0],
                    "the rule": speeds[1],
                }
            )
    table = Table(*rows[0], title="speed relative to -O3, medians of pairs")
    for row in rows:
        table.add_row(*(f"{each:.3f}" if isinstance(each, float) else str(each) for each in row.values()))
    Console(width=110).print(table)
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / "distribute.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
