# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all tests share: the corpus, and that none leaves to the next what it has registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passpilot.features.catalogue import HOOKED, PASS_POINTS
from passpilot.features.custom import registered
from passpilot.features.point import point_names
from passpilot.passes.python.registry import LLVM, MLIR
from tests.corpus.build import build
from tests.corpus.programs import programs

pytest_plugins = ["tests.fixtures.programs", "tests.fixtures.registry", "tests.fixtures.remote"]


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
def nothing_stays() -> Iterator[None]:
    """Fails the module that leaves features, points or passes behind, rather than whichever runs after it."""
    before = _registered()
    yield
    assert _registered() == before


def _registered() -> tuple[set[str], ...]:
    """What there is beside what comes with passpilot."""
    points = point_names()
    features = {f"{point}: {name}" for point in points for name in registered(point)}
    return features, {*points} - {*HOOKED, *PASS_POINTS}, LLVM.added(), MLIR.added()
