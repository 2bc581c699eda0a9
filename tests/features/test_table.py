# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointTable`: what a pass offers, in order."""

from __future__ import annotations

from passpilot.features.custom import feature, unregister
from passpilot.features.domain import Number
from passpilot.features.point import row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable

DOMAIN = Number(0.0, 1.0)
TABLE = PointTable(
    "advised-unroll",
    (row("first", "the first"), row("second", "the second", "float32", (2, 3))),
    TensorSpec("factor", "float32", (2,)),
    DOMAIN,
)


def test_the_default_is_named_and_shaped_as_the_advice() -> None:
    assert TABLE.default == TensorSpec("factor_default", "float32", (2,))


def test_the_default_follows_the_rows_and_custom_features_follow_it() -> None:
    feature("int8[1]", name="for_test_table", point=TABLE.name)(len)
    try:
        rows, point = TABLE.table(), TABLE.point()
    finally:
        unregister("for_test_table", point=TABLE.name)
    assert [each.spec.name for each in rows] == ["first", "second", "factor_default", "for_test_table"]
    assert rows[:2] == TABLE.rows
    assert rows[2].doc == "what its default decides; computed only if asked for"
    assert [bool(each.origin) for each in rows] == [False, False, False, True]
    assert point.features == tuple(each.spec for each in rows)
    assert (point.name, point.advice, point.default) == (TABLE.name, TABLE.advice, TABLE.default)
    assert point.domain is DOMAIN


def test_a_row_is_one_integer_unless_it_says_more() -> None:
    assert row("x", "text").spec == TensorSpec("x", "int64", (1,))
    assert TABLE.rows[1].spec == TensorSpec("second", "float32", (2, 3))
    assert (TABLE.rows[1].doc, TABLE.rows[1].origin) == ("the second", "")
