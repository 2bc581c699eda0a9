# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from passpilot.features.catalogue import HOOKED
from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.point import Site, find_point, find_table, is_known, point_names
from passpilot.features.spec import TensorSpec
from passpilot.passes.decision_point import DecisionPoint
from passpilot.plugin import _core
from passpilot.plugin.errors import AdviceError, SpecMismatchError, UsageError
from passpilot.runners.native import core_domain, core_point, spec_of


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (True, 1),
        (False, 0),
        (1, 1),
        (0, 0),
        (np.bool_(True), 1),
        (np.int8(0), 0),
        (np.uint64(1), 1),
        (np.array([1]), 1),
        (np.array([[False]]), 0),
        (np.array(1, np.uint8), 1),
    ],
)
def test_flag_accepts(answer: object, expected: int) -> None:
    accepted = Flag().accept(answer)
    assert (type(accepted), accepted) == (int, expected)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (None, "NoneType None"),
        (2, "int 2"),
        (-1, "int -1"),
        (1.0, "float 1.0"),
        (float("nan"), "float nan"),
        ("1", "str '1'"),
        (np.float32(1), "float32"),
        (np.int64(2), "int64"),
        (np.array([1.0]), "ndarray"),
        (np.array([0, 1]), "ndarray"),
        (np.array([]), "ndarray"),
        ([1], r"list \[1\]"),
        ({}, "dict {}"),
    ],
)
def test_flag_refuses_by_name(answer: object, got: str) -> None:
    with pytest.raises(AdviceError, match=f"expected a bool or an integer 0 or 1, got {got}"):
        Flag().accept(answer)


EVICT = Choice(33, mask="mask")
PRIORITY = Number(0.0, 4294967295.0)


@pytest.mark.parametrize(
    "answer", [7, np.int8(7), np.uint64(7), np.array([7]), np.array([[7]], np.uint8), np.array(7, np.int32)]
)
def test_choice_accepts(answer: object) -> None:
    accepted = EVICT.accept(answer)
    assert (type(accepted), accepted) == (int, 7)


def test_choice_takes_every_column() -> None:
    assert [EVICT.accept(column) for column in range(33)] == list(range(33))


NO_NUMBERS: list[tuple[object, str]] = [
    (None, "NoneType None"),
    (True, "bool True"),
    (np.bool_(False), "bool"),
    (np.array([True]), "ndarray"),
    (-1, "int -1"),
    (np.int64(-1), "int64"),
    (1 << 70, f"int {1 << 70}"),
    (10**400, "int 1000"),
    (float("nan"), "float nan"),
    (np.float32("nan"), "float32"),
    (float("inf"), "float inf"),
    (np.array([np.inf]), "ndarray"),
    ("1", "str '1'"),
    (np.str_("1"), "str_ np.str_"),
    (np.array([0, 1]), "ndarray"),
    (np.array([]), "ndarray"),
    ([1], r"list \[1\]"),
    (1j, "complex 1j"),
    (np.array([None]), "ndarray"),
]


@pytest.mark.parametrize(
    ("answer", "got"),
    [*NO_NUMBERS, (33, "int 33"), (10**6, "int 1000000"), (7.0, "float 7.0"), (np.float32(7), "float32")],
)
def test_choice_refuses_by_name(answer: object, got: str) -> None:
    with pytest.raises(AdviceError, match=f"^advice: expected an integer of 0 to 32, got {got}"):
        EVICT.accept(answer)


def test_choice_refuses_what_the_mask_forbids() -> None:
    mask = np.zeros((1, 33), np.int64)
    mask[0, [2, 32]] = 1
    assert [EVICT.accept(column, {"mask": mask}) for column in (2, 32)] == [2, 32]
    with pytest.raises(AdviceError) as caught:
        EVICT.accept(np.int64(3), {"mask": mask})
    assert str(caught.value) == (
        "advice: expected a column that 'mask' allows (2, 32), got int64 np.int64(3); "
        "return the number of one of these"
    )
    assert EVICT.accept(3, {"other": mask}) == 3
    with pytest.raises(AdviceError, match=r"allows \(none\), got int 3"):
        EVICT.accept(3, {"mask": np.zeros(33)})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (0, 0.0),
        (3.5, 3.5),
        (4294967295, 4294967295.0),
        (-0.0, 0.0),
        (np.float32(0.5), 0.5),
        (np.float16(2), 2.0),
        (np.int64(7), 7.0),
        (np.array([[1.5]]), 1.5),
        (np.array(3, np.uint8), 3.0),
    ],
)
def test_number_accepts(answer: object, expected: float) -> None:
    accepted = PRIORITY.accept(answer)
    assert (type(accepted), accepted) == (float, expected)


@pytest.mark.parametrize(
    ("answer", "got"),
    [*NO_NUMBERS, (4294967296, "int 4294967296"), (4294967295.5, "float 4294967295.5"), (-0.5, "float -0.5")],
)
def test_number_refuses_by_name(answer: object, got: str) -> None:
    with pytest.raises(AdviceError, match=f"^advice: expected a number of 0 to 4294967295, got {got}"):
        PRIORITY.accept(answer)


@pytest.mark.parametrize("domain", [Flag(), EVICT, PRIORITY])
def test_answers_that_cannot_be_shown_are_refused_all_the_same(domain: Domain) -> None:
    class Shy:
        def __repr__(self) -> str:
            raise ValueError

    with pytest.raises(AdviceError, match="got Shy that cannot be shown"):
        domain.accept(Shy())
    with pytest.raises(AdviceError) as caught:
        domain.accept("x" * 1000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "domain", [Flag(), Choice(33, "legal"), Number(0.0, 4294967295.0), Number(-0.1, 1e300)]
)
def test_the_core_has_the_same_domain(domain: Domain) -> None:
    core = core_domain(domain)
    assert (core.expected, core.mask) == (domain.expected, getattr(domain, "mask", ""))


@pytest.mark.parametrize("name", HOOKED)
def test_the_core_has_the_same_point(name: str) -> None:
    ours, llvms = core_point(find_point(name)), _core.point(name)
    assert ours.name == llvms.name == name
    assert list(map(spec_of, ours.features)) == list(map(spec_of, llvms.features))
    assert (spec_of(ours.default), spec_of(ours.advice)) == (spec_of(llvms.default), spec_of(llvms.advice))
    assert (ours.domain.expected, ours.domain.mask) == (llvms.domain.expected, llvms.domain.mask)


@pytest.mark.parametrize("name", HOOKED)
def test_every_point_offers_its_default(name: str) -> None:
    point = find_point(name)
    assert (point.name, point.find(point.default.name)) == (name, point.default)
    assert str(point.default) == str(point.advice)
    assert point.find(point.advice.name) is None
    assert [row.spec for row in find_table(name)] == list(point.features)


def test_select_keeps_the_order_asked_for() -> None:
    specs = find_point("inline").select(["threshold", "inlining_default", "sroa_savings"])
    assert [spec.name for spec in specs] == ["threshold", "inlining_default", "sroa_savings"]


def test_select_names_all_that_is_not_offered() -> None:
    with pytest.raises(SpecMismatchError, match="got colour, taste; `passpilot features --point=inline`"):
        find_point("inline").select(["colour", "threshold", "taste"])
    with pytest.raises(SpecMismatchError, match=r"got treshold; .*; did you mean 'threshold'"):
        find_point("inline").select(["treshold"])


def test_check_accepts_what_is_offered() -> None:
    find_point("inline").check([TensorSpec("threshold", "int64", (1,), port=7)])


def test_check_names_both_specs() -> None:
    wanted = [
        TensorSpec("threshold", "float32", (1,)),
        TensorSpec("colour", "int8", (2,)),
        TensorSpec("cost_estimate", "int64", (1,)),
        TensorSpec("node_count", "int64", (1, 1)),
    ]
    with pytest.raises(SpecMismatchError) as caught:
        find_point("inline").check(wanted)
    text = str(caught.value)
    assert "threshold is wanted as float32[1] and offered as int64[1]" in text
    assert "colour is wanted as int8[2] and not offered" in text
    assert "node_count is wanted as int64[1,1] and offered as int64[1]" in text
    assert "cost_estimate" not in text


@pytest.mark.parametrize("find", [find_point, find_table])
def test_unknown_point_is_refused(find: Callable[[str], object]) -> None:
    with pytest.raises(UsageError, match=r"expected one of inline, evict, priority, .*got 'outline'; others"):
        find("outline")


def test_a_column_keeps_the_tensors_that_are_not_per_column() -> None:
    point = find_point("evict")
    own = (TensorSpec("pair", "int8", (2,)), TensorSpec("each", "float32", (33,), port=3))
    column = replace(point, features=(*point.features, *own)).column()
    assert [spec.name for spec in column.features] == [spec.name for spec in (*point.features, *own)]
    assert column.features[-2:] == (own[0], TensorSpec("each", "float32", (1,), port=3))
    assert column.find("mask") == TensorSpec("mask", "int64", (1,))
    assert (column.name, column.default) == (point.name, point.default)


def test_a_column_is_answered_with_any_finite_or_infinite_score() -> None:
    column = find_point("evict").column()
    assert column.advice == TensorSpec("score", "float64", (1,))
    for score in (-1e300, 0.5, math.inf, -math.inf):
        assert column.domain.accept(score) == score
    with pytest.raises(AdviceError):
        column.domain.accept(math.nan)


class Somewhere(Site):
    """A place about which everything is given."""

    __slots__ = ("_calls", "_place")

    def __init__(self, caller: str = "", callee: str = "", place: tuple[str, int, int] | None = None) -> None:
        self._calls = (caller, callee)
        self._place = place

    @property
    def caller_name(self) -> str:
        return self._calls[0]

    @property
    def callee_name(self) -> str:
        return self._calls[1]

    @property
    def context(self) -> str:
        return "around"

    @property
    def place(self) -> tuple[str, int, int] | None:
        return self._place


@pytest.mark.parametrize(
    ("site", "text"),
    [
        (Somewhere(), "around"),
        (Somewhere(place=("a.c", 3, 5)), "around at a.c:3:5"),
        (Somewhere("f", "g"), "f -> g"),
        (Somewhere("f"), "f -> ?"),
        (Somewhere("", "g", ("a.c", 3, 5)), "? -> g at a.c:3:5"),
    ],
)
def test_a_site_in_words(site: Site, text: str) -> None:
    assert str(site) == text


def test_a_site_is_about_no_call_unless_it_says_so() -> None:
    class Plain(Somewhere):
        caller_name = Site.caller_name
        callee_name = Site.callee_name

    plain = Plain("f", "g")
    assert (plain.caller_name, plain.callee_name, str(plain)) == ("", "", "around")


def test_known_names() -> None:
    assert all(map(is_known, point_names()))
    assert point_names()[: len(HOOKED)] == tuple(HOOKED)
    assert not is_known("outline")
    assert not is_known("")


def test_declared_points_come_last() -> None:
    before, (row, advice) = point_names(), (TensorSpec(name, "int64", (1,)) for name in ("n", "yes"))
    made = DecisionPoint("for-test-point", features=[row], advice=advice, default=lambda _: 0)
    try:
        assert point_names() == (*before, made.name)
        assert is_known(made.name)
    finally:
        made.unregister()
    assert point_names() == before


def test_a_choice_needs_no_tensors_but_reads_any_shape_of_mask() -> None:
    choice = Choice(3, "legal")
    mask = np.array([[[0], [2], [0]]])
    assert choice.accept(1, {"legal": mask}) == 1
    assert choice.accept(0, {"mask": mask}) == choice.accept(0, {}) == 0
    with pytest.raises(AdviceError, match=r"a column that 'legal' allows \(1\), got int 2"):
        choice.accept(2, {"legal": mask})


def test_the_ends_of_a_range_are_allowed() -> None:
    number = Number(-1.5, 2.5)
    assert [number.accept(each) for each in (-1.5, 2.5)] == [-1.5, 2.5]
    for each in (math.nextafter(-1.5, -2), math.nextafter(2.5, 3)):
        with pytest.raises(
            AdviceError, match=r"expected a number of -1.5 to 2.5, got float .*; return the num"
        ):
            number.accept(each)
