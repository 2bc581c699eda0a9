# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-unroll` and `advised-size` can gain, with random search in place of a model.

For every pass and program, several policies compile the linked program at O2: random ones (`random:1`, ...)
and, per choice, one that always makes this choice where it is legal (`always:1`, ...). Successive halving
selects one policy by runs of the program's driver, each next to a run of plain O2; then the selected program
and plain O2 run in turns, `--runs` times. The figures come only from these last runs: processor time relative
to O2, by medians and by minima, and code size relative to O2. The output of every run is checked.
`advised-unroll` minimizes time, `advised-size` minimizes code without costing time.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bench.lib import command, in_turns, ratio, show_rows
from bench.lib.corpus import built
from passpilot import Choice, Module, emit, optimize
from passpilot.passes.shipped.size import SIZE
from passpilot.passes.shipped.unroll import UNROLL
from passpilot.training.rewards import code_bytes
from tests.passes.allocation.allocated import link

if TYPE_CHECKING:
    from passpilot.passes.decision_point import DecisionPoint
    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike
    from tests.corpus.programs import Program

COST_OF_TIME: Final = 5.0
"""In the search for size, the relative code size that one relative unit of time costs."""


@dataclass(frozen=True)
class Search:
    """One pass, its extension point, and its goal."""

    name: str
    at: str
    point: DecisionPoint[int]
    for_size: bool

    def rivals(self, count: int) -> Iterator[tuple[str, RunnerLike]]:
        """Policies with their names: `count` random ones, and for every choice one that always makes it."""
        for seed in range(1, count + 1):
            yield f"random:{seed}", f"random:{seed}"
        domain = self.point.point().domain
        assert isinstance(domain, Choice)
        for choice in range(1, domain.count):
            yield f"always:{choice}", always(choice)

    def score(self, binary: Binary, base: Binary) -> float:
        """The score to minimize; it takes the least time, as other work on the machine only adds time."""
        time = min(binary.seconds) / min(base.seconds)
        return binary.code / base.code + COST_OF_TIME * max(0.0, time - 1) if self.for_size else time


def always(choice: int) -> Callable[[Observation], int]:
    """A policy that answers `choice` where it is legal, else 0, which leaves the decision to LLVM."""
    return lambda obs: choice if obs["mask"][0, choice] else 0


@dataclass(slots=True)
class Binary:
    """A compiled program, its code size, and the times of its runs."""

    program: Program
    path: Path
    policy: str
    code: int
    seconds: list[float] = field(default_factory=list)

    def run(self) -> float:
        """Processor time of one run of the driver, without the system's; checks its output."""
        words = [
            argument.format(drv=self.program.source / "_driver") for argument in self.program.driver.args
        ]
        with tempfile.TemporaryFile() as out:
            child = subprocess.Popen([self.path, *words], stdin=subprocess.DEVNULL, stdout=out)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            digest = hashlib.sha256(out.read()).hexdigest()
        if child.returncode or digest != self.program.driver.stdout_sha256:
            sys.exit(f"{self.program.name} by {self.policy}: exit code {child.returncode}, output {digest}")
        return usage.ru_utime


SEARCHES: Final = (
    Search("advised-unroll", "vectorizer-start", UNROLL, for_size=False),
    Search("advised-size", "pipeline-early-simplification", SIZE, for_size=True),
)


def compiled(program: Program, search: Search, folder: Path, policy: str, runner: RunnerLike = "") -> Binary:
    """Compile the program at O2, with a runner or, without one, by LLVM alone."""
    module = Module.read(program.whole("O2"))
    if runner:
        with search.point.advisor(runner) as advisor:
            optimize(module, "default<O2>", [advisor], at={search.at: search.name})
    else:
        optimize(module, "default<O2>")
    code = emit(module, "obj", relocation_model="pic")
    path = link(code, folder, *program.libs, lang=program.lang).rename(folder / policy.replace(":", "-"))
    return Binary(program, path, policy, code_bytes(code))


def chosen(program: Program, search: Search, base: Binary, policies: int) -> Binary:
    """Select the best policy by successive halving; `policies` of them are random."""
    rivals = [
        compiled(program, search, base.path.parent, policy, runner)
        for policy, runner in search.rivals(policies)
    ]
    while len(rivals) > 1:
        for rival in rivals * (2 if len(rivals) > 4 else 4):
            for binary in (rival, base):
                binary.seconds.append(binary.run())
        rivals = sorted(rivals, key=lambda rival: search.score(rival, base))[: max(1, len(rivals) // 2)]
    return rivals[0]


def measure(program: Program, search: Search, policies: int, runs: int) -> tuple[str | float, ...]:
    """Search for a policy, then compare it with O2 in new runs."""
    with tempfile.TemporaryDirectory() as folder:
        base = compiled(program, search, Path(folder), "O2")
        best = chosen(program, search, base, policies)
        times = in_turns({"ours": best.run, "O2": base.run}, runs)
    ours, theirs = times["ours"], times["O2"]
    figures = (
        statistics.median(ours) / statistics.median(theirs),
        ratio(ours, theirs),
        min(ours) / min(theirs),
    )
    return (search.name, program.name, best.policy, *figures, best.code / base.code)


@command
def main(
    *, unroll: str = "libsvm,re2", size: str = "libsvm,picosat", policies: int = 12, runs: int = 15
) -> None:
    rows = []
    for search, names in zip(SEARCHES, (unroll, size), strict=True):
        for program in built(name for name in names.split(",") if name):
            rows.append(measure(program, search, policies, runs))
            print(*rows[-1], file=sys.stderr, flush=True)
    heads = ("pass", "program", "policy", "time, medians", "time, pairs", "time, minima", "code")
    show_rows("beside O2: processor time and code size", heads, rows)
