# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts an advisor's decisions and fallbacks: `Stats`, the rows of ``--stats``, and their words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from passpilot.features.catalogue import HOOKED

if TYPE_CHECKING:
    from passpilot.plugin import _core

_OF_THE_CORE: Final = ("accepted", "agreed", "fallbacks", "budget_hits", "not_askable")
"""The counts of `Stats` that the core itself has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The counts of an advisor so far."""

    decisions: int = 0
    """All decisions: by the runner, by fallback, or by the default over a limit."""
    accepted: int = 0
    """Calls that the runner inlined, or decisions in which it chose a register to evict. 0 at points whose
    advice is neither yes or no nor about an eviction."""
    refused: int = 0
    """The runner's other decisions; all of them at such points."""
    agreed: int = 0
    """Decisions in which the runner agreed with LLVM's default, where that was computed."""
    fallbacks: int = 0
    """Decisions by LLVM's default because the runner failed (`on_error="default"`)."""
    budget_hits: int = 0
    """Calls that LLVM's default decided because the module had outgrown the size budget."""
    not_askable: int = 0
    """Decisions by LLVM's default where LLVM computes no features; not in `decisions`."""
    seconds: float = 0.0
    """The time in the runner, the custom features and the log; not that of LLVM's features and default."""

    @property
    def evictions(self) -> int:
        """Decisions in which an eviction policy chose a register."""
        return self.accepted

    @property
    def kept(self) -> int:
        """Decisions in which an eviction policy chose `DO_NOT_EVICT`."""
        return self.refused

    @property
    def microseconds_per_decision(self) -> float:
        """The mean time of one decision; 0 without decisions."""
        return 1e6 * self.seconds / self.decisions if self.decisions else 0.0


class DecisionCounts:
    """The counts of one advisor: those of its core, and those of compilations in child processes."""

    def __init__(self, core: _core.Advisor | None) -> None:
        self._core = core
        self._of_children: Mapping[str, float] = {}
        self._before = self.stats()

    def begin(self) -> None:
        """A compilation begins, for `new`."""
        self._before = self.stats()

    def new(self, name: str) -> int:
        """A count of the present compilation, by its name in `Stats`."""
        count: int = getattr(self.stats(), name) - getattr(self._before, name)
        return count

    def stats(self) -> Stats:
        """The counts so far; all 0 without a core."""
        counts = self.all()
        if not counts:
            return Stats()
        whole = {name: int(count) for name, count in counts.items()}
        return Stats(
            decisions=whole["asked"] + whole["fallbacks"] + whole["budget_hits"],
            refused=whole["asked"] - whole["accepted"],
            **{name: whole[name] for name in _OF_THE_CORE},
            seconds=counts["ask_seconds"],
        )

    def all(self) -> dict[str, float]:
        """The counts by the core's names; a child process sends them to `learn` in its parent."""
        own = self._core.counts if self._core else {}
        return {name: count + self._of_children.get(name, 0) for name, count in own.items()}

    def learn(self, sent: Mapping[str, float]) -> None:
        """Take over the counts of a child process, which began with those of this process."""
        own = self._core.counts if self._core else {}
        self._of_children = {name: count - own[name] for name, count in sent.items()}


class Words(NamedTuple):
    """What messages say about the advisors of one decision point."""

    nobody: str
    """What decides without a runner."""
    unasked: str
    """Why the runner may never be asked."""
    rows: Mapping[str, str]
    """The counts that ``--stats`` prints, each with its label."""
    hint: str = "return the decision itself"
    """The advice at the end of an error about a wrong answer."""


_DECISIONS: Final = {"decisions": "decisions"}
_AGREED: Final = {"agreed": "as the default, where it was computed"}
_FALLBACKS: Final = {"fallbacks": "fallbacks to the default"}
_REST: Final = {**_FALLBACKS, "not_askable": "decided by the default, not askable"}
_MASK: Final = "obs['mask'] tells which columns are legal"
_FAST: Final = "the register allocator asks nobody (as at -O0 or with -regalloc=fast), or"

_OF_LLVM: Final = {
    "inline": Words(
        "LLVM's own inliner",
        "the pipeline has no inliner that asks (as default<O2> and inliner-wrapper do; a bare inline "
        "does not, nor one in front of a pass about profiles), or the module no call that could be inlined",
        {
            **_DECISIONS,
            "accepted": "accepted",
            "refused": "refused",
            **_FALLBACKS,
            "budget_hits": "decided by the default, over the size budget",
            "not_askable": "inlined by the default, not askable",
        },
    ),
    "evict": Words(
        "LLVM's own evictions",
        f"{_FAST} no function of the module has more live values than registers",
        {**_DECISIONS, "accepted": "evictions", "refused": "kept", **_AGREED, **_REST},
        _MASK,
    ),
    "priority": Words(
        "LLVM's own order of live ranges",
        f"{_FAST} the module has no value to keep in a register",
        {**_DECISIONS, **_REST},
        "return the number itself",
    ),
    "schedule": Words(
        "the target's own scheduler",
        "the target's scheduler asks nobody (as at -O0, with -misched, or on WebAssembly and AMDGPU), or had "
        "no choice",
        {**_DECISIONS, **_AGREED, **_REST},
        _MASK,
    ),
}
_OF_ALLOCATOR: Final = Words(
    "the advised allocator's default",
    "-regalloc=advised is missing, or the module never needed this decision",
    {**_DECISIONS, **_AGREED, **_REST},
    _MASK,
)
_OF_PASSES: Final = Words(
    "the pass's default",
    "the pipeline has no pass that asks here, or it found nothing to ask about",
    {**_DECISIONS, **_FALLBACKS},
)


def words_of(point: str) -> Words:
    """What messages say about the advisors of a decision point."""
    return _OF_LLVM.get(point) or (_OF_ALLOCATOR if point in HOOKED else _OF_PASSES)
