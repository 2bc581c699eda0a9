# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numba compiles with advisors inside a block of `advised_numba`, and as ever outside."""

from __future__ import annotations

import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import numba
import numpy as np
import pytest
from numba.core.registry import cpu_target

import passpilot
from passpilot.llvmlite import advised_numba
from tests.command import GENEROUS

Function = Callable[..., float]
ARRAY = np.linspace(0.0, 10.0, 1000)


def fresh() -> Function:
    """A function that no test before has compiled, with one call to decide on."""

    @numba.njit
    def polynomial(x: float) -> float:
        return 3.0 * x * x + 2.0 * x + 1.0

    @numba.njit
    def total(array: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        result = 0.0
        for index in range(array.shape[0]):
            result += polynomial(array[index])
        return result

    return cast("Function", total)


EXPECTED = float((3 * ARRAY**2 + 2 * ARRAY + 1).sum())


def text_of(function: Function) -> str:
    """The IR of the one variant that was compiled."""
    (text,) = function.inspect_llvm().values()  # type: ignore[attr-defined]
    return str(text)


def calls(function: Function) -> int:
    """Calls of the helper that are left in the function."""
    return sum(" call " in line and "polynomial" in line for line in text_of(function).splitlines())


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Numba is as it was after every test."""
    codegen = cpu_target.target_context.codegen()
    before = dict(vars(codegen))
    yield
    assert dict(vars(codegen)) == before
    assert codegen._library_class.__module__ == "numba.core.codegen"


@pytest.mark.parametrize("inline", [True, False])
def test_a_policy_decides(inline: bool) -> None:
    function = fresh()
    asked: list[str] = []

    def decide(obs: passpilot.Observation) -> bool:
        asked.append(obs.site.callee.name)
        return inline

    with advised_numba(advisors=[passpilot.InlineAdvisor(decide)]):
        assert function(ARRAY) == pytest.approx(EXPECTED)
    assert any("polynomial" in name for name in asked)
    assert (calls(function) == 0) == inline
    with advised_numba():
        assert function(ARRAY) == pytest.approx(EXPECTED), "it stays compiled"
    assert (calls(function) == 0) == inline
