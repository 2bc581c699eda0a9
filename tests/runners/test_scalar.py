# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of one element: each operator gives what numpy gives, as a `bool` or a plain array."""

from __future__ import annotations

import operator
from collections.abc import Callable

import numpy as np
import pytest

from passpilot.runners.scalar import ScalarTensor

COMPARISONS = (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt)
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod)


def scalar(value: float, dtype: str = "int64") -> ScalarTensor:
    return np.array([value], dtype).view(ScalarTensor)


@pytest.mark.parametrize("compare", COMPARISONS)
def test_comparisons(compare: Callable[[object, object], object]) -> None:
    for other in (4, 5, 6, 4.5, 5.0, 5.5):
        for dtype in ("int64", "float32"):
            assert compare(scalar(5, dtype), other) is compare(5, other)
            assert compare(other, scalar(5, dtype)) is compare(other, 5)
    for value in (4, 5, 6):
        assert compare(scalar(5), scalar(value)) is compare(5, value)


def test_a_float_is_compared_as_python_sees_it() -> None:
    """numpy would round 0.1 to float32 first."""
    found: list[object] = [scalar(0.1, "float32") == 0.1, scalar(0.1, "float32") > 0.1]
    found.append(scalar(1 << 62) < (1 << 62) + 1)
    assert found == [False, True, True]
    assert {type(each) for each in found} == {bool}


@pytest.mark.parametrize("other", [True, np.int64(5), np.array([5, 6]), None, "x"])
def test_other_things_are_compared_by_numpy(other: object) -> None:
    made: object = scalar(5) == other
    wanted: object = np.array([5]) == other
    assert isinstance(made, np.ndarray)
    assert np.array_equal(made, np.asarray(wanted))


@pytest.mark.parametrize("calculate", ARITHMETIC)
def test_arithmetic(calculate: Callable[[object, object], object]) -> None:
    for other in (2, 2.5, np.array([2, 3]), scalar(3)):
        plain = other.view(np.ndarray) if isinstance(other, ScalarTensor) else other
        for made, wanted in (
            (calculate(scalar(7), other), calculate(np.array([7]), plain)),
            (calculate(other, scalar(7)), calculate(plain, np.array([7]))),
        ):
            assert type(made) is np.ndarray
            assert isinstance(wanted, np.ndarray)
            assert (made.dtype, made.tolist()) == (wanted.dtype, wanted.tolist())
