# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The flips of a search: which calls are tried together, and which flips stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from passpilot.plugin.errors import CompilationError, Error
from passpilot.plugin.module import Module
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.influence import Edge, Influence, disjoint
from passpilot.training.tuning.search import Known, Search
from passpilot.training.tuning.sizes import Sizes
from passpilot.training.tuning.study import Outcome
from passpilot.training.tuning.unit import LLVMS_OWN, Asked, Compiled, Unit, UnitChoice

A, B, C = (CallKey(name, "leaf", 1) for name in "abc")
CODE = "".join(f"define void @{name}() {{\n  ret void\n}}\n" for name in ("a", "b", "c", "leaf"))


@dataclass
class Deciding(Engine):
    """Makes an object whose questions are the decisions of the choice."""

    units: Sequence[Unit] = ()
    wanted: list[dict[CallKey, bool]] = field(default_factory=list)

    def compile(self, work: Sequence[tuple[int, UnitChoice]]) -> list[Compiled | Error]:
        """See `Engine`."""
        made: list[Compiled | Error] = []
        for _, choice in work:
            self.wanted.append(dict(choice.inline))
            asked = {call: Asked(inlined, default=False) for call, inlined in choice.inline.items()}
            made.append(Compiled(b"", asked, choice, 0))
        return made


class Known3(Search):
    """A search of one unit that has begun: three calls, none inlined; every function has 100 bytes."""

    def begun(self, totals: Mapping[frozenset[CallKey], tuple[float, dict[str, float]]]) -> Known3:
        """Have the sizes of the program by the calls that it inlines."""
        self.totals = totals
        asked = {call: Asked(inlined=False, default=False) for call in (A, B, C)}
        first = Compiled(b"", asked, LLVMS_OWN, 0)
        self.best = Outcome([first], self.sizes([first]))
        return self

    def sizes(self, made: Sequence[Compiled]) -> Sizes:
        inlined = frozenset(call for call, each in made[0].asked.items() if each.inlined)
        total, functions = self.totals.get(inlined, (400, {}))
        whole = {**dict.fromkeys(("a", "b", "c", "leaf"), 100.0), **functions}
        return Sizes(total, whole, dict.fromkeys(whole, 0), [total])


def search(totals: Mapping[frozenset[CallKey], tuple[float, dict[str, float]]]) -> tuple[Known3, Deciding]:
    """A search, and what compiles for it."""
    engine = Deciding()
    made = Known3([Unit(Module(CODE.encode()), "default<Oz>")], engine, lambda _: Sizes(0, {}, {}, []))
    made.measure = lambda compiled: made.sizes(compiled)
    return made.begun(totals), engine


def kept(*calls: CallKey) -> dict[tuple[int, CallKey], frozenset[str]]:
    return {(0, call): frozenset({call.caller}) for call in calls}


def inlined(wanted: Mapping[CallKey, bool]) -> set[CallKey]:
    return {call for call, yes in wanted.items() if yes}


def test_flips_that_share_a_function_are_not_tried_together() -> None:
    again, callee, other = Edge("a", "y"), Edge("x", "z"), Edge("b", "w")

    def chosen(influence: Influence, *calls: Edge) -> list[bool]:
        return disjoint(map(influence.of, calls))

    assert chosen(Influence([]), Edge("a", "x"), again, callee, other) == [True, False, False, True]
    assert chosen(Influence([Edge("b", "c")]), Edge("c", "v"), other) == [True, False], "c is in b"
    assert chosen(Influence([])) == []


def test_flips_that_shrink_the_whole_stay_together() -> None:
    made, engine = search({frozenset({A, B}): (390, {})})
    made.measure_flips(kept(A, B))
    assert (made.best.total, [inlined(each) for each in engine.wanted]) == (390, [{A, B}])


def test_flips_that_failed_are_dropped() -> None:
    made, engine = search({
        frozenset({A, B, C}): (410, {"a": 100, "b": 90, "c": 120}), frozenset({B}): (380, {}),
    })  # fmt: skip
    made.measure_flips(kept(A, B, C))
    assert [inlined(each) for each in engine.wanted] == [{A, B, C}, {B}], "no gain is a failure"
    assert made.best.total == 380


def test_of_flips_that_seem_good_the_better_half_is_left() -> None:
    made, engine = search({
        frozenset({A, B, C}): (400, {"a": 99, "b": 90, "c": 95}), frozenset({B}): (400, {"b": 90}),
    })  # fmt: skip
    made.measure_flips(kept(A, B, C))
    assert [inlined(each) for each in engine.wanted] == [{A, B, C}, {B}], "then none is left"
    assert made.best.total == 400


def test_of_two_flips_that_seem_good_the_better_one_is_left() -> None:
    made, engine = search({frozenset({A, B}): (400, {"a": 99, "b": 90}), frozenset({B}): (390, {})})
    made.measure_flips(kept(A, B))
    assert [inlined(each) for each in engine.wanted] == [{A, B}, {B}]
    assert made.best.total == 390


def test_only_the_first_measurement_goes_beyond_the_budget() -> None:
    made, engine = search({frozenset({A, B}): (400, {"a": 90})})
    made.budget.compiles = 0
    made.measure_flips(kept(A, B))
    assert [inlined(each) for each in engine.wanted] == [{A, B}]


def test_flips_that_do_not_link_are_dropped() -> None:
    made, engine = search({})

    def fails(made: Sequence[Compiled]) -> Sizes:
        raise CompilationError(f"{len(made)} do not link")

    made.measure = fails
    made.measure_flips(kept(A))
    assert (len(engine.wanted), made.best.total) == (1, 400)


def test_calls_that_are_gone_are_not_flipped() -> None:
    made, engine = search({frozenset({A}): (390, {})})
    made.measure_flips(kept(A, CallKey("gone", "leaf", 1)))
    assert [inlined(each) for each in engine.wanted] == [{A}]


class Unmixed(Random):
    """No randomness."""

    def random(self) -> float:
        return 0.0


def worthwhile(asked: Mapping[CallKey, Asked], owners: Mapping[str, int], *known: Known | None) -> list[str]:
    """The callers of the calls to try, in order."""
    made, _ = search({})
    compiled = Compiled(b"", asked, LLVMS_OWN, 0)
    made.best = Outcome([compiled], Sizes(400, {}, owners, [400]))
    unchanged = [each.unchanged if each else frozenset[str]() for each in known]
    return [call.caller for _, call in made.worthwhile(Unmixed(), unchanged)]


def test_cheap_calls_are_tried_first_and_expensive_ones_given_up_first() -> None:
    names = ("a", "b", "c", "leaf")
    costs = dict(zip(names, (30, 10, 20, 40), strict=True))
    owners = dict.fromkeys(names, 0)
    for yes, order in ((False, ["b", "c", "a", "leaf"]), (True, ["leaf", "a", "c", "b"])):
        asked = {CallKey(each, "x", 1): Asked(yes, default=False, cost=costs[each]) for each in names}
        assert worthwhile(asked, owners) == order


@pytest.mark.parametrize(
    ("owner", "inlined_into", "expected"),
    [(0, None, ["a"]), (1, None, []), (1, "b", ["b", "a"])],
    ids=["own copy", "copy of another unit", "in a function of its own"],
)
def test_calls_in_copies_that_do_not_count_are_not_tried(
    owner: int, inlined_into: str | None, expected: list[str]
) -> None:
    asked = {CallKey("a", "x", 1): Asked(inlined=False, default=False)}
    if inlined_into:
        asked[CallKey(inlined_into, "a", 1)] = Asked(inlined=True, default=False)
    assert sorted(worthwhile(asked, {"a": owner, "b": 0})) == sorted(expected)


def test_calls_of_unchanged_functions_are_not_tried_again() -> None:
    asked = {call: Asked(inlined=False, default=False, cost=at) for at, call in enumerate((A, B))}
    owners = {"a": 0, "b": 0}
    assert worthwhile(asked, owners, Known(LLVMS_OWN, frozenset({"a"}))) == ["b"]
    assert worthwhile(asked, owners, None) == ["a", "b"]
