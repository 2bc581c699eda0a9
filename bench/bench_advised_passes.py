# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what `advised-unroll` and `advised-size` can gain, with random search in place of a model.

For every pass and program, several policies compile the linked program at O2: random ones (`random:1`, ...)
and, per choice, one that always makes this choice where it is legal (`always:1`, ...). Successive halving
selects one policy by runs of the program's driver, each next to a run of plain O2; then the selected program
and plain O2 run in turns, `--runs` times. The figures come only from these last runs: processor time relative
to O2, by medians and by minima, and code size relative to O2. The output of every run is checked.
`advised-unroll` minimizes time, `advised-size` minimizes code without costing time.
Writes bench/results/advised_passes.json.

usage: bench_advised_passes.py [--unroll libsvm,re2] [--size libsvm,picosat] [--policies 12] [--runs 15]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import passpilot  # noqa: E402
from passpilot.passes.shipped.size import SIZE  # noqa: E402
from passpilot.passes.shipped.unroll import UNROLL  # noqa: E402
from tests.corpus.build import build  # noqa: E402
from tests.corpus.programs import Program, programs  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from passpilot.passes.decision_point import DecisionPoint
    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

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
        assert isinstance(domain, passpilot.Choice)
        for choice in range(1, domain.count):
            yield f"always:{choice}", _always(choice)

    def score(self, binary: Binary, base: Binary) -> float:
        """The score to minimize; it takes the least time, as other work on the machine only adds time."""
        time = min(binary.seconds) / min(base.seconds)
        return binary.text_ratio + COST_OF_TIME * max(0.0, time - 1) if self.for_size else time


def _always(choice: int) -> Callable[[Observation], int]:
    """A policy that answers `choice` where it is legal, else 0, which leaves the decision to LLVM."""
    return lambda obs: choice if obs["mask"][0, choice] else 0


@dataclass(slots=True)
class Binary:
    """A compiled program, its code size (also relative to O2), and the times of its runs."""

    path: Path
    policy: str
    text: int
    text_ratio: float = 1.0
    seconds: list[float] = field(default_factory=list)


SEARCHES: Final = (
    Search("advised-unroll", "vectorizer-start", UNROLL, for_size=False),
    Search("advised-size", "pipeline-early-simplification", SIZE, for_size=True),
)


def compiled(program: Program, search: Search, folder: Path, policy: str, runner: RunnerLike = "") -> Binary:
    """Compile the program at O2, with a runner or, without one, by LLVM alone."""
    module = passpilot.Module.read(program.whole("O2"))
    if runner:
        with search.point.advisor(runner) as advisor:
            passpilot.optimize(module, "default<O2>", [advisor], at={search.at: search.name})
    else:
        passpilot.optimize(module, "default<O2>")
    binary = folder / policy.replace(":", "-")
    code = binary.with_suffix(".o")
    code.write_bytes(passpilot.emit(module, "obj", relocation_model="pic"))
    clang = "clang++-22" if program.lang == "c++" else "clang-22"
    subprocess.run([clang, code, "-o", binary, *program.libs], check=True)
    sizes = subprocess.run(["llvm-size-22", "-A", code], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in sizes.splitlines() if line.startswith(".text")]
    return Binary(binary, policy, sum(int(row[1]) for row in rows))


def seconds(program: Program, binary: Binary) -> float:
    """Processor time of one run of the driver; checks its output."""
    args = [argument.format(drv=program.source / "_driver") for argument in program.driver.args]
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen([binary.path, *args], stdin=subprocess.DEVNULL, stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        digest = hashlib.sha256(out.read()).hexdigest()
    if child.returncode or digest != program.driver.stdout_sha256:
        sys.exit(f"{program.name} by {binary.policy}: exit code {child.returncode}, output {digest}")
    return usage.ru_utime


def chosen(program: Program, search: Search, base: Binary, policies: int) -> Binary:
    """Select the best policy by successive halving; `policies` of them are random."""
    rivals = []
    for policy, runner in search.rivals(policies):
        made = compiled(program, search, base.path.parent, policy, runner)
        made.text_ratio = made.text / base.text
        rivals.append(made)
    while len(rivals) > 1:
        for rival in rivals * (2 if len(rivals) > 4 else 4):
            for binary in (rival, base):
                binary.seconds.append(seconds(program, binary))
        rivals = sorted(rivals, key=lambda rival: search.score(rival, base))[: max(1, len(rivals) // 2)]
    return rivals[0]


def measure(program: Program, search: Search, policies: int, runs: int) -> dict[str, object]:
    """Search for a policy, then compare it with O2 in new runs."""
    with tempfile.TemporaryDirectory() as folder:
        base = compiled(program, search, Path(folder), "O2")
        best = chosen(program, search, base, policies)
        pairs = [(seconds(program, best), seconds(program, base)) for _ in range(runs)]
    ours, theirs = zip(*pairs, strict=True)
    return {
        "pass": search.name,
        "program": program.name,
        "policy": best.policy,
        "runs": runs,
        "seconds": [statistics.median(theirs), statistics.median(ours)],
        "time": statistics.median(ours) / statistics.median(theirs),
        "time_paired": statistics.median(a / b for a, b in pairs),
        "time_least": min(ours) / min(theirs),
        "text": best.text_ratio,
    }


def main() -> None:
    """Measure, print, and write the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--unroll", default="libsvm,re2")
    parser.add_argument("--size", default="libsvm,picosat")
    parser.add_argument("--policies", type=int, default=12)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    rows = []
    for search, names in zip(SEARCHES, (args.unroll, args.size), strict=True):
        build(wanted := [name for name in names.split(",") if name])
        for name in wanted:
            rows.append(measure(programs()[name], search, args.policies, args.runs))
            print(rows[-1], file=sys.stderr, flush=True)
    columns = ("pass", "program", "policy", "time", "time_paired", "time_least", "text")
    table = Table(*columns, title="beside O2: processor time by medians, of pairs, by minima; code size")
    for row in rows:
        table.add_row(
            *(f"{row[name]:.3f}" if isinstance(row[name], float) else str(row[name]) for name in columns)
        )
    Console().print(table)
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    (results / "advised_passes.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
