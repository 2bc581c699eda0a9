# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from collections.abc import Callable

import numpy as np
import pytest

from passpilot.features.point import Flag, find_point, find_table
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import AdviceError, SpecMismatchError, UsageError


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


def test_select_keeps_the_order_asked_for() -> None:
    specs = find_point("inline").select(["threshold", "inlining_default", "sroa_savings"])
    assert [spec.name for spec in specs] == ["threshold", "inlining_default", "sroa_savings"]


def test_select_names_all_that_is_not_offered() -> None:
    with pytest.raises(SpecMismatchError, match="got colour, taste; `passpilot features`"):
        find_point("inline").select(["colour", "threshold", "taste"])


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
    with pytest.raises(UsageError, match="expected one of inline, got 'outline'"):
        find("outline")
