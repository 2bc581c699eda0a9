# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for the decisions that make a program fast, by running it.

The time of a run does not tell which function became faster, so a trial changes many decisions at once. Every
trial runs in turns with the best program so far, on one processor. It becomes the best one if it prints the
same and the 95 % interval of the ratio of their times is below 1.

1. **Policies and pipelines** everywhere.
2. **Halves.** The same in a random half of the units.
3. **Flips** of random decisions.

In the end LLVM's own program and the best one run in turns again, with the inputs of the search and with
inputs that it has not seen. If the first do not show a clear gain, the result is LLVM's own.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import CompilationError, Error, InputError
from passpilot.training.evaluation.commands import Commands
from passpilot.training.evaluation.driver import DriverRuns
from passpilot.training.tuning.recipes import (
    EVICTION,
    SPEED_POLICIES,
    SPEED_SIZE_LEVELS,
    SPEED_TAILS,
    SPEED_UNROLLING,
)
from passpilot.training.tuning.search import LEVERS, Found, Outcome
from passpilot.training.tuning.sizes import Sizes
from passpilot.training.tuning.unit import LLVMS_OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from passpilot.training.corpus.layout import ProgramRun
    from passpilot.training.evaluation.results import RunTime
    from passpilot.training.tuning.engine import Engine
    from passpilot.training.tuning.sizes import LinkedSizes
    from passpilot.training.tuning.unit import Compiled, Unit, UnitChoice

SCREENING: Final = 4
"""Pairs of runs after which a trial that is not faster is given up."""

PAIRS: Final = 20
"""Pairs of runs before a trial is taken."""

CONFIRMING: Final = 40
"""Pairs of runs of the result."""

IDLE: Final = 20
"""Trials in a row that change nothing, after which the search ends."""

FLIPPED: Final = (0.02, 0.1, 0.3)
"""Parts of the decisions that a trial flips."""

WORDED: Final = (1.0, 0.3)
"""Parts of the functions that a trial decides about."""


@dataclass
class SpeedSearch:
    """One search for speed.

    Attributes:
        units: the modules.
        engine: compiles them.
        linker: links the program.
        runs: what is timed.
        unseen: runs for the end, with inputs that the search does not see.
        seed: of what is tried.
        seconds: the time to search.
        compiles: the compilations of units to spend.
        deadline: the seconds that one run may take.
        step: called after each trial with the compilations so far, and the time relative to the start.
        levers: those of `LEVERS` and `MORE_LEVERS` that are searched.
    """

    units: Sequence[Unit]
    engine: Engine
    linker: LinkedSizes
    runs: Sequence[ProgramRun]
    unseen: Sequence[ProgramRun] = ()
    seed: int = 0
    seconds: float = math.inf
    compiles: float = math.inf
    deadline: float = 60.0
    step: Callable[[int, float], None] = lambda _compiles, _ratio: None
    curve: list[tuple[int, float, float]] = field(default_factory=list)
    levers: Collection[str] = LEVERS
    confirmed: RunTime | None = None
    """The result's time relative to LLVM's own, with the inputs of the search."""
    confirmed_unseen: RunTime | None = None
    """The same with the other inputs."""

    def run(self) -> Found:
        """Search until the budget is spent; Ctrl-C ends it early with the best.

        Raises:
            Error: a unit does not compile with LLVM's own decisions, or the program does not link or run.
        """
        self._began, self._spent, self._ratio = time.monotonic(), 0, 1.0
        self._random, self._commands = random.Random(self.seed), Commands()
        with tempfile.TemporaryDirectory(prefix="passpilot-speed-") as self._folder:
            start = self._best = self._first()
            self._note()
            interrupted = False
            try:
                idle = 0
                for choices in self._trials():
                    if not self._left() or idle == IDLE:
                        break
                    idle = 0 if self._try(choices) else idle + 1
            except KeyboardInterrupt:
                interrupted = True
            try:
                self._confirm(start)
            finally:
                self._commands.stop()
        return Found(
            self._outcome(self._best, self._ratio), self._outcome(start, 1.0), self._spent, self._elapsed(),
            self.curve, interrupted,
        )  # fmt: skip

    def _outcome(self, made: Sequence[Compiled], ratio: float) -> Outcome:
        return Outcome(made, Sizes(ratio, {}, {}, [0.0] * len(made)))

    def _elapsed(self) -> float:
        return time.monotonic() - self._began + self.engine.saved

    def _left(self) -> bool:
        return self._spent < self.compiles and self._elapsed() < self.seconds

    def _note(self) -> None:
        self.curve.append((self._spent, self._elapsed(), self._ratio))

    def told(self) -> str:
        """What the last measurement showed, in words."""
        if self.confirmed is None:
            return "no faster program found"
        text = f"run time {_interval(self.confirmed)}"
        if self.confirmed["high"] is None or self.confirmed["high"] >= 1:
            return f"{text}: not clearly faster, so the decisions are LLVM's own"
        return f"{text}, unseen inputs {_interval(self.confirmed_unseen)}" if self.confirmed_unseen else text

    # --- Programs ------------------------------------------------------------------------------------------

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _first(self) -> list[Compiled]:
        made = self.engine.compile([(number, LLVMS_OWN) for number in range(len(self.units))])
        self._spent += len(made)
        compiled = []
        for each in made:
            if isinstance(each, Error):
                raise each
            compiled.append(each)
        self.linker.link(compiled, self._path("start"))
        shutil.copy(self._path("start"), self._path("best"))
        drivers = self._drivers(self.runs)
        outcome = drivers.measure({"start": self._path("start")}, "start", 0)["start"]
        if outcome.output != "right":
            raise InputError(f"tune: expected a program that runs, got: {outcome.errors[0]}")
        return compiled

    def _drivers(self, runs: Sequence[ProgramRun]) -> DriverRuns:
        return DriverRuns(self._commands, runs, self.deadline, lambda: None)

    def _timed(self, runs: Sequence[ProgramRun], old: str, new: str, pairs: int) -> RunTime | None:
        """The time of `new` relative to `old`; None if `new` fails, hangs or prints something else."""
        linked = {"old": self._path(old), "new": self._path(new)}
        return self._drivers(runs).measure(linked, "old", pairs)["new"].time

    # --- Trials --------------------------------------------------------------------------------------------

    def _trials(self) -> Iterator[Mapping[int, UnitChoice]]:
        """What to compile, by the numbers of units; without end."""
        everything = range(len(self.units))
        changes = self._changes()
        for change in changes:
            yield {number: change(number) for number in everything}
        while True:
            half, change = (
                self._random.sample(everything, (len(everything) + 1) // 2),
                self._random.choice(changes),
            )
            yield {number: change(number) for number in half}
            if "inline" in self.levers:
                part = self._random.choice(FLIPPED)
                yield {number: self._flipped(number, part) for number in everything}

    def _changes(self) -> list[Callable[[int], UnitChoice]]:
        """What can be done to the unit of a number."""
        changes: list[Callable[[int], UnitChoice]] = []
        for lever, name, values in (
            ("inline", "policy", SPEED_POLICIES),
            ("pipeline", "tail", SPEED_TAILS),
            ("eviction", "options", EVICTION),
        ):
            if lever in self.levers:
                changes += [partial(self._replaced, name, value) for value in values]
        for lever, words in (("size", SPEED_SIZE_LEVELS), ("unroll", SPEED_UNROLLING)):
            if lever in self.levers:
                changes += [partial(self._worded, word) for word in words]
        return changes

    def _replaced(self, name: str, value: object, number: int) -> UnitChoice:
        return replace(self._best[number].choice, **{name: value})  # type: ignore[arg-type]

    def _worded(self, word: str, number: int) -> UnitChoice:
        """A unit's choice with a decision about a part of its functions."""
        choice, part = self._best[number].choice, self._random.choice(WORDED)
        wanted = self.units[number].worded(choice, word)
        functions = {
            name: words if self._random.random() < part else choice.functions.get(name, ())
            for name, words in wanted.items()
        }
        return replace(choice, functions={name: words for name, words in functions.items() if words})

    def _flipped(self, number: int, part: float) -> UnitChoice:
        """A unit's choice with a part of its decisions flipped."""
        made = self._best[number]
        flipped = {
            call: not asked.inlined for call, asked in made.asked.items() if self._random.random() < part
        }
        return replace(made.choice, inline={**made.choice.inline, **flipped})

    def _try(self, choices: Mapping[int, UnitChoice]) -> bool:
        """Compile a trial, and take it if it is clearly faster than the best; False if it changes nothing."""
        work = [(number, choice) for number, choice in choices.items() if choice != self._best[number].choice]
        made = self.engine.compile(work)
        self._spent += len(work)
        whole = list(self._best)
        for (number, _), each in zip(work, made, strict=True):
            if not isinstance(each, Error):
                whole[number] = each
        if all(new.code == old.code for new, old in zip(whole, self._best, strict=True)):
            return False
        try:
            self.linker.link(whole, self._path("trial"))
        except CompilationError:
            return True
        first = self._timed(self.runs, "best", "trial", SCREENING)
        if first is not None and first["ratio"] < 1:
            timed = self._timed(self.runs, "best", "trial", PAIRS)
            if timed is not None and timed["high"] is not None and timed["high"] < 1:
                self._best, self._ratio = whole, self._ratio * timed["ratio"]
                os.replace(self._path("trial"), self._path("best"))
                self._note()
        self.step(self._spent, self._ratio)
        return True

    def _confirm(self, start: Sequence[Compiled]) -> None:
        """Time LLVM's own program and the best one again, and go back to LLVM's own without a clear gain."""
        if self._best is start:
            return
        self.confirmed = self._timed(self.runs, "start", "best", CONFIRMING)
        high = self.confirmed["high"] if self.confirmed else None
        if self.confirmed is None or high is None or high >= 1:
            self._best, self._ratio = list(start), 1.0
            return
        self._ratio = self.confirmed["ratio"]
        if self.unseen:
            self.confirmed_unseen = self._timed(self.unseen, "start", "best", CONFIRMING)


def _interval(timed: RunTime) -> str:
    return f"{timed['ratio']:.3f} ({timed['low']:.3f} to {timed['high']:.3f}, {timed['pairs']} pairs)"
