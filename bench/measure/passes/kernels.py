# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the kernels of bench/kernels with decisions of a pass that asks, and measures them.

A kernel is a C file that includes kernel.h. It is compiled with -O3 -march=native -ffast-math to a shared
library, which is loaded into this process. The times are processor time of the calling thread, and builds
that are compared run in turns.
"""

from __future__ import annotations

import ctypes
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import passpilot
from bench.lib.records import ROOT

if TYPE_CHECKING:
    from passpilot.passes.decision_point import DecisionPoint
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

    def __init__(self, source: Path, folder: Path, point: DecisionPoint[int] | DecisionPoint[bool]) -> None:
        self.name, self._folder, self._point = source.stem, folder, point
        bitcode = folder / f"{self.name}.bc"
        flags = (*FLAGS, "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-c")
        subprocess.run(["clang-22", *flags, source, "-o", bitcode], check=True)
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
            with self._point.advisor(runner) as advisor:
                at = {"vectorizer-start": self._point.name}
                passpilot.optimize(module, "default<O3>", [advisor], at=at)
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
        """Select the fastest build: successive halving by least times, then by medians of the last four."""
        rivals = list({id(build): build for build in builds}.values())
        while len(rivals) > 4:
            scores = {id(rival): self.against_plain(rival, 6 if len(rivals) > 8 else 20) for rival in rivals}
            rivals = sorted(rivals, key=lambda rival: scores[id(rival)])[: len(rivals) // 2]
        return max((self.plain, *rivals), key=lambda build: self.speed(build, 40))

    def speed(self, build: Build, pairs: int) -> float:
        """How many times as fast as -O3 a build is: the median over new runs in turns."""
        if build is self.plain:
            return 1.0
        return statistics.median(self.plain.time(self.times) / build.time(self.times) for _ in range(pairs))
