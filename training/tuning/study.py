# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Study`: compiles trials of a program within a budget, keeps the best outcome, and tells callbacks.

A trial is other choices for some units. `Search` and `SpeedSearch` are studies that say what to try.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from passpilot.plugin.errors import CompilationError, Error
from passpilot.plugin.process_end import finishing
from passpilot.training.tuning.influence import Edge, Influence
from passpilot.training.tuning.sizes import SizeMeasure, Sizes, scoped
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, Unit, UnitChoice

if TYPE_CHECKING:
    import random

    from passpilot.training.tuning.decision_file import CallKey
    from passpilot.training.tuning.engine import Engine

    Call = tuple[int, CallKey]
    """The number of a unit, and a call in it."""

    TrialCallback = Callable[["Study", "Trial"], object]

FOUND: Final = "what the search has found"


@dataclass(slots=True)
class Budget:
    """What a study may spend; `start` begins to count the time.

    Attributes:
        compiles: the compilations of units.
        seconds: the time.
        spent: the compilations so far.
        saved: the seconds that count although an earlier run has spent them.
        stopped: whether the rest is given up.
    """

    compiles: float = math.inf
    seconds: float = math.inf
    spent: int = 0
    saved: float = 0.0
    stopped: bool = False
    _began: float = field(default_factory=time.monotonic)

    def start(self) -> None:
        """Begin to count the time."""
        self._began = time.monotonic()

    def times(self, count: int) -> Budget:
        """The same for each of `count` units."""
        return Budget(self.compiles * count, self.seconds * count)

    @property
    def elapsed(self) -> float:
        """The seconds so far."""
        return time.monotonic() - self._began + self.saved

    @property
    def share(self) -> float:
        """The part that is spent, from 0 to 1."""
        return min(1.0, max(self.spent / self.compiles, self.elapsed / self.seconds))

    @property
    def remains(self) -> bool:
        """Whether there is something left to spend."""
        return not self.stopped and self.spent < self.compiles and self.elapsed < self.seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """What choices make of the program."""

    units: Sequence[Compiled]
    sizes: Sizes

    @property
    def total(self) -> float:
        """The bytes of machine code, or what else is to be small."""
        return self.sizes.total


class Trial(NamedTuple):
    """A measured trial, as callbacks see it."""

    number: int
    """Counted from 1; 0 is the start, with LLVM's own decisions."""
    value: float | None
    """The bytes, or what else is to be small; None if the trial changes nothing or there is no program."""
    compiles: int
    """The compilations of units so far."""
    seconds: float
    """The time so far."""


@dataclass
class Study:
    """Trials of one program.

    Attributes:
        units: the modules.
        engine: compiles them.
        measure: what is to be small.
        budget: what the study may spend.
        callbacks: called with the study and the `Trial` after each trial; they may call `stop`.
        name: the program's, for people.
        accepts: whether a smaller program may be taken; called with the start first.
        curve: compilations, seconds and bytes at the start and at each improvement.
        trials: how many there were.
        start: the outcome with LLVM's own decisions.
        best: the smallest one.
        seconds: the time, when `run` has ended.
        interrupted: whether Ctrl-C ended it.
        brought: by what was searched, how much smaller it has made the program.
        tried: the units of the trial that callbacks are called about.
        lever: what is searched now, as in `brought`; empty for the start.
    """

    units: Sequence[Unit]
    engine: Engine
    measure: SizeMeasure
    budget: Budget = field(default_factory=Budget)
    callbacks: Sequence[TrialCallback] = ()
    name: str = ""
    accepts: Callable[[Sequence[Compiled]], bool] = lambda _: True
    curve: list[tuple[int, float, float]] = field(default_factory=list)
    trials: int = 0
    start: Outcome = field(init=False)
    best: Outcome = field(init=False)
    seconds: float = field(init=False, default=0.0)
    interrupted: bool = field(init=False, default=False)
    brought: dict[str, float] = field(init=False, default_factory=dict)
    tried: Sequence[Compiled] = field(init=False, default=())
    lever: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self._visible = [unit.visible for unit in self.units]

    def run(self) -> Self:
        """Search until the budget is spent, or nothing improves any more; Ctrl-C ends it early with the best.

        Raises:
            Error: a unit does not compile with LLVM's own decisions, or the program does not link.
        """
        self.start = self.begin()
        try:
            self.search()
        except KeyboardInterrupt:
            self.interrupted = True
        with finishing(FOUND):
            self.confirm()
        self.seconds = self.budget.elapsed
        return self

    def search(self) -> None:
        """Compile trials, and take what is better."""

    def confirm(self) -> None:
        """Make sure at the end that the best outcome is better than the start."""

    @property
    def compiles(self) -> int:
        """The compilations of units so far."""
        return self.budget.spent

    @property
    def best_value(self) -> float:
        """The bytes of the best program so far, or what else is to be small."""
        return self.best.total

    def value_text(self, value: float) -> str:
        """A value of `Trial` or `best_value` for people."""
        return f"{value:.0f} bytes"

    def summary(self) -> str:
        """What this kind of study has found beside sizes, in words."""
        return ""

    def facts(self) -> dict[str, object]:
        """What the result of this kind of study has beside sizes."""
        return {}

    def stop(self) -> None:
        """End the study after the compilations at hand; what it has found so far is its result."""
        self.budget.stopped = True

    # --- Compiling -----------------------------------------------------------------------------------------

    def begin(self, choice: UnitChoice = LLVMS_OWN) -> Outcome:
        """Compile all units with one choice; this is the best outcome so far.

        Raises:
            Error: a unit does not compile, or the program does not link.
        """
        self.budget.start()
        compiled: list[Compiled] = []
        for result in self._compile([(number, choice) for number in range(len(self.units))]):
            if isinstance(result, Error):
                raise result
            compiled.append(result)
        self.best = Outcome(compiled, self.measure(compiled))
        self.accepts(compiled)
        self._note()
        self.report(self.best.total, compiled)
        return self.best

    def _compile(self, work: Sequence[tuple[int, UnitChoice]]) -> Sequence[Compiled | Error]:
        results = self.engine.compile(work)
        self.budget.spent += len(work)
        self.budget.saved = self.engine.saved
        return results

    def compile(self, trials: Sequence[Mapping[int, UnitChoice]]) -> list[list[Compiled]]:
        """The whole program of every trial. A unit that fails, or is not in the trial, is the best one."""
        work = [(number, choice) for trial in trials for number, choice in trial.items()]
        results = iter(self._compile(work))
        programs = []
        for trial in trials:
            program = list(self.best.units)
            for number in trial:
                result = next(results)
                if not isinstance(result, Error):
                    program[number] = result
            programs.append(program)
        return programs

    def outcomes(
        self, trials: Sequence[Mapping[int, UnitChoice]], *, joins: bool = False
    ) -> Iterator[Outcome | None]:
        """Compile and measure trials, as many at once as there are processors.

        Yields None for a trial that does not link, and for all trials after the budget is spent, unless the
        trial `joins` what was found; it would be lost.
        """
        first = 0
        while first < len(trials):
            if not joins and not self.budget.remains:
                yield from [None] * (len(trials) - first)
                return
            group = trials[first : first + self.width(trials[first])]
            first += len(group)
            for program in self.compile(group):
                outcome = None
                with suppress(CompilationError):
                    outcome = Outcome(program, self.measure(program))
                self.report(outcome.total if outcome else None, program)
                yield outcome

    def width(self, trial: Mapping[int, UnitChoice]) -> int:
        """How many trials like this one occupy all processors."""
        return max(1, -(-self.engine.jobs // max(1, len(trial))))

    def take(self, outcome: Outcome | None) -> bool:
        """Make a measured outcome the best one, if it is smaller and accepted."""
        if outcome is None or outcome.total >= self.best.total or not self.accepts(outcome.units):
            return False
        self.best = outcome
        self._note()
        return True

    @contextmanager
    def credited(self, lever: str) -> Iterator[None]:
        """Credit a lever with what the block gains."""
        before, self.lever = self.best.total, lever
        try:
            yield
        finally:
            if gain := before - self.best.total:
                self.brought[lever] = self.brought.get(lever, 0) + gain

    def _note(self) -> None:
        self.curve.append((self.budget.spent, self.budget.elapsed, self.best.total))

    def improves(self, value: float | None) -> bool:
        """Whether the trial that callbacks are called about is better than all before, and accepted."""
        if self.trials == 1:  # the start
            return True
        return value is not None and value < self.best.total and self.accepts(self.tried)

    def report(self, value: float | None, units: Sequence[Compiled]) -> None:
        """Tell the callbacks of a trial of these units."""
        self.tried = units
        trial = Trial(self.trials, value, self.budget.spent, self.budget.elapsed)
        self.trials += 1
        for callback in self.callbacks:
            callback(self, trial)

    # --- Choices and calls ---------------------------------------------------------------------------------

    def everywhere(self, **changes: Any) -> dict[int, UnitChoice]:
        """The best choices of all units with the same changes."""
        return {number: replace(unit.choice, **changes) for number, unit in enumerate(self.best.units)}

    def edge(self, number: int, call: CallKey) -> Edge:
        """A call by the names of its functions among those of the whole program."""
        return Edge(self.scoped(number, call.caller), self.scoped(number, call.callee))

    def scoped(self, number: int, function: str) -> str:
        """The name of a unit's function among those of the whole program."""
        return scoped(number, function, local=function not in self._visible[number])

    def edges(self, outcome: Outcome) -> dict[Edge, bool]:
        """Whether each call of the program is inlined."""
        return {
            self.edge(number, call): asked.inlined
            for number, unit in enumerate(outcome.units)
            for call, asked in unit.asked.items()
        }

    def decided(self) -> list[dict[CallKey, bool]]:
        """The decisions of the best outcome, by unit."""
        return [{call: asked.inlined for call, asked in unit.asked.items()} for unit in self.best.units]

    def influence(self, decided: Sequence[Mapping[CallKey, bool]]) -> Influence:
        """Which functions a call can change where these decisions are taken."""
        return Influence(
            self.edge(number, call)
            for number, calls in enumerate(decided)
            for call, inlined in calls.items()
            if inlined
        )

    def flipped(
        self, decided: Sequence[Mapping[CallKey, bool]], calls: Sequence[Call]
    ) -> dict[int, UnitChoice]:
        """The units of some calls with the decisions about these calls flipped."""
        inline = {number: dict(decided[number]) for number, _ in calls}
        for number, call in calls:
            inline[number][call] = not decided[number][call]
        return {
            number: replace(self.best.units[number].choice, inline=decisions)
            for number, decisions in inline.items()
        }

    def worthwhile(self, order: random.Random, unchanged: Sequence[frozenset[str]] = ()) -> list[Call]:
        """The calls whose flip can change the program, in the order to try them.

        Args:
            order: mixes them a little.
            unchanged: by unit, the functions whose calls are left out.
        """
        influence, owners = self.influence(self.decided()), self.best.sizes.owners
        found: list[tuple[float, Call]] = []
        for number, unit in enumerate(self.best.units):
            skipped = unchanged[number] if unchanged else ()
            asked = [(call, answer) for call, answer in unit.asked.items() if call.caller not in skipped]
            for inlined in (False, True):
                calls = [(answer.cost, call) for call, answer in asked if answer.inlined == inlined]
                calls.sort(key=lambda pair: pair[0], reverse=inlined)
                for rank, (_, call) in enumerate(calls):
                    holders = influence.holders(self.scoped(number, call.caller))
                    if any(owners.get(name) == number for name in holders):
                        found.append((rank / len(calls) + order.random() / 4, (number, call)))
        found.sort(key=lambda pair: pair[0])
        return [call for _, call in found]
