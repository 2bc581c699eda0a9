# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all tests share: the corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.corpus.build import build
from tests.corpus.programs import programs


@pytest.fixture(scope="session")
def corpus() -> Callable[[str, str], Path]:
    """`corpus("zstd", "Oz")` is the linked bitcode of a real program, built on first use and kept."""

    def whole(name: str, level: str) -> Path:
        problems = build([name])
        if problems:
            pytest.fail("\n".join(problems), pytrace=False)
        return programs()[name].whole(level)

    return whole
