# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from passpilot.features.llvm import priority
from passpilot.features.spec import TensorSpec
from passpilot.plugin import _core
from passpilot.runners.native import spec_of


def test_table_is_that_of_the_core() -> None:
    point = _core.point("priority")
    assert [spec_of(spec) for spec in point.features] == [row.spec for row in priority.FEATURES]
    assert spec_of(point.default) == TensorSpec("priority_default", "float64", (1,))
    assert spec_of(point.advice) == TensorSpec("priority", "float64", (1,))


def test_point_offers_the_table_and_then_the_default() -> None:
    point = priority.TABLE.point()
    assert point.name == "priority"
    assert point.features[:4] == (*(row.spec for row in priority.FEATURES), priority.TABLE.default)
    assert point.advice == TensorSpec("priority", "float64", (1,))
    assert point.domain.accept(2**32 - 1) == 2**32 - 1
