# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for the decisions that make a program smallest. The program has one unit, or many.

1. **@oz.** Every unit keeps the recipe of the policy if it suits it; so the result is not larger than that.
2. **Unwind tables** and the placement of blocks: every unit keeps the options that suit it.
3. **Pipelines.** Short pipelines behind the level are tried; every unit keeps the one that suits it.
4. **Starts.** A few simple policies compile all units once. Functions fall into components that no inlining
   crosses, so every component keeps the policy that makes it smallest; one more compilation joins them. Then
   units keep the machine outliner where it helps; before, it would hide what inlining is worth.
5. **Flips.** A compilation flips many decisions whose influence is disjoint; the sizes of the functions tell
   the flips apart (`influence`). Those that shrink their functions stay, and the next compilation builds on
   them. Every few compilations the whole is measured; flips that did not keep their promise are dropped where
   it did not shrink.

After a round of flips, the options and pipelines that suit fewer units are tried, then flips again.
The result is never larger than LLVM's own: only measured improvements of the whole are kept.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Final

from passpilot.plugin.origin import warn_user
from passpilot.plugin.version import MAJOR
from passpilot.runners.policy.bundle import find_bundle
from passpilot.runners.policy.prepare import policy_record
from passpilot.training.tuning.influence import component_sizes, components, disjoint
from passpilot.training.tuning.recipes import (
    EVICTION,
    OPTIONS,
    PLACED,
    POLICIES,
    SCHEDULE,
    SIZE_LEVELS,
    TAILS,
    UNROLLING,
    VECTORIZING,
)
from passpilot.training.tuning.study import Outcome, Study

if TYPE_CHECKING:
    from passpilot.training.tuning.study import Call
    from passpilot.training.tuning.unit import UnitChoice

LEVERS: Final = ("inline", "pipeline", "options")
"""What is searched."""

MORE_LEVERS: Final = ("size", "unroll", "vectorize", "eviction", "schedule")
"""What can be searched, too: the size level and the loops of functions, options of the allocator and of
schedulers."""

FIRST: Final = 2
"""So many pipelines are tried before the others, those that suit most units."""

FIRST_POLICY: Final = "@oz"
"""The policy whose recipe is tried first."""

STEPS: Final = 4
"""Steps of flips between two measurements of the whole."""


@dataclass(frozen=True, slots=True)
class Known:
    """What an earlier search found for a unit."""

    choice: UnitChoice
    unchanged: frozenset[str]
    """The functions whose decisions need no new search."""
    has_changed: bool = False
    """Whether there are other functions now."""


def _about_tables(choice: UnitChoice) -> list[str]:
    return [option for option in choice.options if option.startswith("unwind=")]


@dataclass
class Search(Study):
    """One search for a small program.

    Attributes:
        seed: of the order of flips; the same seed and budget of compilations give the same result.
        known: what an earlier search found for every unit, to begin with; empty for none.
        whole: whether all is searched behind what is known, not only what has changed.
        levers: those of `LEVERS` and `MORE_LEVERS` that are searched.
    """

    seed: int = 0
    known: Sequence[Known | None] = ()
    whole: bool = False
    levers: Collection[str] = LEVERS
    _random: random.Random = field(init=False)

    def search(self) -> None:
        self._random = random.Random(self.seed)
        phases: list[tuple[str, Callable[[], None]]] = [
            ("pipeline", self._policy),
            ("options", self._tables),
            ("pipeline", partial(self._tails, TAILS[:FIRST])),
            ("inline", self._starts),
            ("options", partial(self._options, OPTIONS[:1])),
            ("size", partial(self._functions, SIZE_LEVELS)),
            ("unroll", partial(self._functions, UNROLLING)),
            ("vectorize", partial(self._functions, VECTORIZING)),
            ("eviction", partial(self._more_options, EVICTION)),
            ("schedule", partial(self._more_options, SCHEDULE)),
            ("inline", self._round),
            ("options", partial(self._options, OPTIONS[1:])),
            ("pipeline", partial(self._tails, TAILS[FIRST:])),
            ("inline", self._rounds),
        ]
        if any(self.known):
            changed = any(known.has_changed for known in filter(None, self.known))
            starts = [("inline", self._starts)] * changed
            behind = phases if self.whole else [*starts, ("inline", self._rounds)]
            phases = [(next(iter(self.levers), ""), self._begin_with_known), *behind]
        origins = {self._tables: "unwind", self._policy: "policy", self._begin_with_known: "known"}
        for lever, phase in phases:
            if lever in self.levers:
                with self.credited(origins.get(phase, lever)):
                    phase()

    # --- The steps -----------------------------------------------------------------------------------------

    def _begin_with_known(self) -> None:
        """Take what an earlier search found."""
        self._try_one({number: known.choice for number, known in enumerate(self.known) if known})

    def _try_one(self, trial: Mapping[int, UnitChoice], *, joins: bool = False) -> Outcome | None:
        """Compile a trial, and take it if it is smaller."""
        (outcome,) = self.outcomes([trial], joins=joins)
        self.take(outcome)
        return outcome

    def _starts(self) -> None:
        """Give every component the policy that makes it smallest."""
        self._per_component([self.everywhere(policy=policy) for policy in POLICIES])

    def _functions(self, words: Sequence[str]) -> None:
        """Give every component the word of a decision file that makes it smallest, or none."""
        self._per_component(
            [
                {
                    number: replace(best.choice, functions=self.units[number].worded(best.choice, word))
                    for number, best in enumerate(self.best.units)
                }
                for word in words
            ]
        )

    def _per_component(self, trials: Sequence[Mapping[int, UnitChoice]]) -> None:
        """Join the trials: every component from the one that makes it smallest."""
        outcomes = [self.best, *filter(None, list(self.outcomes(trials)))]
        for outcome in outcomes:
            self.take(outcome)
        if len(outcomes) > 1:
            self._try_one(self._joined(outcomes), joins=True)

    def _joined(self, outcomes: Sequence[Outcome]) -> dict[int, UnitChoice]:
        """The decisions about every component from the outcome where it is smallest."""
        component_of = components([self.edges(outcome) for outcome in outcomes])
        sums = [component_sizes(outcome.sizes.functions, component_of) for outcome in outcomes]
        smallest = {
            component: min(range(len(outcomes)), key=lambda index: sums[index][component])
            for component in set(component_of.values()).union(*sums)
        }
        joined: dict[int, UnitChoice] = {}
        for number, best in enumerate(self.best.units):
            inline = {
                call: asked.inlined
                for index, outcome in enumerate(outcomes)
                for call, asked in outcome.units[number].asked.items()
                if smallest[component_of[self.scoped(number, call.caller)]] == index
            }
            functions = {
                name: words
                for index, outcome in enumerate(outcomes)
                for name, words in outcome.units[number].choice.functions.items()
                if smallest.get(component_of.get(key := self.scoped(number, name), key), 0) == index
            }
            joined[number] = replace(best.choice, inline=inline, functions=functions)
        return joined

    def _tails(self, tails: Sequence[str]) -> None:
        """Give every unit the pipeline behind the level that suits it."""
        self._per_unit([self.everywhere(tail=tail) for tail in tails])

    def _options(self, options: Sequence[tuple[str, ...]]) -> None:
        """Give every unit the options of code generation that suit it, beside those about unwind tables."""
        self._per_unit(
            [
                {
                    number: replace(best.choice, options=(*_about_tables(best.choice), *some))
                    for number, best in enumerate(self.best.units)
                }
                for some in options
            ]
        )

    def _policy(self) -> None:
        """Give every unit that it suits what the policy `FIRST_POLICY` has: a pipeline and options."""
        if "options" not in self.levers:
            return
        if find_bundle(FIRST_POLICY).llvm != MAJOR:
            warn_user(f"tune: {FIRST_POLICY} is for another LLVM than {MAJOR}, and is not tried first")
            return
        recipe = policy_record(FIRST_POLICY).recipe(FIRST_POLICY)
        trial = {}
        for number, unit in enumerate(self.units):
            options = [
                option
                for option in recipe.options_for(unit.module.triple)
                if unit.has_tables or not option.startswith("unwind=")
            ]
            choice = self.best.units[number].choice
            trial[number] = replace(choice, tail=recipe.pipeline, options=tuple(options))
        self._per_unit([trial])

    def _tables(self) -> None:
        """Give every unit the unwind tables that suit it."""
        modes = ("unwind=shared", "unwind=faults") if all(unit.has_tables for unit in self.units) else ("",)
        self._per_unit([self.everywhere(options=(*filter(None, (mode,)), *PLACED)) for mode in modes])

    def _more_options(self, options: Sequence[tuple[str, ...]]) -> None:
        """Add the options to those that a unit has."""
        self._per_unit(
            [
                {
                    number: replace(best.choice, options=(*best.choice.options, *some))
                    for number, best in enumerate(self.best.units)
                }
                for some in options
            ]
        )

    def _per_unit(self, trials: Sequence[Mapping[int, UnitChoice]]) -> None:
        """Give every unit the trial's choice that makes its part of the program smallest."""
        before = self.best
        smallest, chosen = list(before.sizes.objects), dict[int, "UnitChoice"]()
        outcomes = list(self.outcomes(trials))
        for outcome in filter(None, outcomes):
            for number, size in enumerate(outcome.sizes.objects):
                if size < smallest[number]:
                    smallest[number], chosen[number] = size, outcome.units[number].choice
        for result in outcomes:
            self.take(result)
        if chosen and len(self.units) > 1:
            plain = {number: unit.choice for number, unit in enumerate(before.units)}
            self._try_one({**plain, **chosen}, joins=True)

    # --- Flips ---------------------------------------------------------------------------------------------

    def _rounds(self) -> None:
        """Flip decisions until a whole round over all of them changes nothing."""
        while self.budget.remains:
            before = self.best.total
            self._round()
            if self.best.total == before:
                return

    def _round(self) -> None:
        """Flip every decision that is worthwhile once."""
        unchanged = [known.unchanged if known else frozenset() for known in self.known]
        calls: Sequence[Call] = self.worthwhile(self._random, unchanged)
        while calls and self.budget.remains:
            calls = self._flips(calls)

    def _flips(self, calls: Sequence[Call]) -> Sequence[Call]:
        """Some steps of flips, then a measurement of the whole; returns the calls that are still to flip."""
        decided = self.decided()
        sizes = dict(self.best.sizes.functions)
        kept: dict[Call, frozenset[str]] = {}
        for _ in range(STEPS):
            influence = self.influence(decided)
            batches: list[dict[Call, frozenset[str]]] = []
            trials: list[dict[int, UnitChoice]] = []
            while calls and (not trials or len(trials) < self.width(trials[0])):
                changed = [influence.of(self.edge(*call)) for call in calls]
                is_chosen = disjoint(changed)
                batches.append(dict(compress(zip(calls, changed, strict=True), is_chosen)))
                trials.append(self.flipped(decided, list(batches[-1])))
                calls = [call for call in calls if call not in batches[-1]]
            for batch, outcome in zip(batches, list(self.outcomes(trials)), strict=True):
                if outcome is None:
                    continue
                functions = outcome.sizes.functions
                for (number, call), names in batch.items():
                    if sum(sizes.get(name, 0) - functions.get(name, 0) for name in names) > 0:
                        kept[number, call] = names
                        decided[number][call] = not decided[number][call]
                        sizes.update({name: functions.get(name, 0) for name in names})
                for number in {number for number, _ in batch}:
                    for call, asked in outcome.units[number].asked.items():
                        decided[number].setdefault(call, asked.inlined)
            if not calls or not self.budget.remains:
                break
        self.measure_flips(kept)
        return [(number, call) for number, call in calls if call in self.best.units[number].asked]

    def measure_flips(self, kept: Mapping[Call, frozenset[str]]) -> None:
        """Measure the kept flips together; while the whole does not shrink, drop those that failed."""
        joins = True  # later measurements are part of the budget
        while kept:
            before, best, decided = self.best.sizes.functions, self.best, self.decided()
            known = [call for call in kept if call[1] in decided[call[0]]]
            outcome = self._try_one(self.flipped(decided, known), joins=joins)
            joins = False
            if outcome is None or self.best is not best:
                return
            after = outcome.sizes.functions
            gains = {
                call: sum(before.get(name, 0) - after.get(name, 0) for name in kept[call]) for call in known
            }
            good = [call for call in known if gains[call] > 0]
            if len(good) == len(kept):
                good = sorted(good, key=lambda call: -gains[call])[: len(good) // 2]
            kept = {call: kept[call] for call in good}
