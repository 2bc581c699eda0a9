# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of passes share: programs with some decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import stock
from tests.passes import pressure


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bitcode with debug information, compiled once."""
    return stock.clang(stock.MANY_CALLS, tmp_path_factory.mktemp("program") / "in.bc", "-g")


@pytest.fixture(scope="session")
def pressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Optimized bitcode with more live values than registers, compiled once."""
    return pressure.compiled(tmp_path_factory.mktemp("pressed"))


@pytest.fixture(scope="session")
def pressed_by_llc(pressed: Path) -> bytes:
    """The object file that stock llc makes of it."""
    return pressure.by_llc(pressed)
