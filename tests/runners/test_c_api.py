# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python side of the C API: points in lines of text, and the host of a compiler other than LLVM."""

from __future__ import annotations

from ctypes import c_double, c_int64

import numpy as np
import pytest

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import PolicyError, SpecMismatchError
from passpilot.runners.c_api import ForeignHost, read_point

ROWS = "\nint64[1] yes\nint64[1] own\nint64[1] size\nfloat32[2,3] cost per column"


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("flag", Flag()),
        ("choice 7 size", Choice(7, "size")),
        ("choice 3 a mask", Choice(3, "a mask")),
        ("number -1.5 2e9", Number(-1.5, 2e9)),
        ("number -inf inf", Number(float("-inf"), float("inf"))),
    ],
)
def test_domains(text: str, domain: object) -> None:
    assert read_point(f"mine\n{text}{ROWS}").domain == domain


def test_the_default_is_offered_behind_the_features() -> None:
    point = read_point(f"mine\nflag{ROWS}")
    assert point.name == "mine"
    assert point.advice == TensorSpec("yes", "int64", (1,))
    assert point.default == TensorSpec("own", "int64", (1,))
    assert point.features == (
        TensorSpec("size", "int64", (1,)),
        TensorSpec("cost per column", "float32", (2, 3)),
        point.default,
    )


def test_the_host_has_features_and_a_default_but_no_site() -> None:
    point, size = read_point(f"mine\nflag{ROWS}"), np.array([3])
    value = c_int64(1)
    host = ForeignHost(point, {"size": size}, value)
    assert host.default() is True
    assert host.feature("size") is size
    own = host.feature("own")
    assert (str(own.dtype), own.tolist()) == ("int64", [1])
    value.value = 0
    assert host.default() is False
    assert host.feature("own").tolist() == [0]
    with pytest.raises(SpecMismatchError, match="other"):
        host.feature("other")
    with pytest.raises(PolicyError, match="the compiler around the decision function is not LLVM or MLIR"):
        _ = host.site


def test_a_default_that_is_no_flag_is_a_number() -> None:
    for domain, value in (("number 0 9", c_double(0.5)), ("choice 9 size", c_int64(1))):
        host = ForeignHost(read_point(f"mine\n{domain}{ROWS}"), {}, value)
        found = host.default()
        assert (type(found), found) == (type(value.value), value.value)
