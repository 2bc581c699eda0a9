# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from passpilot.features.llvm import evict
from passpilot.features.spec import TensorSpec
from passpilot.plugin import _core
from passpilot.runners.native import spec_of


def test_table_is_that_of_the_core() -> None:
    """The core has it from LLVM itself."""
    point = _core.point("evict")
    assert [spec_of(spec) for spec in point.features] == [row.spec for row in evict.FEATURES]
    assert spec_of(point.default) == TensorSpec("evict_default", "int64", (1,))
    assert spec_of(point.advice) == TensorSpec("index_to_evict", "int64", (1,))


def test_size_is_that_of_an_observation_in_llvm() -> None:
    assert sum(row.spec.nbytes for row in evict.FEATURES) == 3436


def test_what_is_scaled_is_a_float() -> None:
    kinds = {(row.doc.endswith("; scaled"), str(row.spec)) for row in evict.FEATURES}
    assert kinds == {(True, "float32[1,33]"), (False, "int64[1,33]"), (False, "float32[1]")}


def test_point_offers_the_table_and_then_the_default() -> None:
    point = evict.TABLE.point()
    assert point.name == "evict"
    assert point.features[:22] == (*(row.spec for row in evict.FEATURES), evict.TABLE.default)
    assert point.advice == TensorSpec("index_to_evict", "int64", (1,))
    assert point.domain.accept(evict.DO_NOT_EVICT) == evict.COLUMNS - 1 == 32
