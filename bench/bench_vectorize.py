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
import ctypes
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import passpilot  # noqa: E402
from passpilot.features.llvm.vectorize import INTERLEAVES, VECTOR_PLANS  # noqa: E402
from passpilot.passes.shipped.vectorize import VECTORIZE  # noqa: E402

if TYPE_CHECKING:
    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

KERNELS: Final = ROOT / "bench" / "kernels"
FLAGS: Final = ("-O3", "-march=native", "-ffast-math", "-fPIC", "-fvisibility=hidden")
BATCH: Final = 0.002
"""Seconds of one timed run."""


@dataclass(slots=True)
class Build:
    """A compiled kernel, and the times of its runs in seconds per call."""

    policy: str
    library: ctypes.CDLL
    seconds: list[float] = field(default_factory=list)

    def check(self) -> float:
        """The sum of the results of three calls on fresh data."""
        self.library.check.restype = ctypes.c_double
        self.library.setup()
        self.library.repeat(ctypes.c_long(3))
        return float(self.library.check())

    def time(self, times: int) -> float:
        """Seconds per call in one run; kept in `seconds`."""
        start = time.thread_time()
        self.library.repeat(ctypes.c_long(times))
        self.seconds.append((time.thread_time() - start) / times)
        return self.seconds[-1]


class Kernel:
    """One kernel: its module before the passes, its plain build, and its builds by policy."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self._folder = name, folder
        bitcode = folder / f"{name}.bc"
        flags = (*FLAGS, "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-c")
        subprocess.run(["clang-22", *flags, KERNELS / f"{name}.c", "-o", bitcode], check=True)
        self._module = passpilot.Module.read(bitcode)
        self._known: dict[bytes, Build] = {}
        self.plain = self.build("-O3")
        self._expected = self.plain.check()
        self.times = 1
        while (took := self.plain.time(self.times) * self.times) < BATCH:
            self.times = max(self.times + 1, int(self.times * BATCH / max(took, 1e-7)))
        self.plain.seconds.clear()

    def build(self, policy: str, runner: RunnerLike = "") -> Build:
        """Compile with a runner or, without one, by LLVM alone; the same code is the same `Build`."""
        module = self._module.copy()
        if runner:
            with VECTORIZE.advisor(runner) as advisor:
                passpilot.optimize(
                    module, "default<O3>", [advisor], at={"vectorizer-start": "advised-vectorize"}
                )
        else:
            passpilot.optimize(module, "default<O3>")
        code = passpilot.emit(module, "obj", relocation_model="pic", opt_level=3)
        if code not in self._known:
            path = self._folder / f"{self.name}-{len(self._known)}.o"
            path.write_bytes(code)
            subprocess.run(["clang-22", "-shared", path, "-o", path.with_suffix(".so"), "-lm"], check=True)
            self._known[code] = Build(policy, ctypes.CDLL(str(path.with_suffix(".so"))))
            self._verify(self._known[code])
        return self._known[code]

    def _verify(self, build: Build) -> None:
        got = build.check()
        if build.policy != "-O3" and not math.isclose(got, self._expected, rel_tol=0.01):
            sys.exit(f"{self.name} by {build.policy}: expected {self._expected}, got {got}")

    def against_plain(self, build: Build, runs: int) -> float:
        """The least time of a build relative to that of -O3, over runs in turns."""
        for _ in range(runs):
            build.time(self.times)
            self.plain.time(self.times)
        return min(build.seconds) / min(self.plain.seconds[-len(build.seconds) :])

    def best(self, builds: Iterable[Build]) -> Build:
        """Select the fastest build by successive halving."""
        rivals = list({id(each): each for each in builds}.values())
        while len(rivals) > 1:
            scores = {id(each): self.against_plain(each, 6 if len(rivals) > 8 else 20) for each in rivals}
            rivals = sorted(rivals, key=lambda each: scores[id(each)])[: max(1, len(rivals) // 2)]
        return rivals[0]

    def speed(self, build: Build, pairs: int) -> float:
        """How many times as fast as -O3 a build is: the median over new runs in turns."""
        if build is self.plain:
            return 1.0
        return statistics.median(self.plain.time(self.times) / build.time(self.times) for _ in range(pairs))


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
    kernels = [Kernel(name, folder) for name in names]
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
