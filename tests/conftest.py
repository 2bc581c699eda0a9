# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all tests share: the corpus, and that none leaves to the next what it has registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passpilot.features.point import POINTS, SHIPPED, point_names
from passpilot.plugin.registry import snapshot
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


def _registered() -> set[tuple[object, str]]:
    """What there is beside what comes with passpilot, with what holds it."""
    points = {("point", name) for name in {*point_names()} - {*POINTS, *SHIPPED}}
    return points | {(registry, name) for registry in snapshot() for name in registry.added()}
