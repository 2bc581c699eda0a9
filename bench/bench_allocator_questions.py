# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what a question of the advised allocator costs beyond its features, by point and runner.

The time is from the advisor's own clock, which starts when the features are written: the runner and the check
of the answer. A C function takes the first legal column; a Python policy takes the default, or reads a tensor
and takes the default. Runners take turns. The figures are the least of all rounds, because the clock goes on
while other programs have the processor: on a busy machine a mean of some hundred questions is mostly theirs.
They are divided by `slowness`. All four points are asked in one compilation; the bars are 0.5 µs in C and
2 µs in Python. `ra-split` is also asked alone, where its questions are so rare that the interpreter's code
and data are no longer in the processor's caches. That time is the machine's memory's, so Python's bars there
are multiples of the C function's time in the same run. Writes bench/results/allocator_questions.json.

usage: bench_allocator_questions.py [PROGRAM] [ROUNDS]      (picosat, 10)
"""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from passpilot import Module, emit, find_point
from passpilot.passes.advisor import make_advisor
from passpilot.runners.base import own_features
from passpilot.runners.native import function_runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, arguments, settle  # noqa: E402
from bench.bench_decision import address, shared_library  # noqa: E402
from bench.turns import slowness, time_starts  # noqa: E402
from tests.passes.allocation.allocated import optimized  # noqa: E402
from tests.passes.allocator.steps import POINTS, advised_allocator  # noqa: E402

TARGETS: Final = {"C function": 0.5, "Python, takes the default": 2.0, "Python, reads a view": 2.0}
ALONE: Final = "ra-split alone"
MULTIPLES: Final = {"Python, takes the default": 15, "Python, reads a view": 20}
"""What Python may take at `ra-split` alone, relative to the C function there."""
FIRST_LEGAL: Final = """
#include <stdint.h>
int decide(void *context, const void *const *inputs, void *output) {
  const int64_t *mask = inputs[0];
  int64_t column = 0;
  (void)context;
  while (!mask[column])
    ++column;
  *(int64_t *)output = column;
  return 0;
}
"""


def takes_default(obs: Observation) -> object:
    """Reads nothing."""
    return obs.default()


def reads_view(obs: Observation) -> object:
    """Reads one element through a numpy view."""
    return obs.default() if obs["size"].item(0) >= 0 else 0


def runner(kind: str, point: str, decide: int) -> RunnerLike:
    """A new runner."""
    if kind == "C function":
        found = find_point(point)
        return function_runner(decide, own_features(found), found.advice)
    return takes_default if kind.endswith("default") else reads_view


def microseconds(source: Path, kind: str, points: Sequence[str], decide: int) -> dict[str, float]:
    """The mean time of the points' questions in one code generation that asks these points."""
    with ExitStack() as stack:
        advisors = [stack.enter_context(make_advisor(point, runner(kind, point, decide))) for point in points]
        stack.enter_context(advised_allocator())
        emit(Module.read(source), "obj", advisors=advisors, relocation_model="pic")
        return {advisor.point: advisor.stats.microseconds_per_decision for advisor in advisors}


def main() -> None:
    """Measure in turns, print the least, write the JSON, and fail beyond the targets."""
    given = arguments()
    name, count = (*given, *("picosat", "10")[len(given) :])
    source, rounds = optimized(name), int(count)
    times: dict[tuple[str, str], list[float]] = {}
    starts: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "decide.c").write_text(FIRST_LEGAL)
        library = shared_library(Path(folder), "decide", ["cc", Path(folder) / "decide.c"])
        for _ in range(rounds):
            time_starts(starts)
            for kind in TARGETS:
                decide = address(library.decide)
                taken = microseconds(source, kind, POINTS, decide)
                taken[ALONE] = microseconds(source, kind, ("ra-split",), decide)["ra-split"]
                for column, time in taken.items():
                    times.setdefault((kind, column), []).append(time)
    slower = slowness(starts)
    found = {
        kind: {column: min(times[kind, column]) / slower for column in (*POINTS, ALONE)} for kind in TARGETS
    }
    table = Table("runner", *POINTS, ALONE, title=f"µs per question, least of {rounds}")
    for kind, row in found.items():
        table.add_row(kind, *(f"{value:.2f}" for value in row.values()))
    Console().print(table)
    results = Path(__file__).with_name("results")
    results.mkdir(exist_ok=True)
    (results / "allocator_questions.json").write_text(json.dumps(found, indent=1) + "\n")
    alone = {kind: row.pop(ALONE) for kind, row in found.items()}
    least = alone["C function"]
    settle(
        "allocator_questions",
        *(
            Bar(f"{kind} at `{point}`, µs", value, TARGETS[kind])
            for kind, row in found.items()
            for point, value in row.items()
        ),
        Bar(f"C function at `{ALONE}`, µs", least, TARGETS["C function"]),
        *(
            Bar(f"{kind} at `{ALONE}`", alone[kind] / least, most, "the C function")
            for kind, most in MULTIPLES.items()
        ),
    )


if __name__ == "__main__":
    main()
