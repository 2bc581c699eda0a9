# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.advisor`: the advisor of any point, by the point's name."""

from __future__ import annotations

from pathlib import Path

import pytest

import passpilot
from passpilot.features.catalogue import HOOKED, PASS_POINTS
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.plugin.errors import UsageError
from tests import stock


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stock.clang(stock.MANY_CALLS, tmp_path_factory.mktemp("advisor") / "in.bc")


def test_a_point_of_llvm_has_the_class_of_its_row() -> None:
    for name, row in HOOKED.items():
        advisor = passpilot.advisor(name, "const:0")
        assert type(advisor) is getattr(passpilot, row.advisor)
        assert repr(advisor) == f"<{row.advisor} {name} const:0>"


def test_a_point_of_a_pass_has_the_one_class() -> None:
    for name in PASS_POINTS:
        advisor = passpilot.advisor(name, "default")
        assert (type(advisor), advisor.point) == (PointAdvisor, name)


def test_it_decides_and_takes_the_options(source: Path, tmp_path: Path) -> None:
    log = str(tmp_path / "a.log")
    with passpilot.advisor("inline", lambda _obs: True, log=log, size_budget=1.2) as advisor:
        with pytest.warns(passpilot.PasspilotWarning, match=r"had grown over 1\.2 times its size"):
            passpilot.optimize(passpilot.Module.read(source), "O2", advisor)
        stats = advisor.stats
    assert (
        stats.decisions
        == stats.accepted + stats.budget_hits
        == len(passpilot.read_log(log).to_arrays()["inlining_decision"])
    )
    assert stats.budget_hits > 0 == stats.refused
    assert (
        passpilot.advisor("evict", "const:32", eviction_limit=3, timeout=1, on_error="default").point
        == "evict"
    )


def test_options_that_a_point_does_not_have_are_refused() -> None:
    with pytest.raises(UsageError, match="inline advisor: expected a size budget of 0 or more, got -1"):
        passpilot.advisor("inline", "const:0", size_budget=-1)
    for point in ("priority", "advised-size"):
        with pytest.raises(TypeError, match="unexpected keyword argument 'size_budget'"):
            passpilot.advisor(point, "const:0", size_budget=2)
    with pytest.raises(UsageError, match="nowhere"):
        passpilot.advisor("nowhere", "const:0")
