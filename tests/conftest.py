# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all tests share: the corpus, and that none leaves a custom feature to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passpilot.features.custom import registered
from passpilot.features.point import POINTS
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


@pytest.fixture(autouse=True, scope="module")
def no_feature_stays() -> Iterator[None]:
    """Fails the module that leaves custom features behind, rather than whichever runs after it."""
    yield
    left = {point: names for point in POINTS if (names := sorted(registered(point)))}
    assert left == {}
