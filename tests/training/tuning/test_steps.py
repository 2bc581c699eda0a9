# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps of searches: what is tried, what is joined, and when they end."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest

from passpilot.plugin.errors import CompilationError, Error
from passpilot.plugin.module import Module
from passpilot.training.machines.local import Machines
from passpilot.training.timing.paired_times import RunTime
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.influence import Edge, Influence, components
from passpilot.training.tuning.recipes import (
    EVICTION,
    OPTIONS,
    POLICIES,
    SCHEDULE,
    SPEED_POLICIES,
    SPEED_SIZE_LEVELS,
    SPEED_TAILS,
    SPEED_UNROLLING,
    SPEED_VECTORIZING,
    TAILS,
    Below,
)
from passpilot.training.tuning.search import LEVERS, MORE_LEVERS, Known, Search
from passpilot.training.tuning.sizes import LinkedSizes, Sizes, start_time
from passpilot.training.tuning.speed import FLIPPED, SpeedSearch
from passpilot.training.tuning.study import Budget, Outcome, Study, Trial
from passpilot.training.tuning.unit import Asked, Compiled, Unit, UnitChoice

CODE: Final = "define i32 @NAME(i32 %x) {\n  ret i32 %x\n}\n"


def two_units() -> list[Unit]:
    """Two units that compile at once."""
    return [Unit(Module(CODE.replace("NAME", name).encode()), "default<Oz>") for name in "fg"]


def searched(sizes: Sequence[dict[str, float]], key: str = "tail", **settings: Any) -> Search:
    """A search where the size of a unit is that of its pipeline or options; of others it is 100."""

    def measure(made: Sequence[Compiled]) -> Sizes:
        objects = []
        for known, each in zip(sizes, made, strict=True):
            value = getattr(each.choice, key)
            if math.isnan(size := known.get(value if isinstance(value, str) else " ".join(value), 100)):
                raise CompilationError("it does not link")
            objects.append(size)
        return Sizes(sum(objects), {}, {}, objects)

    units = two_units()[: len(sizes)]
    limits = {name: settings.pop(name) for name in ("compiles", "seconds") if name in settings}
    return Search(units, Engine(units, Machines(2)), measure, Budget(**limits), **settings).run()


def choices(found: Search, key: str = "tail") -> list[object]:
    """What the best choices have."""
    return [getattr(each.choice, key) for each in found.best.units]


def test_every_unit_gets_the_pipeline_that_suits_it() -> None:
    found = searched([{TAILS[0]: 90, TAILS[1]: 95}, {TAILS[1]: 80}], levers=["pipeline"], compiles=6)
    assert choices(found) == [TAILS[0], TAILS[1]]
    assert (found.start.total, found.best.total) == (200, 170)
    assert found.compiles == 2 + 2 * 2 + 2, "what was found is joined, also behind the budget"
    assert [(compiles, size) for compiles, _, size in found.curve] == [(2, 200), (6, 190), (6, 175), (8, 170)]
    assert not found.interrupted


def test_pipelines_that_suit_fewer_units_come_later() -> None:
    found = searched([{TAILS[-1]: 90}], levers=["pipeline"])
    assert choices(found) == [TAILS[-1]]
    assert found.compiles == 1 + len(TAILS)


def test_options_of_the_allocator_come_on_top() -> None:
    own = " ".join(OPTIONS[0])
    sizes = {own: 90.0, f"{own} {EVICTION[3][0]}": 80.0, EVICTION[3][0]: 10.0}
    found = searched([sizes], "options", levers=["options", "eviction"], compiles=100)
    assert choices(found, "options") == [(*OPTIONS[0], *EVICTION[3])]


def test_a_program_that_does_not_link_is_not_taken() -> None:
    found = searched([{TAILS[0]: math.nan, TAILS[1]: 99}, {}], levers=["pipeline"], compiles=6)
    assert choices(found) == [TAILS[1]] * 2


def test_a_unit_that_fails_stays_as_it_is() -> None:
    known = [Known(UnitChoice(tail=tail), frozenset()) for tail in ("no-such-pass", "mergefunc")]
    found = searched([{"no-such-pass": 1}, {"mergefunc": 90}], known=known)
    assert choices(found) == ["", "mergefunc"]
    assert found.compiles == 4


def test_what_is_known_of_some_units_is_the_begin() -> None:
    known = [None, Known(UnitChoice(tail="mergefunc"), frozenset())]
    found = searched([{TAILS[0]: 10}, {"mergefunc": 90}], known=known)
    assert (choices(found), found.compiles) == (["", "mergefunc"], 3)


def test_the_same_size_is_not_better() -> None:
    found = searched([{TAILS[0]: 110}, {TAILS[0]: 90}], levers=["pipeline"], compiles=4)
    assert choices(found) == ["", TAILS[0]], "the sum was the same, so that the unit alone is taken"
    assert [size for _, _, size in found.curve] == [200, 190]
    kept = searched([{TAILS[0]: 120}, {TAILS[0]: 90, TAILS[1]: 120}], levers=["pipeline"], compiles=6)
    assert choices(kept) == ["", TAILS[0]]
    same = searched([{}, {}], levers=["pipeline"], compiles=4)
    assert (choices(same), len(same.curve)) == (["", ""], 1)


@pytest.mark.parametrize("budget", [{"seconds": 0}, {"compiles": 0}, {"compiles": 2}, {"levers": []}])
def test_without_a_budget_nothing_is_searched(budget: dict[str, Any]) -> None:
    found = searched([{TAILS[0]: 9}, {}], **budget)
    assert (found.compiles, found.best, found.interrupted) == (2, found.start, False)


def test_ctrl_c_keeps_the_best_so_far() -> None:
    told: list[tuple[int, float]] = []

    def step(study: Study, trial: Trial) -> None:
        told.append((trial.compiles, study.best_value))
        if trial.compiles == 6:
            raise KeyboardInterrupt

    known = [Known(UnitChoice(tail=tail), frozenset()) for tail in (TAILS[0], "")]
    found = searched([{TAILS[0]: 90}, {}], known=known, callbacks=[step])
    assert not found.interrupted
    told.clear()
    found = searched([{TAILS[0]: 90, TAILS[1]: 50}, {}], levers=["pipeline"], callbacks=[step])
    assert found.interrupted
    assert found.best is found.start, "the trials of a step are taken together"
    assert told == [(2, 200), (4, 200), (6, 200)]


def test_influence_goes_through_all_callers() -> None:
    influence = Influence([Edge("b", "a"), Edge("c", "b"), Edge("d", "a"), Edge("a", "d"), Edge("x", "y")])
    assert influence.holders("a") == {"a", "b", "c", "d"}
    assert influence.holders("y") == {"x", "y"}
    assert influence.holders("c") == {"c"}
    assert influence.of(Edge("b", "z")) == {"b", "c", "z"}


def test_components_of_several_compilations() -> None:
    found = components(
        [{Edge("a", "b"): True, Edge("c", "d"): False}, {Edge("a", "b"): False, Edge("b", "c"): True}]
    )
    assert found["a"] == found["b"] == found["c"]
    assert found["d"] == "d"
    assert set(found) == {"a", "b", "c", "d"}
    chain = components([{Edge("a", "b"): True, Edge("c", "b"): True, Edge("d", "c"): True}])
    assert len(set(chain.values())) == 1


def speed_of(units: Sequence[Unit], **settings: Any) -> SpeedSearch:
    """A search for speed that has not begun."""
    search = SpeedSearch(units, Engine(units), start_time, linker=LinkedSizes([], ""), runs=[], **settings)
    asked = {CallKey("f", "g", number): Asked(number > 2, default=False) for number in range(1, 5)}
    compiled = [Compiled(b"", asked, UnitChoice({CallKey("a", "b", 1): True}), 0) for _ in units]
    search.best = Outcome(compiled, start_time(compiled))
    return search


def timed(low: float, ratio: float, high: float | None) -> RunTime:
    """A measurement."""
    return {"seconds": 1, "ratio": ratio, "low": low, "high": high, "pairs": 40}


def test_what_a_search_for_speed_tells() -> None:
    search = speed_of([])
    assert search.summary() == "no faster program found"
    search.confirmed = timed(0.8, 0.9, 0.95)
    assert search.summary() == "run time 0.900 (0.800 to 0.950, 40 pairs)"
    search.confirmed_unseen = timed(0.7, 0.75, 1.25)
    assert search.summary().endswith("40 pairs), unseen inputs 0.750 (0.700 to 1.250, 40 pairs)")
    search.confirmed = timed(0.8, 0.9, 1.0)
    assert search.summary().endswith(
        "(0.800 to 1.000, 40 pairs): not clearly faster, so the decisions are LLVM's own"
    )


def test_a_search_for_speed_tries_what_its_levers_say() -> None:
    units = two_units()

    def tried(*levers: str) -> list[UnitChoice]:
        search = speed_of(units, levers=levers)
        search._random = random.Random(1)
        return [change(0) for change in search._changes()]

    assert [each.policy for each in tried("inline")] == list(SPEED_POLICIES)
    assert [each.tail for each in tried("pipeline")] == list(SPEED_TAILS)
    assert [each.options for each in tried("eviction")] == list(EVICTION)
    assert [each.options for each in tried("schedule")] == list(SCHEDULE)
    for lever, words in (
        ("size", SPEED_SIZE_LEVELS),
        ("unroll", SPEED_UNROLLING),
        ("vectorize", SPEED_VECTORIZING),
    ):
        made = tried(lever)
        assert len(made) == len(words)
        for each, word in zip(made, words, strict=True):
            assert each.functions in ({}, {"f": (word,)})
        assert any(each.functions for each in made)
    assert tried("options") == []
    assert len(tried(*LEVERS, *MORE_LEVERS)) == 5 + 4 + 5 + 4 + 2 + 4 + 3


def test_flips_change_answers_and_keep_the_others() -> None:
    search = speed_of(two_units())
    search._random = random.Random(1)
    whole = search._some_flipped(1, 1.0).inline
    assert whole == {
        CallKey("a", "b", 1): True,
        **{CallKey("f", "g", number): number <= 2 for number in range(1, 5)},
    }
    assert search._some_flipped(1, 0.0).inline == {CallKey("a", "b", 1): True}
    assert all(0 < part < 1 for part in FLIPPED)


def test_policies_inline_what_is_below_their_limit() -> None:
    costs = (-100, -60, -20, 0, 44, 45)
    made = [[each({"cost_estimate": np.array([cost])}) for cost in costs].count(True) for each in POLICIES]  # type: ignore[arg-type]
    assert made == [0, 1, 2, 3, 4, 5]
    assert Below(float("inf"))({"cost_estimate": np.array([9])}) is True  # type: ignore[arg-type]


def test_a_search_begins_with_what_compiles() -> None:
    units = [Unit(Module(CODE.replace("NAME", "f").encode()), "no-such-pass")]
    with pytest.raises(Error, match="no-such-pass"):
        Search(units, Engine(units), lambda _: Sizes(1, {}, {}, [1])).run()
