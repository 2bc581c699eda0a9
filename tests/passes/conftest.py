# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of passes share: a program with some decisions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import stock


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bitcode with debug information, compiled once."""
    return stock.clang(stock.MANY_CALLS, tmp_path_factory.mktemp("program") / "in.bc", "-g")
