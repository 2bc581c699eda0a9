# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of passes share: programs with some decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from passpilot.features import custom
from passpilot.features.point import POINTS, SHIPPED, point_names, withdraw
from passpilot.passes.registry import LLVM, MLIR
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
    yield
    for registry in (LLVM, MLIR):
        for name in registry.added():
            registry.unregister(name)


@pytest.fixture
def restored_points() -> Iterator[None]:
    """The points that a test declares are gone after it, with their features."""
    yield
    for name in set(point_names()) - {*POINTS, *SHIPPED}:
        for feature in list(custom.registered(name)):
            custom.unregister(feature, point=name)
        withdraw(name)
