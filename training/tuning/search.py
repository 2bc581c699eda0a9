# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for the decisions that make one module smallest.

1. **Starts.** A few simple policies compile the module once each. Functions fall into components that no
   inlining crosses, so every component keeps the policy that makes it smallest; one more compilation joins
   them.
2. **Pipelines.** Short pipelines behind the level are tried on the result.
3. **Flips.** Each compilation flips many decisions whose influence is disjoint; the sizes of the functions
   tell the flips apart (`influence`). Those that shrink their functions stay, and the next compilation builds
   on them. Every few compilations the whole is measured; the worse half of the flips is dropped where it did
   not shrink.
4. **Outlining.** The machine outliner is tried on the result.

The result is never larger than LLVM's own: only measured improvements of the whole are kept.
"""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from passpilot.training.tuning.influence import Influence, components
from passpilot.training.tuning.unit import Asked, Candidate, settled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from passpilot.runners.python import Observation
    from passpilot.training.tuning.decision_file import CallKey
    from passpilot.training.tuning.unit import Outcome, Unit

TAILS: Final = (
    "function(constraint-elimination,correlated-propagation,jump-threading,"
    "instcombine<no-verify-fixpoint>,simplifycfg)",
    "mergefunc",
    "function(newgvn,instcombine<no-verify-fixpoint>,simplifycfg)",
    "function(gvn-hoist,gvn-sink,simplifycfg<sink-common-insts;hoist-common-insts>,"
    "instcombine<no-verify-fixpoint>)",
    "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,adce)",
    "function(jump-threading,correlated-propagation,simplifycfg,aggressive-instcombine)",
    "function(gvn,dse,instcombine<no-verify-fixpoint>,simplifycfg),globaldce,mergefunc",
    "function(reassociate,gvn,sccp,bdce,instcombine<no-verify-fixpoint>,simplifycfg)",
)
"""Pipelines that made some programs smaller behind default<Oz>."""

THRESHOLDS: Final = (-60, -20, 0, 15, 45)
"""Costs by LLVM's estimate up to which a policy of the first step inlines."""

EVERY: Final = 4
"""Rounds of flips between two measurements of the whole."""


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search."""

    candidate: Candidate
    """Only decisions that differ from LLVM's."""
    text: int
    start: int
    """The bytes of machine code with LLVM's own decisions."""
    calls: int
    """The questions of the last compilation."""
    compiles: int
    seconds: float
    curve: Sequence[tuple[int, float, int]]
    """Compilations, seconds and bytes at each improvement."""


@dataclass
class Search:
    """One search.

    Attributes:
        unit: the module.
        jobs: how many compilations run at once.
        seed: of the order of flips; the same seed and budget of compilations give the same result.
        seconds: the time to search; infinite if only `compiles` counts.
        compiles: the compilations to spend.
        step: called after each group of compilations with the compilations so far and the best size.
    """

    unit: Unit
    jobs: int = 1
    seed: int = 0
    seconds: float = float("inf")
    compiles: float = float("inf")
    step: Callable[[int, int], None] = lambda _compiles, _best: None
    curve: list[tuple[int, float, int]] = field(default_factory=list)

    def run(self) -> Found:
        """Search until the budget is spent, or nothing improves any more; Ctrl-C ends it early with the best.

        Raises:
            Error: the module does not compile with LLVM's own decisions.
        """
        self._began, self._spent = time.monotonic(), 1
        self._random = random.Random(self.seed)
        self._best = Candidate()
        self._outcome = self.unit.compile_one(self._best)
        start = self._outcome.text
        self._note()
        try:
            for phase in (self._starts, self._tails, self._rounds, self._outlined):
                phase()
        except KeyboardInterrupt:
            pass
        return Found(
            settled(self._best, self._outcome),
            self._outcome.text,
            start,
            len(self._outcome.asked),
            self._spent,
            time.monotonic() - self._began,
            self.curve,
        )

    # --- Compiling -----------------------------------------------------------------------------------------

    def _left(self) -> bool:
        return self._spent < self.compiles and time.monotonic() - self._began < self.seconds

    def _compiled(self, candidates: Sequence[Candidate]) -> Iterator[tuple[Candidate, Outcome]]:
        """Compile candidates in groups while there is budget; leaves out those that fail."""
        for first in range(0, len(candidates), self.jobs):
            if not self._left():
                return
            group = candidates[first : first + self.jobs]
            made = self.unit.compile(group)
            self._spent += len(group)
            self.step(self._spent, self._outcome.text)
            yield from ((each, outcome) for each, outcome in zip(group, made, strict=True) if outcome)

    def _take(self, candidate: Candidate, outcome: Outcome) -> bool:
        """Make a measured candidate the best one, if it is smaller."""
        if outcome.text >= self._outcome.text:
            return False
        self._best, self._outcome = settled(candidate, outcome), outcome
        self._note()
        return True

    def _note(self) -> None:
        self.curve.append((self._spent, time.monotonic() - self._began, self._outcome.text))
        self.step(self._spent, self._outcome.text)

    # --- The steps -----------------------------------------------------------------------------------------

    def _starts(self) -> None:
        """Give every component the policy that makes it smallest."""
        policies = [replace(self._best, policy=_below(limit)) for limit in THRESHOLDS]
        made = [self._outcome]
        for candidate, outcome in self._compiled([replace(self._best, policy=_never), *policies]):
            made.append(outcome)
            self._take(candidate, outcome)
        if len(made) > 1:
            self._join(made)

    def _join(self, made: Sequence[Outcome]) -> None:
        """Compile the module with each component's decisions from the compilation where it is smallest."""
        whole = components([outcome.asked for outcome in made])
        sizes: list[dict[str, int]] = []
        for outcome in made:
            sums: dict[str, int] = {}
            for name, size in outcome.symbols.items():
                component = whole.get(name, name)
                sums[component] = sums.get(component, 0) + size
            sizes.append(sums)
        choice = {
            component: min(range(len(made)), key=lambda number: sizes[number].get(component, 0))
            for component in set(whole.values())
        }
        inline = {
            call: each.inlined
            for number, outcome in enumerate(made)
            for call, each in outcome.asked.items()
            if choice[whole[call.caller]] == number
        }
        for candidate, outcome in self._compiled([replace(self._best, inline=inline)]):
            self._take(candidate, outcome)

    def _tails(self) -> None:
        """Try the pipelines behind the level."""
        best = self._best
        for candidate, outcome in self._compiled([replace(best, tail=tail) for tail in TAILS]):
            self._take(candidate, outcome)

    def _outlined(self) -> None:
        """Try the machine outliner on the result; it is measured even if the time is over."""
        candidate = replace(self._best, outline=True)
        (outcome,) = self.unit.compile([candidate])
        self._spent += 1
        if outcome:
            self._take(candidate, outcome)

    def _rounds(self) -> None:
        """Flip decisions until a whole round over all of them changes nothing."""
        while self._left():
            before = self._outcome.text
            todo = list(self._outcome.asked)
            self._random.shuffle(todo)
            while todo and self._left():
                todo = self._flips(todo)
            if self._outcome.text == before:
                return

    def _flips(self, todo: list[CallKey]) -> list[CallKey]:
        """Some steps of flips, then a measurement of the whole; returns the calls that are still to flip."""
        inline = {call: each.inlined for call, each in self._outcome.asked.items()}
        symbols, asked = dict(self._outcome.symbols), self._outcome.asked
        kept: list[tuple[int, CallKey]] = []
        for _ in range(EVERY):
            now = {call: Asked(inline.get(call, each.inlined), each.default) for call, each in asked.items()}
            influence = Influence(now)
            batches: list[list[CallKey]] = []
            while todo and len(batches) < self.jobs:
                batch, todo = influence.disjoint(todo)
                batches.append(batch)
            trials = [
                replace(self._best, inline={**inline, **{call: not inline[call] for call in batch}})
                for batch in batches
            ]
            batch_of = {id(trial): batch for trial, batch in zip(trials, batches, strict=True)}
            for trial, outcome in self._compiled(trials):
                for call in batch_of[id(trial)]:
                    changed = influence.of(call)
                    gain = sum(symbols.get(name, 0) - outcome.symbols.get(name, 0) for name in changed)
                    if gain > 0:
                        kept.append((gain, call))
                        inline[call] = trial.inline[call]
                        symbols.update({name: outcome.symbols.get(name, 0) for name in changed})
                asked = {**asked, **outcome.asked}
                inline = {**{call: each.inlined for call, each in outcome.asked.items()}, **inline}
            if not todo or not self._left():
                break
        self._measure(kept, inline)
        return [call for call in todo if call in self._outcome.asked]

    def _measure(self, kept: list[tuple[int, CallKey]], inline: Mapping[CallKey, bool]) -> None:
        """Measure the kept flips together; if the whole does not shrink, the better half, and so on."""
        kept = sorted(kept, reverse=True)
        known = {call: each.inlined for call, each in self._outcome.asked.items()}
        while kept:
            chosen = {call: inline[call] for _, call in kept}
            for candidate, outcome in self._compiled([replace(self._best, inline={**known, **chosen})]):
                if self._take(candidate, outcome):
                    return
            if not self._left():
                return
            kept = kept[: len(kept) // 2]


def _never(_: Observation) -> bool:
    return False


def _below(limit: int) -> Callable[[Observation], bool]:
    def decide(obs: Observation) -> bool:
        return bool(obs["cost_estimate"].item() < limit)

    return decide
