# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-distribute` can gain over -O3, on the kernels of bench/kernels/distribution.

Each kernel is compiled without distribution, with distribution of every loop that LLVM can distribute, and
by the rule to distribute a loop if LLVM would vectorize a part of it without a check. The builds run in turns
with plain -O3, `--pairs` times.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.lib import command, show
from bench.measure.passes.kernels import KERNELS, Kernel
from passpilot.passes.shipped.distribute import DISTRIBUTE

if TYPE_CHECKING:
    from passpilot.runners.python import Observation


def rule(obs: Observation) -> bool:
    """Distribute if that lets LLVM vectorize, and costs no check."""
    return obs["vectorized"].item() > 0 and not obs["is_checked"].item()


@command
def main(*, pairs: int = 200) -> None:
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted((KERNELS / "distribution").glob("*.c")):
            kernel = Kernel(source, Path(folder), DISTRIBUTE)
            every, ruled = kernel.build("every loop", "const:1"), kernel.build("the rule", rule)
            speed = kernel.speed(every, pairs)
            rows[kernel.name] = {
                "µs": statistics.median(kernel.plain.seconds) * 1e6,
                "every loop": speed,
                "the rule": speed if ruled is every else kernel.speed(ruled, pairs),
            }
    show("speed relative to -O3, medians of pairs", "kernel", rows)
