# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for the decisions that make a program smallest. The program has one unit, or many.

1. **Options** of code generation, such as the machine outliner: every unit keeps those that suit it.
2. **Pipelines.** Short pipelines behind the level are tried; every unit keeps the one that suits it.
3. **Starts.** A few simple policies compile all units once. Functions fall into components that no inlining
   crosses, so every component keeps the policy that makes it smallest; one more compilation joins them.
4. **Flips.** A compilation flips many decisions whose influence is disjoint; the sizes of the functions tell
   the flips apart (`influence`). Those that shrink their functions stay, and the next compilation builds on
   them. Every few compilations the whole is measured; flips that did not keep their promise are dropped where
   it did not shrink.

After a round of flips, the options and pipelines that suit fewer units are tried, then flips again.
The result is never larger than LLVM's own: only measured improvements of the whole are kept.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from passpilot.plugin.errors import CompilationError, Error
from passpilot.training.tuning.influence import Edge, Influence, components
from passpilot.training.tuning.recipes import (
    EVICTION,
    OPTIONS,
    POLICIES,
    SIZE_LEVELS,
    TAILS,
    UNROLLING,
)
from passpilot.training.tuning.sizes import scoped
from passpilot.training.tuning.unit import LLVMS_OWN

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from passpilot.training.tuning.decision_file import CallKey
    from passpilot.training.tuning.engine import Engine
    from passpilot.training.tuning.sizes import SizeMeasure, Sizes
    from passpilot.training.tuning.unit import Compiled, Unit, UnitChoice

    Call = tuple[int, CallKey]
    """The number of a unit, and a call in it."""

LEVERS: Final = ("inline", "pipeline", "options")
"""What is searched."""

MORE_LEVERS: Final = ("size", "unroll", "eviction")
"""What can be searched, too: the size level and unrolling of functions, and options of the allocator."""

FIRST: Final = 2
"""So many options and pipelines are tried before the others, those that suit most units."""

EVERY: Final = 4
"""Steps of flips between two measurements of the whole."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What choices make of the program."""

    made: Sequence[Compiled]
    sizes: Sizes

    @property
    def total(self) -> float:
        """The bytes of machine code, or what else is to be small."""
        return self.sizes.total


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier search found for a unit."""

    choice: UnitChoice
    unchanged: frozenset[str]
    """The functions whose decisions need no new search."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search."""

    best: Outcome
    start: Outcome
    """With LLVM's own decisions."""
    compiles: int
    seconds: float
    curve: Sequence[tuple[int, float, float]]
    """Compilations, seconds and bytes at each improvement."""
    interrupted: bool
    """Whether Ctrl-C ended the search."""


@dataclass
class Search:
    """One search.

    Attributes:
        units: the modules.
        engine: compiles them.
        measure: the size to make small.
        seed: of the order of flips; the same seed and budget of compilations give the same result.
        seconds: the time to search; infinite if only `compiles` counts.
        compiles: the compilations of units to spend.
        step: called after each group of compilations with the compilations so far and the best size.
        known: what an earlier search found for every unit, to begin with; empty for none.
        levers: those of `LEVERS` and `MORE_LEVERS` that are searched.
    """

    units: Sequence[Unit]
    engine: Engine
    measure: SizeMeasure
    seed: int = 0
    seconds: float = float("inf")
    compiles: float = float("inf")
    step: Callable[[int, float], None] = lambda _compiles, _best: None
    curve: list[tuple[int, float, float]] = field(default_factory=list)
    known: Sequence[Known | None] = ()
    levers: Collection[str] = LEVERS

    def run(self) -> Found:
        """Search until the budget is spent, or nothing improves any more; Ctrl-C ends it early with the best.

        Raises:
            Error: a unit does not compile with LLVM's own decisions, or the program does not link.
        """
        self._began, self._spent = time.monotonic(), 0
        self._random = random.Random(self.seed)
        self._visible = [unit.visible for unit in self.units]
        start = self._best = self._first()
        self._note()
        interrupted = False
        phases: list[tuple[str, Callable[[], None]]] = [
            ("options", partial(self._options, OPTIONS[:FIRST])),
            ("pipeline", partial(self._tails, TAILS[:FIRST])),
            ("inline", self._starts),
            ("size", partial(self._functions, SIZE_LEVELS)),
            ("unroll", partial(self._functions, UNROLLING)),
            ("eviction", partial(self._more_options, EVICTION)),
            ("inline", self._round),
            ("options", partial(self._options, OPTIONS[FIRST:])),
            ("pipeline", partial(self._tails, TAILS[FIRST:])),
            ("inline", self._rounds),
        ]
        if any(self.known):
            phases = [("inline", self._begin_with_known), ("inline", self._rounds)]
        try:
            for lever, phase in phases:
                if lever in self.levers:
                    phase()
        except KeyboardInterrupt:
            interrupted = True
        return Found(self._best, start, self._spent, self._elapsed(), self.curve, interrupted)

    # --- Compiling -----------------------------------------------------------------------------------------

    def _first(self) -> Outcome:
        made = self.engine.compile([(number, LLVMS_OWN) for number in range(len(self.units))])
        self._spent += len(made)
        for each in made:
            if isinstance(each, Error):
                raise each
        compiled = [each for each in made if not isinstance(each, Error)]
        return Outcome(compiled, self.measure(compiled))

    def _left(self) -> bool:
        return self._spent < self.compiles and self._elapsed() < self.seconds

    def _elapsed(self) -> float:
        return time.monotonic() - self._began + self.engine.saved

    def _compiled(
        self, trials: Sequence[Mapping[int, UnitChoice]], *, joins: bool = False
    ) -> Iterator[Outcome | None]:
        """Compile trials: other choices for some units. A unit that fails stays as it is.

        Yields None for a trial that does not link, and for all trials after the budget is spent, unless the
        trial `joins` what was found; it would be lost.
        """
        first = 0
        while first < len(trials):
            if not joins and not self._left():
                yield from [None] * (len(trials) - first)
                return
            size = self._width(trials[first])
            group = trials[first : first + size]
            first += size
            work = [(number, choice) for trial in group for number, choice in trial.items()]
            made = iter(self.engine.compile(work))
            self._spent += len(work)
            self.step(self._spent, self._best.total)
            for trial in group:
                whole = list(self._best.made)
                for number in trial:
                    compiled = next(made)
                    if not isinstance(compiled, Error):
                        whole[number] = compiled
                try:
                    sizes = self.measure(whole)
                except CompilationError:
                    yield None
                else:
                    yield Outcome(whole, sizes)

    def _width(self, trial: Mapping[int, UnitChoice]) -> int:
        """How many trials like this one occupy all processors."""
        return max(1, -(-self.engine.jobs // max(1, len(trial))))

    def _take(self, outcome: Outcome | None) -> bool:
        """Make a measured outcome the best one, if it is smaller."""
        if outcome is None or outcome.total >= self._best.total:
            return False
        self._best = outcome
        self._note()
        return True

    def _note(self) -> None:
        self.curve.append((self._spent, self._elapsed(), self._best.total))
        self.step(self._spent, self._best.total)

    def _everywhere(self, **changes: Any) -> dict[int, UnitChoice]:
        """All units, with the same changes of their choices."""
        return {number: replace(each.choice, **changes) for number, each in enumerate(self._best.made)}

    def edge(self, number: int, call: CallKey) -> Edge:
        """A call by the names of its functions among those of the whole program."""
        return Edge(self._scoped(number, call.caller), self._scoped(number, call.callee))

    def _scoped(self, number: int, function: str) -> str:
        return scoped(number, function, local=function not in self._visible[number])

    # --- The steps -----------------------------------------------------------------------------------------

    def _begin_with_known(self) -> None:
        """Take what an earlier search found."""
        choices = {number: each.choice for number, each in enumerate(self.known) if each}
        for outcome in self._compiled([choices]):
            self._take(outcome)

    def _starts(self) -> None:
        """Give every component the policy that makes it smallest."""
        self._per_component([self._everywhere(policy=policy) for policy in POLICIES])

    def _functions(self, words: Sequence[str]) -> None:
        """Give every component the word of a decision file that makes it smallest, or none."""
        self._per_component(
            [
                {
                    number: replace(each.choice, functions=self.units[number].worded(each.choice, word))
                    for number, each in enumerate(self._best.made)
                }
                for word in words
            ]
        )

    def _per_component(self, trials: Sequence[Mapping[int, UnitChoice]]) -> None:
        """Join the trials: every component from the one that makes it smallest."""
        made = [self._best]
        made += [outcome for outcome in self._compiled(trials) if outcome is not None]
        for start in made:
            self._take(start)
        if len(made) > 1:
            for outcome in self._compiled([self._joined(made)], joins=True):
                self._take(outcome)

    def _joined(self, made: Sequence[Outcome]) -> dict[int, UnitChoice]:
        """The decisions about every component from the outcome where it is smallest."""
        whole = components(
            [
                {
                    self.edge(number, call): asked.inlined
                    for number, compiled in enumerate(outcome.made)
                    for call, asked in compiled.asked.items()
                }
                for outcome in made
            ]
        )
        sums: list[dict[str, float]] = []
        for outcome in made:
            sizes: dict[str, float] = {}
            for name, size in outcome.sizes.functions.items():
                component = whole.get(name, name)
                sizes[component] = sizes.get(component, 0) + size
            sums.append(sizes)
        choice = {
            component: min(range(len(made)), key=lambda each: sums[each].get(component, 0))
            for component in set(whole.values()).union(*sums)
        }
        joined: dict[int, UnitChoice] = {}
        for number, compiled in enumerate(self._best.made):
            inline = {
                call: asked.inlined
                for each, outcome in enumerate(made)
                for call, asked in outcome.made[number].asked.items()
                if choice[whole[self.edge(number, call).caller]] == each
            }
            functions = {
                name: words
                for each, outcome in enumerate(made)
                for name, words in outcome.made[number].choice.functions.items()
                if choice.get(whole.get(key := self._scoped(number, name), key), 0) == each
            }
            joined[number] = replace(compiled.choice, inline=inline, functions=functions)
        return joined

    def _tails(self, tails: Sequence[str]) -> None:
        """Give every unit the pipeline behind the level that suits it."""
        self._per_unit([self._everywhere(tail=tail) for tail in tails])

    def _options(self, options: Sequence[tuple[str, ...]]) -> None:
        """Give every unit the options of code generation that suit it."""
        self._per_unit([self._everywhere(options=each) for each in options])

    def _more_options(self, options: Sequence[tuple[str, ...]]) -> None:
        """Add the options to those that a unit has."""
        self._per_unit(
            [
                {
                    number: replace(made.choice, options=(*made.choice.options, *each))
                    for number, made in enumerate(self._best.made)
                }
                for each in options
            ]
        )

    def _per_unit(self, trials: Sequence[Mapping[int, UnitChoice]]) -> None:
        """Give every unit the trial's choice that makes its part of the program smallest."""
        before = self._best
        smallest, chosen = list(before.sizes.objects), dict[int, "UnitChoice"]()
        outcomes = list(self._compiled(trials))
        for outcome in outcomes:
            if outcome is None:
                continue
            for number, size in enumerate(outcome.sizes.objects):
                if size < smallest[number]:
                    smallest[number], chosen[number] = size, outcome.made[number].choice
        for outcome in outcomes:
            self._take(outcome)
        if chosen and len(self.units) > 1:
            trial = {
                number: chosen.get(number, before.made[number].choice) for number in range(len(self.units))
            }
            for outcome in self._compiled([trial], joins=True):
                self._take(outcome)

    # --- Flips ---------------------------------------------------------------------------------------------

    def _rounds(self) -> None:
        """Flip decisions until a whole round over all of them changes nothing."""
        while self._left():
            before = self._best.total
            self._round()
            if self._best.total == before:
                return

    def _round(self) -> None:
        """Flip every decision that is worthwhile once."""
        todo = self._worthwhile()
        while todo and self._left():
            todo = self._flips(todo)

    def _worthwhile(self) -> list[Call]:
        """The calls whose flip can change the program, in the order to try them."""
        influence, owners = Influence(self._inlined(self._decided())), self._best.sizes.owners
        found: list[tuple[float, Call]] = []
        for number, compiled in enumerate(self._best.made):
            known = self.known[number] if self.known else None
            asked = [
                (call, each)
                for call, each in compiled.asked.items()
                if known is None or call.caller not in known.unchanged
            ]
            for inlined in (False, True):
                calls = [(each.cost, call) for call, each in asked if each.inlined == inlined]
                calls.sort(key=lambda each: each[0], reverse=inlined)
                for rank, (_, call) in enumerate(calls):
                    holders = influence.holders(self.edge(number, call).caller)
                    if any(owners.get(name) == number for name in holders):
                        found.append((rank / len(calls) + self._random.random() / 4, (number, call)))
        found.sort(key=lambda each: each[0])
        return [call for _, call in found]

    def _decided(self) -> list[dict[CallKey, bool]]:
        return [{call: each.inlined for call, each in compiled.asked.items()} for compiled in self._best.made]

    def _inlined(self, decided: Sequence[Mapping[CallKey, bool]]) -> Iterator[Edge]:
        for number, calls in enumerate(decided):
            for call, inlined in calls.items():
                if inlined:
                    yield self.edge(number, call)

    def _disjoint(self, influence: Influence, calls: Sequence[Call]) -> tuple[list[Call], list[Call]]:
        """Split calls into some whose influence is disjoint, taken in order, and the rest."""
        used: set[str] = set()
        chosen: list[Call] = []
        rest: list[Call] = []
        for number, call in calls:
            changed = influence.of(self.edge(number, call))
            if used.isdisjoint(changed):
                used |= changed
                chosen.append((number, call))
            else:
                rest.append((number, call))
        return chosen, rest

    def _flips(self, todo: list[Call]) -> list[Call]:
        """Some steps of flips, then a measurement of the whole; returns the calls that are still to flip."""
        decided = self._decided()
        sizes = dict(self._best.sizes.functions)
        kept: dict[Call, frozenset[str]] = {}
        for _ in range(EVERY):
            influence = Influence(self._inlined(decided))
            batches: list[list[Call]] = []
            trials: list[dict[int, UnitChoice]] = []
            while todo and (not trials or len(trials) < self._width(trials[0])):
                batch, todo = self._disjoint(influence, todo)
                batches.append(batch)
                trials.append(self._flipped(decided, batch))
            for batch, outcome in zip(batches, list(self._compiled(trials)), strict=True):
                if outcome is None:
                    continue
                functions = outcome.sizes.functions
                for number, call in batch:
                    changed = influence.of(self.edge(number, call))
                    if sum(sizes.get(name, 0) - functions.get(name, 0) for name in changed) > 0:
                        kept[number, call] = changed
                        decided[number][call] = not decided[number][call]
                        sizes.update({name: functions.get(name, 0) for name in changed})
                for number in {number for number, _ in batch}:
                    for call, each in outcome.made[number].asked.items():
                        decided[number].setdefault(call, each.inlined)
            if not todo or not self._left():
                break
        self._measure(kept)
        asked = [compiled.asked for compiled in self._best.made]
        return [(number, call) for number, call in todo if call in asked[number]]

    def _flipped(
        self, decided: Sequence[Mapping[CallKey, bool]], batch: Sequence[Call]
    ) -> dict[int, UnitChoice]:
        """The units of a batch with its decisions flipped."""
        inline = {number: dict(decided[number]) for number, _ in batch}
        for number, call in batch:
            inline[number][call] = not decided[number][call]
        return {
            number: replace(self._best.made[number].choice, inline=calls) for number, calls in inline.items()
        }

    def _measure(self, kept: Mapping[Call, frozenset[str]]) -> None:
        """Measure the kept flips together; while the whole does not shrink, drop those that failed."""
        joins = True  # later measurements are part of the budget
        while kept:
            before, decided = self._best.sizes.functions, self._decided()
            known = [call for call in kept if call[1] in decided[call[0]]]
            (outcome,) = self._compiled([self._flipped(decided, known)], joins=joins)
            joins = False
            if self._take(outcome) or outcome is None:
                return
            after = outcome.sizes.functions
            gains = {
                call: sum(before.get(name, 0) - after.get(name, 0) for name in kept[call]) for call in known
            }
            good = [call for call in known if gains[call] > 0]
            if len(good) == len(kept):
                good = sorted(good, key=lambda call: -gains[call])[: len(good) // 2]
            kept = {call: kept[call] for call in good}
