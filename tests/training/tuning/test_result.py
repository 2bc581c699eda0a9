# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search found, as decisions and as a table; what an earlier one knows of a unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeVar

import pytest

from passpilot.plugin.module import Module
from passpilot.training.tuning.decision_file import CallKey, UnitDecisions
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.result import (
    earlier_decisions,
    function_hash,
    result_table,
    unit_decisions,
)
from passpilot.training.tuning.reward import RewardText
from passpilot.training.tuning.search import Search
from passpilot.training.tuning.sizes import LinkedSizes, Sizes, object_sizes, start_time
from passpilot.training.tuning.speed import SpeedSearch
from passpilot.training.tuning.study import Outcome, Study
from passpilot.training.tuning.unit import Asked, Compiled, Unit, UnitChoice

CODE: Final = """\
source_filename = "a.c"
declare i32 @other(i32)
define i32 @f(i32 %x) {
  %y = call i32 @other(i32 %x)
  ret i32 %y
}
define internal i32 @g(i32 %x) {
  ret i32 %x
}
define i32 @h() {
  ret i32 1
}
"""
TEXT: Final = RewardText.parse("text")
S = TypeVar("S", bound=Study)


def unit_of(text: str = CODE) -> Unit:
    """A unit of LLVM's IR."""
    return Unit(Module(text.encode()), "default<Oz>")


def hashes(text: str) -> dict[str, str]:
    """The hashes of all functions of a module."""
    return {each.name: function_hash(each) for each in Module(text.encode()).functions}


def test_a_hash_is_of_the_name_and_the_body_alone() -> None:
    first = hashes(CODE)
    assert {len(each) for each in first.values()} == {8}
    assert len(set(first.values())) == len(first)
    assert hashes(CODE.replace("ret i32 1", "ret i32 2"))["h"] != first["h"]
    assert hashes(CODE.replace("ret i32 1", "ret i32 2"))["f"] == first["f"]
    assert hashes(CODE.replace("@h", "@i"))["i"] != first["h"]


NUMBERED: Final = """\
@.str.NAME = private constant [2 x i8] c"a\\00"
FIRST
define ptr @f(ptr %p) #0 {
  %x = load i32, ptr %p, !tbaa !0
  ret ptr @.str.NAME
}
attributes #0 = { nounwind }
!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2, i64 0}
!2 = !{!"char"}
"""


def test_a_hash_does_not_change_with_what_is_elsewhere() -> None:
    plain = NUMBERED.replace("FIRST\n", "")
    before = "define void @e() #1 {\n  ret void, !more !9\n}\nattributes #1 = { cold }\n!9 = !{i32 7}\n"
    one = hashes(plain.replace("NAME", "3"))
    assert hashes(NUMBERED.replace("NAME", "4").replace("FIRST\n", before))["f"] == one["f"]
    assert hashes(plain.replace("NAME", "x"))["f"] != one["f"], "another name is another string"


def test_what_an_earlier_search_knows_of_a_unit() -> None:
    unit, found = unit_of(), hashes(CODE)
    inline = {CallKey("f", "g", 1): True}
    earlier = [
        UnitDecisions("b.c"),
        UnitDecisions(
            "a.c", inline, "mergefunc", ["one", "two=3"], {"f": ("optsize",)},
            searched=frozenset([found["f"], found["other"], "00000000"]),
        ),
        UnitDecisions("a.c"),
    ]  # fmt: skip
    known = earlier_decisions(unit, earlier)
    assert known is not None
    assert known.choice == UnitChoice(inline, "mergefunc", ("one", "two=3"), {"f": ("optsize",)})
    assert known.unchanged == {"f"}, "a declaration has nothing to search"
    assert earlier_decisions(unit, earlier[:1]) is None


def compiled(asked: Mapping[CallKey, Asked], **choice: Any) -> Compiled:
    """A unit with these questions, whose answers that are not LLVM's are its choice."""
    own = {call: each.inlined for call, each in asked.items() if each.inlined != each.default}
    return Compiled(b"", asked, UnitChoice(own, **choice), 0.5)


def outcome(made: Compiled, functions: Mapping[str, float], total: float | None = None) -> Outcome:
    """An outcome of one unit."""
    whole = sum(functions.values()) if total is None else total
    return Outcome([made], Sizes(whole, functions, dict.fromkeys(functions, 0), [whole]))


def search_of(unit: Unit, best: Outcome, start: Outcome) -> Search:
    """A search of one unit that has ended."""
    return ended(Search([unit], Engine([unit]), object_sizes), best, start)


def ended(study: S, best: Outcome, start: Outcome) -> S:
    """The study with these outcomes."""
    study.best, study.start = best, start
    return study


FIRST, SECOND, ALONE = CallKey("f", "g", 1), CallKey("f", "g", 2), CallKey("h", "far", 1)


@pytest.mark.parametrize(
    ("after", "total", "gains"),
    [
        ({"f": 53, "h": 10}, None, {FIRST: 3, SECOND: 4, ALONE: 0}),
        ({"f": 50, "h": 4}, None, {FIRST: 5, SECOND: 5, ALONE: 6}),
        ({"f": 65, "h": 4}, None, {FIRST: 0, SECOND: 0, ALONE: 1}),
        ({"f": 61, "h": 1}, None, {FIRST: 0, SECOND: 0, ALONE: 8}),
        ({"f": 50, "h": 4}, 62, {FIRST: 2, SECOND: 3, ALONE: 3}),
        ({"f": 60, "h": 10}, None, {FIRST: 0, SECOND: 0, ALONE: 0}),
    ],
    ids=["shared", "of all", "one is larger", "one is a byte larger", "half is outlined", "nothing"],
)
def test_decisions_share_what_their_component_gains(
    after: dict[str, float], total: float | None, gains: dict[CallKey, int]
) -> None:
    yes, no = Asked(inlined=True, default=False), Asked(inlined=False, default=False)
    start = outcome(compiled({FIRST: no, SECOND: no, ALONE: yes}), {"f": 50, "0:g": 10, "h": 10})
    best = outcome(
        compiled({FIRST: yes, SECOND: yes, ALONE: Asked(inlined=False, default=True)}), after, total
    )
    (made,) = unit_decisions(search_of(unit_of(), best, start), TEXT)
    assert made.gains == gains


def test_the_decisions_of_a_unit() -> None:
    own = {FIRST: Asked(inlined=True, default=False), SECOND: Asked(inlined=True, default=True)}
    choice = {"tail": "mergefunc", "options": ("one",), "functions": {"f": ("optsize",)}}
    best, start = outcome(compiled(own, **choice), {"f": 40}), outcome(compiled({}), {"f": 60})
    unit = unit_of()
    (made,) = unit_decisions(search_of(unit, best, start), TEXT)
    assert (made.name, made.inline, made.pipeline) == ("a.c", {FIRST: True}, "mergefunc")
    assert (list(made.options), made.functions) == (["one"], {"f": ("optsize",)})
    assert list(made.notes) == [".text 60 -> 40 bytes, 1 of 2 calls"]
    assert made.searched == {each for name, each in hashes(CODE).items() if name != "other"}
    speed = SpeedSearch([unit], Engine([unit]), start_time, linker=LinkedSizes([], ""), runs=[])
    (timed,) = unit_decisions(ended(speed, best, start), RewardText.parse("run"))
    assert list(timed.notes) == ["1 of 2 calls"]
    assert timed.gains == {}


def test_the_table_of_a_search() -> None:
    own = {FIRST: Asked(inlined=True, default=False), SECOND: Asked(inlined=True, default=True)}
    best = outcome(compiled(own, tail="mergefunc", options=("one", "two")), {"f": 40, "h": 0})
    unit = unit_of()
    search = search_of(unit, best, outcome(compiled({}), {"f": 55, "g": 5}))
    search.curve = [(1, 0.12345, 60.0), (7, 1.5, 40.0)]
    search.budget.spent, search.seconds = 9, 2.34567
    assert result_table(search, RewardText.parse("object")) == {
        "reward": "object",
        "start": 60,
        "text": 40,
        "compilations": 9,
        "seconds": 2.35,
        "brought": {},
        "curve": [[1, 0.123, 60], [7, 1.5, 40]],
        "functions": {"before": {"f": 55, "g": 5}, "after": {"f": 40}},
        "units": [
            {
                "name": "a.c",
                "start": 60,
                "text": 40,
                "calls": 1,
                "pipeline": "mergefunc",
                "options": "one two",
            }
        ],
    }
    speed = SpeedSearch([unit], Engine([unit]), start_time, linker=LinkedSizes([], ""), runs=[])
    speed.confirmed = {"ratio": 0.5, "low": 0.4, "high": 0.6, "seconds": 1.0, "pairs": 9}
    ended(speed, outcome(compiled({}), {}), outcome(compiled({}), {}))
    table = result_table(speed, RewardText.parse("run"))
    assert (table["confirmed"], table["unseen"]) == (speed.confirmed, None)
    assert table["units"] == [{"name": "a.c", "calls": 0, "pipeline": "", "options": ""}]
