# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures what a question of the advised allocator costs beyond its features, by point and runner.

The time is from the advisor's own clock, which starts when the features are written: the runner and the check
of the answer. A C function takes the first legal column; a Python policy takes the default, or reads a tensor
and takes the default. Runners take turns. The figures are the least of all rounds, because the clock goes on
while other programs have the processor: on a busy machine a mean of some hundred questions is mostly theirs.
They are divided by `slowness`. All four points are asked in one compilation; the bars are 0.5 µs in C and
2 µs in Python. `ra-split` is also asked alone, where its questions are so rare that the interpreter's code
and data are no longer in the processor's caches. That time is the machine's memory's, so Python's bars there
are multiples of the C function's time in the same run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import passpilot
from bench.lib import Bar, command, in_turns, settle, show, slowness, starts
from bench.lib.native import c_function
from passpilot import Module, emit, find_point
from passpilot.runners.base import own_features
from passpilot.runners.native import function_runner
from tests.passes.allocation.allocated import optimized
from tests.passes.allocator.steps import POINTS, advised_allocator

if TYPE_CHECKING:
    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

C_FUNCTION: Final = "C function"
DEFAULT: Final = "Python, takes the default"
VIEW: Final = "Python, reads a view"
LIMITS: Final = {C_FUNCTION: 0.5, DEFAULT: 2.0, VIEW: 2.0}
ALONE: Final = "ra-split alone"
MULTIPLES: Final = {DEFAULT: 15, VIEW: 20}
"""What Python may take at `ra-split` alone, relative to the C function there."""
FIRST_LEGAL: Final = """
  const int64_t *mask = inputs[0];
  int64_t column = 0;
  while (!mask[column])
    ++column;
  *(int64_t *)output = column;
"""


def takes_default(obs: Observation) -> object:
    return obs.default()


def reads_view(obs: Observation) -> object:
    return obs.default() if obs["size"].item(0) >= 0 else 0


def microseconds(source: Path, points: Sequence[str], make: Callable[[str], RunnerLike]) -> dict[str, float]:
    """The mean time of the points' questions in one code generation that asks these points."""
    with ExitStack() as stack:
        advisors = [stack.enter_context(passpilot.advisor(point, make(point))) for point in points]
        stack.enter_context(advised_allocator())
        emit(Module.read(source), "obj", advisors=advisors, relocation_model="pic")
        return {advisor.point: advisor.stats.microseconds_per_decision for advisor in advisors}


@command
def main(program: str = "picosat", rounds: int = 10) -> None:
    source = optimized(program)
    with tempfile.TemporaryDirectory() as folder:
        address = c_function(Path(folder, "decide.so"), FIRST_LEGAL)

        def in_c(name: str) -> RunnerLike:
            point = find_point(name)
            return function_runner(address, own_features(point), point.advice)

        makers: dict[str, Callable[[str], RunnerLike]] = {
            C_FUNCTION: in_c,
            DEFAULT: lambda _: takes_default,
            VIEW: lambda _: reads_view,
        }

        def together(make: Callable[[str], RunnerLike]) -> dict[str, float]:
            alone = microseconds(source, ("ra-split",), make)["ra-split"]
            return {**microseconds(source, POINTS, make), ALONE: alone}

        measures = {kind: partial(together, make) for kind, make in makers.items()}
        clocks = {
            name: partial(lambda measure: {"": measure()}, measure) for name, measure in starts().items()
        }
        times = in_turns({**measures, **clocks}, rounds)
    slower = slowness({name: [row[""] for row in times[name]] for name in clocks})
    rows = {
        kind: {column: min(row[column] for row in times[kind]) / slower for column in (*POINTS, ALONE)}
        for kind in makers
    }
    show(f"µs per question, least of {rounds}", "runner", rows)
    alone = {kind: row.pop(ALONE) for kind, row in rows.items()}
    settle(
        *(
            Bar(f"{kind} at `{point}`, µs", value, LIMITS[kind])
            for kind, row in rows.items()
            for point, value in row.items()
        ),
        Bar(f"C function at `{ALONE}`, µs", alone[C_FUNCTION], LIMITS[C_FUNCTION]),
        *(
            Bar(f"{kind} at `{ALONE}`", alone[kind] / alone[C_FUNCTION], most, "the C function")
            for kind, most in MULTIPLES.items()
        ),
    )
