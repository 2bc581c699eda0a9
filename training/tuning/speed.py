# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for the decisions that make a program fast, by running it.

The time of a run does not tell which function became faster, so a trial changes many decisions at once. Every
trial runs in turns with the best program so far, on one processor. It becomes the best one if it prints the
same and the 95 % interval of the ratio of their times is below 1. If the instructions of the runs count,
which are exact, every program runs once.

1. **Policies and pipelines** everywhere.
2. **Halves.** The same in a random half of the units.
3. **Flips** of random decisions.

In the end LLVM's own program and the best one run in turns again, with the inputs of the search and with
inputs that it has not seen. If the first do not show a clear gain, the result is LLVM's own.
"""

from __future__ import annotations

import os
import platform
import random
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Self

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.training.corpus.layout import ProgramRun
from passpilot.training.timing.commands import Commands
from passpilot.training.timing.paired_times import RunTime
from passpilot.training.timing.program_runs import ProgramRuns
from passpilot.training.timing.run_counts import RunCounts
from passpilot.training.tuning.recipes import (
    EVICTION,
    SCHEDULE,
    SPEED_POLICIES,
    SPEED_SIZE_LEVELS,
    SPEED_TAILS,
    SPEED_UNROLLING,
    SPEED_VECTORIZING,
)
from passpilot.training.tuning.search import LEVERS, Known
from passpilot.training.tuning.sizes import LinkedSizes
from passpilot.training.tuning.study import Outcome, Study
from passpilot.training.tuning.unit import Compiled, UnitChoice

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


def run_hint(triple: str) -> str:
    """What to do about a program of another machine that does not run; empty for one of this machine."""
    machine, here = triple.partition("-")[0], platform.machine()
    is_alike = machine == here or (here == "x86_64" and machine in ("i386", "i486", "i586", "i686"))
    if is_alike and "linux" in triple:
        return ""
    emulated = " installs qemu, which runs programs for Linux as if they were of this machine;"
    install = f" sudo apt-get install qemu-user-static{emulated}" * ("linux" in triple)
    return f"; it is for {triple}, not for this machine:{install} --reward=mca estimates cycles without a run"


@dataclass
class SpeedSearch(Study):
    """One search for speed; `measure` is `start_time`, and all values are run times relative to the start.

    Attributes:
        seed: of what is tried.
        levers: those of `LEVERS` and `MORE_LEVERS` that are searched.
        linker: links the program.
        runs: what is timed.
        unseen: runs for the end, with inputs that the search does not see.
        deadline: the seconds that one run may take.
        executed: whether the instructions of the runs count, not their time.
        known: what another search has found for every unit, to try first; empty for nothing.
    """

    seed: int = 0
    levers: Collection[str] = LEVERS
    linker: LinkedSizes = field(kw_only=True)
    runs: Sequence[ProgramRun] = field(kw_only=True)
    unseen: Sequence[ProgramRun] = ()
    deadline: float = 60.0
    executed: bool = False
    known: Sequence[Known | None] = ()
    confirmed: RunTime | None = None
    """The result's time relative to LLVM's own, with the inputs of the search."""
    confirmed_unseen: RunTime | None = None
    """The same with the other inputs."""

    def run(self) -> Self:
        """See `Study`.

        Raises:
            Error: a unit does not compile with LLVM's own decisions, or the program does not link or run.
        """
        self._random, self._commands = random.Random(self.seed), Commands()
        self._counters: dict[tuple[ProgramRun, ...], RunCounts] = {}
        with tempfile.TemporaryDirectory(prefix="passpilot-speed-") as self.folder:
            try:
                return super().run()
            finally:
                self._commands.stop()

    def search(self) -> None:
        self._check_runs()
        idle = 0
        for choices in self._trials():
            if not self.budget.remains or idle == IDLE:
                return
            idle = 0 if self.attempt(choices) else idle + 1

    @property
    def what(self) -> str:
        """What is made small, for people."""
        return "instructions" if self.executed else "run time"

    def value_text(self, value: float) -> str:
        return f"{self.what} {value:.3f}"

    def facts(self) -> dict[str, object]:
        return {"confirmed": self.confirmed, "unseen": self.confirmed_unseen}

    def summary(self) -> str:
        """What the last measurement showed, in words."""
        if self.confirmed is None:
            return "no faster program found"
        text = f"{self.what} {_interval(self.confirmed)}"
        if self.confirmed["high"] is None or self.confirmed["high"] >= 1:
            return f"{text}: not clearly faster, so the decisions are LLVM's own"
        return f"{text}, unseen inputs {_interval(self.confirmed_unseen)}" if self.confirmed_unseen else text

    def improves(self, value: float | None) -> bool:  # noqa: ARG002  (only clear gains count)
        return self.best.units is self.tried

    # --- Programs ------------------------------------------------------------------------------------------

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _check_runs(self) -> None:
        """Link LLVM's own program, and make sure that it runs."""
        self.linker.link(self.start.units, self._path("start"))
        shutil.copy(self._path("start"), self._path("best"))
        outcome = self._drivers(self.runs).measure({"start": self._path("start")}, "start", 0)["start"]
        if outcome.output != "right":
            hint = run_hint(self.units[0].module.triple)
            raise InputError(f"tune: expected a program that runs, got: {outcome.errors[0]}{hint}")

    def _drivers(self, runs: Sequence[ProgramRun]) -> ProgramRuns:
        return ProgramRuns(self._commands, runs, self.deadline, lambda: None)

    def paired(self, runs: Sequence[ProgramRun], old: str, new: str, pairs: int) -> RunTime | None:
        """The time of `new` relative to `old`; None if `new` fails, hangs or prints something else."""
        if self.executed:
            counter = RunCounts(self._commands, runs, self.deadline)
            return self._counters.setdefault(tuple(runs), counter).ratio(self._path(old), self._path(new))
        linked = {"old": self._path(old), "new": self._path(new)}
        return self._drivers(runs).measure(linked, "old", pairs)["new"].time

    # --- Trials --------------------------------------------------------------------------------------------

    def _trials(self) -> Iterator[Mapping[int, UnitChoice]]:
        """What to compile, by the numbers of units; without end."""
        everything = range(len(self.units))
        changes = self._changes()
        if any(self.known):
            yield {number: known.choice for number, known in enumerate(self.known) if known}
        for change in changes:
            yield {number: change(number) for number in everything}
        while True:
            half = self._random.sample(everything, (len(everything) + 1) // 2)
            change = self._random.choice(changes)
            yield {number: change(number) for number in half}
            if "inline" in self.levers:
                part = self._random.choice(FLIPPED)
                yield {number: self._some_flipped(number, part) for number in everything}

    def _changes(self) -> list[Callable[[int], UnitChoice]]:
        """What can be done to the unit of a number."""
        changes: list[Callable[[int], UnitChoice]] = []
        for lever, name, values in (
            ("inline", "policy", SPEED_POLICIES),
            ("pipeline", "tail", SPEED_TAILS),
        ):
            if lever in self.levers:
                changes += [partial(self._replaced, name, value) for value in values]
        for lever, some in (("eviction", EVICTION), ("schedule", SCHEDULE)):
            if lever in self.levers:
                changes += [partial(self._optioned, options, some) for options in some]
        for lever, words in (
            ("size", SPEED_SIZE_LEVELS),
            ("unroll", SPEED_UNROLLING),
            ("vectorize", SPEED_VECTORIZING),
        ):
            if lever in self.levers:
                changes += [partial(self._worded, word) for word in words]
        return changes

    def _replaced(self, name: str, value: object, number: int) -> UnitChoice:
        return replace(self.best.units[number].choice, **{name: value})  # type: ignore[arg-type]

    def _optioned(
        self, options: tuple[str, ...], lever: Sequence[tuple[str, ...]], number: int
    ) -> UnitChoice:
        """A unit's choice with options in place of all those of a lever."""
        choice = self.best.units[number].choice
        others = {option for some in lever for option in some}
        kept = tuple(option for option in choice.options if option not in others)
        return replace(choice, options=(*kept, *options))

    def _worded(self, word: str, number: int) -> UnitChoice:
        """A unit's choice with a decision about a part of its functions."""
        choice, part = self.best.units[number].choice, self._random.choice(WORDED)
        functions = {
            name: words if self._random.random() < part else choice.functions.get(name, ())
            for name, words in self.units[number].worded(choice, word).items()
        }
        return replace(choice, functions={name: words for name, words in functions.items() if words})

    def _some_flipped(self, number: int, part: float) -> UnitChoice:
        """A unit's choice with a part of its decisions flipped."""
        best = self.best.units[number]
        flipped = {
            call: not asked.inlined for call, asked in best.asked.items() if self._random.random() < part
        }
        return replace(best.choice, inline={**best.choice.inline, **flipped})

    def attempt(self, choices: Mapping[int, UnitChoice]) -> bool:
        """Compile a trial, and take it if it is clearly faster than the best; False if it changes nothing."""
        best = self.best.units
        new = {number: choice for number, choice in choices.items() if choice != best[number].choice}
        (program,) = self.compile([new])
        is_new = any(unit.code != old.code for unit, old in zip(program, best, strict=True))
        ratio = self._ratio(program) if is_new else None
        self.report(ratio, program)
        return is_new

    def _ratio(self, program: Sequence[Compiled]) -> float | None:
        """The time of a program, which is taken if it is clearly faster; None if it cannot be timed."""
        try:
            self.linker.link(program, self._path("trial"))
        except CompilationError:
            return None
        timed = self.paired(self.runs, "best", "trial", SCREENING)
        if timed is not None and timed["ratio"] < 1:
            timed = self.paired(self.runs, "best", "trial", PAIRS)
            if timed is not None and timed["high"] is not None and timed["high"] < 1:
                os.replace(self._path("trial"), self._path("best"))
                self.take(self._outcome(program, self.best.total * timed["ratio"]))
                return self.best.total
        return self.best.total * timed["ratio"] if timed else None

    def _outcome(self, program: Sequence[Compiled], ratio: float) -> Outcome:
        return Outcome(program, self.best.sizes._replace(total=ratio))

    def confirm(self) -> None:
        """Time LLVM's own program and the best one again, and go back to LLVM's own without a clear gain."""
        if self.best is self.start:
            return
        self.confirmed = self.paired(self.runs, "start", "best", CONFIRMING)
        high = self.confirmed["high"] if self.confirmed else None
        if self.confirmed is None or high is None or high >= 1:
            self.best = self.start
            return
        self.best = self._outcome(self.best.units, self.confirmed["ratio"])
        if self.unseen:
            self.confirmed_unseen = self.paired(self.unseen, "start", "best", CONFIRMING)


@dataclass
class RunLimits:
    """Whether the runs of a program execute at most so many times the instructions of the first program.

    Raises:
        InputError: the first program does not run.
    """

    linker: LinkedSizes | None
    limits: Sequence[tuple[Sequence[ProgramRun], float]]
    deadline: float = 60.0
    _most: dict[int, float] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._counts = [RunCounts(Commands(), runs, self.deadline) for runs, _ in self.limits]

    def __call__(self, units: Sequence[Compiled]) -> bool:
        if self.linker is None or not self.limits:
            return True
        with tempfile.TemporaryDirectory(prefix="passpilot-count-") as folder:
            path = os.path.join(folder, "program")
            self.linker.link(units, path)
            return all(self._holds(number, path) for number in range(len(self.limits)))

    def _holds(self, number: int, path: str) -> bool:
        outcome = self._counts[number].outcome(path)
        if number not in self._most:
            if not outcome.instructions:
                raise InputError(f"tune: expected a program that runs, got: {outcome.errors[0]}")
            self._most[number] = outcome.instructions * self.limits[number][1]
        return outcome.instructions is not None and outcome.instructions <= self._most[number]


def _interval(timed: RunTime) -> str:
    if timed["low"] == timed["high"]:
        return f"{timed['ratio']:.4f}"
    return f"{timed['ratio']:.3f} ({timed['low']:.3f} to {timed['high']:.3f}, {timed['pairs']} pairs)"
