# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of passes share: programs with some decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from passpilot.passes import registry
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


@pytest.fixture
def restored_registry() -> Iterator[None]:
    """The passes that a test registers are gone after it."""
    before = dict(registry._PASSES)
    yield
    registry._PASSES.clear()
    registry._PASSES.update(before)
