# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The types of numpy and Python in which a policy may answer, at points of each kind."""

from __future__ import annotations

import array
import itertools
import re
from typing import Final

import numpy as np
import pytest

from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.spec import TensorSpec
from passpilot.passes.decision_point import DecisionPoint
from passpilot.plugin.errors import AdviceError
from tests.passes.decision_point.example import NAME
from tests.passes.decision_point.test_errors import once

pytestmark = pytest.mark.usefixtures("restored_registries")

INTEGERS: Final = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
NUMBERS: Final = itertools.count()
"""Of the points, each of which needs a name."""


def answered(answer: object, domain: Domain, dtype: str = "int64") -> object:
    """What a pass gets if the policy's answer is `answer`."""
    point = DecisionPoint[float](
        f"{NAME}-{next(NUMBERS)}",
        features=[TensorSpec("value", "int64", (1,))],
        advice=TensorSpec("answer", dtype, (1,)),
        domain=domain,
        default=lambda _: 0,
    )
    (given,) = once(lambda: point.ask({"value": 1}), point.advisor(lambda _: answer))
    return given


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str) -> None:
    assert answered(np.dtype(dtype).type(3), Choice(4)) == 3
    assert answered(np.array([[2]], dtype), Choice(4)) == 2
    assert answered(np.dtype(dtype).type(1), Flag()) is True
    largest = float(np.iinfo(dtype).max)
    assert answered(np.iinfo(dtype).max, Number(-1e30, 1e30), "float64") == largest
    assert answered(np.dtype(dtype).type(np.iinfo(dtype).max), Number(-1e30, 1e30), "float64") == largest
    if dtype.startswith("int"):
        smallest = np.dtype(dtype).type(np.iinfo(dtype).min)
        assert answered(smallest, Number(-1e30, 1e30), "float64") == float(np.iinfo(dtype).min)
        with pytest.raises(AdviceError, match="expected"):
            answered(np.dtype(dtype).type(-1), Choice(4))


@pytest.mark.parametrize(
    "answer", [np.float32(2.5), np.float64(2.5), np.array([2.5]), 2.5, array.array("d", [2.5])]
)
def test_numbers(answer: object) -> None:
    assert answered(answer, Number(0, 4), "float64") == 2.5
    with pytest.raises(AdviceError, match="got"):
        answered(answer, Choice(4))


def test_integers_that_only_a_double_holds() -> None:
    wide = Number(-1e30, 1e30)
    assert answered(1 << 64, wide, "float64") == float(1 << 64)
    assert answered(-(1 << 70), wide, "float64") == -float(1 << 70)
    for large in (1 << 100, -(1 << 100), 10**400):
        with pytest.raises(AdviceError, match=r"expected a number of -1e[+]30 to 1e[+]30, got"):
            answered(large, wide, "float64")


@pytest.mark.parametrize("answer", [True, np.True_, np.array([True]), 1, np.uint8(1)])
def test_flags(answer: object) -> None:
    assert answered(answer, Flag()) is True


@pytest.mark.parametrize(
    "answer",
    [
        np.float16(1), np.complex64(1), np.array([1, 1]), np.array([], np.int64), b"\1", bytearray(b"\1"),
        memoryview(b"\1"), "1", None, [1], np.datetime64(1, "s"), 1 << 64, -(1 << 64), 2,
    ],
    ids=lambda answer: type(answer).__name__,
)  # fmt: skip
def test_what_is_no_flag(answer: object) -> None:
    with pytest.raises(AdviceError, match="expected True, False, 0 or 1, got"):
        answered(answer, Flag())


@pytest.mark.parametrize("answer", [True, np.True_, np.array([False])])
def test_a_flag_is_no_number(answer: object) -> None:
    for domain, dtype in ((Choice(4), "int64"), (Number(0, 4), "float64")):
        with pytest.raises(AdviceError, match="got"):
            answered(answer, domain, dtype)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("x" * 58, f"got str '{'x' * 58}'"),
        ("x" * 59, f"got str '{'x' * 56}..."),
        (None, "got None"),
        ([1], r"got list [1]"),
    ],
    ids=("whole", "cut", "none", "list"),
)
def test_a_wrong_answer_is_shown_in_short(answer: object, told: str) -> None:
    with pytest.raises(AdviceError, match=f"{re.escape(told)};"):
        answered(answer, Flag())
