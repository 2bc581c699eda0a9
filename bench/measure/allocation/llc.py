# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures advised register allocation: the time of one question, and `passpilot llc` against stock llc.

The first table is from the advisor's own clock: finding the columns' registers, the runner, the check of the
answer and the count of evictions, without LLVM's feature extraction; the least of the rounds, because the
clock goes on while other programs have the processor, divided by `slowness`. Targets: native and `random:`
0.5 µs, Python 3 µs. The second is the processor time (user and system) of whole processes, run in turns, and
the ratio to stock llc in every round, with policies that echo the default; target: 1.25. The module should
have 1 MB or more.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import passpilot
from bench.lib.bars import Bar, settle
from bench.lib.command_line import command
from bench.lib.native import c_function
from bench.lib.tables import show
from bench.lib.turns import commands_in_turns, in_turns, least, medians, ratio, slowness, starts
from passpilot import Module, emit
from passpilot.features.point import find_point
from passpilot.runners.native import function_runner
from tests.command import PASSPILOT
from tests.passes.allocation.allocated import optimized

if TYPE_CHECKING:
    from passpilot.runners.python import Observation
    from passpilot.runners.spec import RunnerLike

POINTS: Final = ("evict", "priority")
BODIES: Final = {
    "evict": "int64_t column = 32; while (!((const int64_t *)inputs[0])[column]) --column;"
    " *(int64_t *)output = column;",
    "priority": "*(double *)output = (double)*(const int64_t *)inputs[0];",
}
"""In C: the last legal column, and the live range's size."""
LIMITS: Final = {"C function": 0.5, "random:1": 0.5, "Python, one numpy view": 3.0}


def last_legal(obs: Observation) -> object:
    """Answers the last legal column: evict nothing, where that is legal."""
    column = 32
    legal = obs["mask"].item
    while not legal(column):
        column -= 1
    return column


def size(obs: Observation) -> object:
    """Answers the live range's size: large ranges first."""
    return obs["li_size"].item()


POLICIES: Final = {"evict": last_legal, "priority": size}


def questions(source: Path, rounds: int, folder: Path) -> dict[str, dict[str, float]]:
    """Microseconds per question, by runner and point, the least of the rounds on a quiet machine."""
    addresses = {point: c_function(folder / f"{point}.so", body) for point, body in BODIES.items()}

    def in_c(name: str) -> RunnerLike:
        point = find_point(name)
        return function_runner(addresses[name], [point.features[0]], point.advice)

    def microseconds(make: Callable[[str], RunnerLike], point: str) -> float:
        with passpilot.advisor(point, make(point)) as advisor:
            emit(Module.read(source), "obj", advisors=[advisor])
            return advisor.stats.microseconds_per_decision

    makers: tuple[Callable[[str], RunnerLike], ...] = (in_c, lambda _: "random:1", POLICIES.__getitem__)
    runs: dict[str, Callable[[], float]] = {
        f"{kind} at {point}": partial(microseconds, make, point)
        for kind, make in zip(LIMITS, makers, strict=True)
        for point in POINTS
    }
    times = in_turns({**runs, **starts()}, rounds)
    fastest = least(times, slowness(times))
    return {kind: {point: fastest[f"{kind} at {point}"] for point in POINTS} for kind in LIMITS}


def processes(source: Path, rounds: int, folder: Path) -> dict[str, list[float]]:
    """Processor seconds of the commands, round by round; the objects must be equal."""
    (folder / "echo.py").write_text("def echo(obs):\n    return obs.default()\n")
    evict, priority = (f"--{point}=python:{folder}/echo.py:echo" for point in POINTS)
    lines: dict[str, list[str | Path]] = {
        "llc-22": ["llc-22"],
        "passpilot llc": [PASSPILOT, "llc"],
        "... --evict=python": [PASSPILOT, "llc", evict],
        "... --priority=python": [PASSPILOT, "llc", priority],
        "... both": [PASSPILOT, "llc", evict, priority],
    }
    common: list[str | Path] = ["-O2", "-filetype=obj", source, "-o"]
    commands = {
        name: [*line, *common, folder / f"{number}.o"] for number, (name, line) in enumerate(lines.items())
    }
    times = commands_in_turns(commands, rounds)
    assert len({path.read_bytes() for path in folder.glob("*.o")}) == 1, "the echo gives stock llc's object"
    return times


@command
def main(program: str = "sqlite", rounds: int = 5) -> None:
    source = optimized(program)
    with tempfile.TemporaryDirectory() as temporary:
        asked = questions(source, rounds, Path(temporary))
        times = processes(source, rounds, Path(temporary))
    title = f"{program} after -O2 ({source.stat().st_size / 1e6:.1f} MB), {rounds} rounds"
    show(f"{title}: least µs", "runner", asked)
    ratios = {what: ratio(seconds, times["llc-22"]) for what, seconds in times.items()}
    middle = medians(times)
    show(title, "command", {what: {"processor, s": middle[what], "ratio": ratios[what]} for what in times})
    settle(
        *(
            Bar(f"{what} at `{point}`, µs", value, LIMITS[what])
            for what, row in asked.items()
            for point, value in row.items()
        ),
        *(Bar(what, value, 1.25, "llc-22") for what, value in ratios.items() if what != "llc-22"),
    )
