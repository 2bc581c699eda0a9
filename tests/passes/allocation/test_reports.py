# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The counts of the register allocator's advisors, and the rows in which `--stats` prints them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from passpilot.features.llvm.evict import DO_NOT_EVICT
from passpilot.passes.llvm_advisors import ColourAdvisor, EvictAdvisor, PriorityAdvisor
from passpilot.plugin.errors import PasspilotWarning
from tests.passes.allocation.pressure import allocated
from tests.passes.allocator.steps import advised_allocator

if TYPE_CHECKING:
    from pathlib import Path

    from passpilot.passes.advisor import Advisor
    from passpilot.runners.python import Observation

FELL_BACK = "fallbacks to the default"
AGREED = "as the default, where it was computed"
UNASKED = "decided by the default, not askable"


def rows(advisor: Advisor) -> list[tuple[int, str]]:
    """The counts with their labels, without the line of the time."""
    lines = [line.strip().partition(" ") for line in advisor.report().splitlines()[1:-1]]
    return [(int(count), label) for count, _, label in lines]


def test_evictions(pressed: Path) -> None:
    counts: Counter[str] = Counter()

    def decide(obs: Observation) -> int:
        counts["asked"] += 1
        legal = obs["mask"][0].nonzero()[0]
        if counts["asked"] % 7 == 3:
            counts["failed"] += 1
            raise ValueError("no idea")
        answer = int(legal[counts["asked"] % len(legal)])
        if counts["asked"] % 2:
            answer = int(obs.default())
            counts["agreed"] += 1
        elif counts["asked"] % 4:
            counts["agreed"] += obs.default() == answer
        counts["kept"] += answer == DO_NOT_EVICT
        return answer

    advisor = EvictAdvisor(decide, on_error="default")
    with pytest.warns(PasspilotWarning, match=r"^evict advisor: \d+ of \d+ decisions fell back"):
        allocated(pressed, advisor)
    stats, evicted = advisor.stats, counts["asked"] - counts["failed"] - counts["kept"]
    assert len({evicted, counts["kept"], counts["agreed"], counts["failed"], 0}) == 5
    assert (stats.decisions, stats.evictions, stats.kept) == (counts["asked"], evicted, counts["kept"])
    assert (stats.agreed, stats.fallbacks, stats.not_askable) == (counts["agreed"], counts["failed"], 0)
    assert rows(advisor) == [
        (counts["asked"], "decisions"),
        (evicted, "evictions"),
        (counts["kept"], "kept"),
        (counts["agreed"], AGREED),
        (counts["failed"], FELL_BACK),
        (0, UNASKED),
    ]


def test_priorities(pressed: Path) -> None:
    asked = failed = 0

    def decide(_: Observation) -> float:
        nonlocal asked, failed
        asked += 1
        if asked % 5 == 2:
            failed += 1
            raise ValueError("no idea")
        return 1.0

    advisor = PriorityAdvisor(decide, on_error="default")
    with pytest.warns(PasspilotWarning, match="^priority advisor: "):
        allocated(pressed, advisor)
    assert (advisor.stats.decisions, advisor.stats.fallbacks) == (asked, failed)
    assert rows(advisor) == [(asked, "decisions"), (failed, FELL_BACK), (0, UNASKED)]


def test_the_advised_allocator(pressed: Path) -> None:
    asked = failed = agreed = 0

    def decide(obs: Observation) -> int:
        nonlocal asked, failed, agreed
        asked += 1
        if asked % 5 == 2:
            failed += 1
            raise ValueError("no idea")
        if asked % 3 == 0:
            agreed += 1
            return int(obs.default())
        return int(obs["mask"][0].argmax())

    advisor = ColourAdvisor(decide, on_error="default")
    with advised_allocator(), pytest.warns(PasspilotWarning, match="^ra-colour advisor: "):
        allocated(pressed, advisor)
    assert len({asked, failed, agreed, 0}) == 4
    assert (advisor.stats.decisions, advisor.stats.fallbacks) == (asked, failed)
    assert rows(advisor) == [
        (asked, "decisions"),
        (agreed, AGREED),
        (failed, FELL_BACK),
        (0, UNASKED),
    ]
