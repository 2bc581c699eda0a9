# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures advised register allocation: the time of one question, and `passpilot llc` against stock llc.

The first table is from the advisor's own clock: finding the columns' registers, the runner, the check of the
answer and the count of evictions, without LLVM's feature extraction; the least of the rounds, because the
clock goes on while other programs have the processor, divided by `slowness`. Targets: native and `random:`
0.5 µs, Python 3 µs. The second is the processor time (user and system) of whole processes, run in turns, and
the ratio to stock llc in every round, with policies that echo the default; target: 1.25. Writes
bench/results/allocation.json.

usage: bench_allocation.py [PROGRAM [ROUNDS]]      (sqlite 5; the module should have 1 MB or more)
"""

from __future__ import annotations

import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from passpilot import EvictAdvisor, Module, PriorityAdvisor, emit
from passpilot.features.point import find_point
from passpilot.runners.native import function_runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from passpilot.runners.base import Runner
    from passpilot.runners.python import Observation

    Make = Callable[[str], str | Runner | Callable[..., object]]

ROOT: Final = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from bench.bars import Bar, arguments, settle  # noqa: E402
from bench.turns import in_turns, ratio, slowness, time_starts  # noqa: E402
from tests.passes.allocation.allocated import optimized  # noqa: E402

C_FUNCTIONS: Final = """
#include <stdint.h>
int evict(void *context, const void *const *inputs, void *output) {
  (void)context;
  const int64_t *mask = inputs[0];
  int64_t column = 32;
  while (!mask[column]) --column;
  *(int64_t *)output = column;
  return 0;
}
int priority(void *context, const void *const *inputs, void *output) {
  (void)context;
  *(double *)output = (double)*(const int64_t *)inputs[0];
  return 0;
}
"""

ECHO: Final = "def echo(obs):\n    return obs.default()\n"


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


def makers(folder: Path) -> dict[str, Make]:
    """The functions that make the compared runners for a decision point."""
    source, library = folder / "f.c", folder / "f.so"
    source.write_text(C_FUNCTIONS)
    subprocess.run(["clang-22", "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    code = ctypes.CDLL(str(library))

    def c_function(name: str) -> Runner:
        point = find_point(name)
        address = ctypes.cast(getattr(code, name), ctypes.c_void_p).value or 0
        inputs = [point.features[0]]
        return function_runner(address, inputs, point.advice)

    return {
        "C function": c_function,
        "random:1": lambda _: "random:1",
        "Python, one numpy view": lambda name: POLICIES[name],
    }


def questions(source: Path, rounds: int, folder: Path) -> tuple[dict[str, dict[str, float]], float]:
    """Microseconds per question, by runner and point, the least of the rounds; and `slowness`."""
    times: dict[str, dict[str, list[float]]] = {}
    starts: dict[str, list[float]] = {}
    for _ in range(rounds):
        time_starts(starts)
        for what, make in makers(folder).items():
            for advisor in (EvictAdvisor(make("evict")), PriorityAdvisor(make("priority"))):
                emit(Module.read(source), "obj", advisors=[advisor])
                row = times.setdefault(what, {}).setdefault(advisor.point, [])
                row.append(advisor.stats.microseconds_per_decision)
    slower = slowness(starts)
    least = {
        what: {name: min(values) / slower for name, values in row.items()} for what, row in times.items()
    }
    return least, slower


def processes(source: Path, rounds: int, folder: Path) -> dict[str, list[float]]:
    """Processor seconds of the commands, round by round; the objects must be equal."""
    (folder / "echo.py").write_text(ECHO)
    passpilot = Path(sys.executable).with_name("passpilot")
    common: list[str | Path] = ["-O2", "-filetype=obj", source, "-o"]
    echo = f"python:{folder}/echo.py:echo"
    commands: dict[str, list[str | Path]] = {
        "llc-22": ["llc-22", *common, folder / "stock.o"],
        "passpilot llc": [passpilot, "llc", *common, folder / "plain.o"],
        "... --evict=python": [passpilot, "llc", *common, folder / "evict.o", f"--evict={echo}"],
        "... --priority=python": [passpilot, "llc", *common, folder / "priority.o", f"--priority={echo}"],
        "... both": [passpilot, "llc", *common, folder / "both.o", f"--evict={echo}", f"--priority={echo}"],
    }
    times = in_turns(commands, rounds)
    objects = {path.read_bytes() for path in folder.glob("*.o")}
    assert len(objects) == 1, "the echo must give the object of stock llc"
    return times


def bars(asked: dict[str, dict[str, float]], ratios: dict[str, float]) -> list[Bar]:
    """What the figures may be."""
    limits = {"C function": 0.5, "random": 0.5, "Python": 3.0}
    made = [
        Bar(f"{what} at `{point}`, µs", value, limit)
        for what, row in asked.items()
        for start, limit in limits.items()
        if what.startswith(start)
        for point, value in row.items()
    ]
    return [*made, *(Bar(what, value, 1.25, "llc-22") for what, value in ratios.items() if what != "llc-22")]


def main() -> None:
    """Measure, print the tables, write the JSON."""
    given = arguments()
    name, count = (*given, *("sqlite", "5")[len(given) :])
    rounds = int(count)
    source = optimized(name)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        asked, slower = questions(source, rounds, folder)
        times = processes(source, rounds, folder)
    title = f"{name} after -O2 ({source.stat().st_size / 1e6:.1f} MB), {rounds} rounds"
    table = Table("runner", "evict, least µs", "priority, least µs", title=title)
    for what, row in asked.items():
        table.add_row(what, f"{row['evict']:.2f}", f"{row['priority']:.2f}")
    Console().print(table)
    ratios = {what: ratio(row, times["llc-22"]) for what, row in times.items()}
    table = Table("command", "processor seconds", "ratio to llc-22", title=title)
    for what, seconds in times.items():
        table.add_row(what, f"{statistics.median(seconds):.2f}", f"{ratios[what]:.3f}")
    Console().print(table)
    results = Path(__file__).with_name("results")
    results.mkdir(exist_ok=True)
    data = {"program": name, "rounds": rounds, "slowness": slower, "microseconds": asked}
    data |= {"seconds": times, "ratios": ratios}
    (results / "allocation.json").write_text(json.dumps(data, indent=1) + "\n")
    settle("allocation", *bars(asked, ratios))


if __name__ == "__main__":
    main()
