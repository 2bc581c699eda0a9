# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gain against compilations of five searches for inlining decisions, side by side.

Independent flips alone, without starts, pipelines and the outliner, search every unit of UNITS for so many
seconds. The other searches may spend as many compilations as they did: ours, and ours without pipelines and
options; the local search of Theodoridis and others, ASPLOS 2022, where every site is flipped alone and the
keepers are joined, from two starts; and one random flip per compilation. Prints a table of the code size
relative to -Oz, and writes bench/results/search.json; units that are there with the same seconds are not
measured again. Fails if ours with half the compilations does not reach independent flips with all.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from statistics import geometric_mean
from typing import Any, Final

from bench.lib import Bar, command, read, require, show, write
from bench.lib.corpus import built
from passpilot.plugin.errors import Error
from passpilot.plugin.module import Module
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.recipes import POLICIES
from passpilot.training.tuning.search import LEVERS, Search
from passpilot.training.tuning.sizes import object_sizes
from passpilot.training.tuning.study import Budget
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, Unit, UnitChoice

UNITS: Final = (
    ("bullet", "src/BulletCollision/CollisionDispatch/btConvexConvexAlgorithm.cpp"),
    ("bullet", "src/BulletDynamics/Featherstone/btMultiBody.cpp"),
    ("bullet", "src/LinearMath/btConvexHullComputer.cpp"),
    ("box2d", "src/dynamics/b2_world.cpp"),
    ("box2d", "src/collision/b2_distance.cpp"),
    ("re2", "vendor/re2/dfa.cc"),
    ("re2", "vendor/re2/parse.cc"),
    ("re2", "vendor/re2/re2.cc"),
    ("libsvm", "cpp-source/svm.cpp"),
    ("zstd", "zstd/zstd.c"),
    ("lua", "src/lstrlib.c"),
    ("lua", "src/lparser.c"),
    ("lua", "src/lgc.c"),
    ("sqlite", "deps/sqlite3/sqlite3.c"),
)
JOBS: Final = 2
POINTS: Final = (0.25, 0.5, 1.0)
"""Parts of the compilations at which sizes are compared."""
RECORD: Final = "search.json"

FLIPS: Final = "independent flips"
Curve = list[tuple[int, float]]
"""Compilations, and the best size after them."""


class Bench:
    def __init__(self, unit: Unit, budget: int) -> None:
        self.engine, self.budget = Engine([unit], Machines(JOBS)), budget
        self.spent = 0
        self.curve: Curve = []

    def compile(self, choices: list[UnitChoice]) -> Iterator[tuple[Compiled, float]]:
        """Compile choices while there is budget; leaves out those that fail."""
        choices = choices[: max(0, self.budget - self.spent)]
        for first in range(0, len(choices), JOBS):
            for result in self.engine.compile([(0, choice) for choice in choices[first : first + JOBS]]):
                self.spent += 1
                if isinstance(result, Error):
                    continue
                size = object_sizes([result]).total
                if not self.curve or size < self.curve[-1][1]:
                    self.curve.append((self.spent, size))
                yield result, size

    @property
    def left(self) -> bool:
        return self.spent < self.budget


def flipped(compiled: Compiled, *calls: CallKey) -> UnitChoice:
    """All decisions of a compilation, some of them flipped."""
    inline = {call: asked.inlined for call, asked in compiled.asked.items()}
    return replace(compiled.choice, inline={**inline, **{call: not inline[call] for call in calls}})


def ours(unit: Unit, budget: int, levers: Collection[str] = LEVERS) -> Curve:
    engine = Engine([unit], Machines(JOBS))
    search = Search([unit], engine, object_sizes, Budget(budget), levers=levers)
    return [(compiles, size) for compiles, _, size in search.run().curve]


class FlipsAlone(Search):
    """Independent flips without the other steps."""

    def _starts(self) -> None:
        pass


def flips(unit: Unit, seconds: float) -> tuple[Curve, int]:
    """Independent flips, and how many compilations they took."""
    engine = Engine([unit], Machines(JOBS))
    found = FlipsAlone([unit], engine, object_sizes, Budget(seconds=seconds), levers=["inline"]).run()
    return [(compiles, size) for compiles, _, size in found.curve], found.compiles


def local(unit: Unit, budget: int) -> Curve:
    """The published local search, from no inlining and from LLVM's decisions."""
    bench = Bench(unit, budget)
    starts = list(bench.compile([LLVMS_OWN, UnitChoice(policy=POLICIES[0])]))
    for base, size in starts:
        best, least = base, size
        while bench.left:
            trials = [flipped(best, call) for call in best.asked]
            kept = []
            for call, (_, found) in zip(best.asked, bench.compile(trials), strict=False):
                if found < least:
                    kept.append(call)
            if not kept or not bench.left:
                break
            joined = list(bench.compile([flipped(best, *kept)]))
            if not joined or joined[0][1] >= least:
                break
            best, least = joined[0]
    return bench.curve


def single(unit: Unit, budget: int) -> Curve:
    """One random flip per compilation."""
    bench, draw = Bench(unit, budget), random.Random(1)
    ((best, least),) = bench.compile([LLVMS_OWN])
    while bench.left and best.asked:
        calls = [draw.choice(list(best.asked)) for _ in range(JOBS)]
        for compiled, size in bench.compile([flipped(best, call) for call in calls]):
            if size < least:
                best, least = compiled, size
    return bench.curve


SEARCHES: Final[dict[str, Callable[[Unit, int], Curve]]] = {
    "ours": ours,
    "ours, inlining alone": partial(ours, levers=["inline"]),
    "local search": local,
    "one flip": single,
}
NAMES: Final = ("ours", "ours, inlining alone", FLIPS, "local search", "one flip")


def size_at(curve: Curve, compiles: float) -> float:
    """The best size after some compilations, relative to the first."""
    return [size for spent, size in curve if spent <= max(compiles, curve[0][0])][-1] / curve[0][1]


def measured(unit: Unit, seconds: float) -> dict[str, Any]:
    """The curves of all searches of one unit, and the compilations that they may spend."""
    curve, budget = flips(unit, seconds)
    others = {name: search(unit, budget) for name, search in SEARCHES.items()}
    return {"compilations": budget, "curves": {FLIPS: curve, **others}}


def mean(rows: dict[str, Any], name: str, part: float) -> float:
    """The geometric mean of the sizes after a part of the compilations."""
    sizes = [size_at(row["curves"][name], part * row["compilations"]) for row in rows.values()]
    return geometric_mean(sizes)


@command
def main(seconds: float = 45.0) -> None:
    record = read(RECORD, {"seconds": seconds})
    rows: dict[str, Any] = record["units"] if record["seconds"] == seconds and "units" in record else {}
    for name, source in UNITS:
        path = built([name])[0].unit(source, "Oz")
        if path.stem not in rows:
            row = rows[path.stem] = measured(Unit(Module.read(path), "default<Oz>"), seconds)
            print(
                path.stem,
                row["compilations"],
                *(f"{mean({'': row}, key, 1):.4f}" for key in NAMES),
                flush=True,
            )
            write(RECORD, {"seconds": seconds, "units": rows})
    sizes = {
        name: {f"{part:.0%} of the compilations": mean(rows, name, part) for part in POINTS} for name in NAMES
    }
    show(f"size relative to -Oz, geometric mean of {len(rows)} units", "search", sizes)
    half, whole = mean(rows, "ours", 0.5), mean(rows, FLIPS, 1)
    require(Bar("ours with half the compilations", half, whole, "independent flips with all"))
