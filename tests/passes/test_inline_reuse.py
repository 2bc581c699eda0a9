# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001
"""`InlineAdvisor`: what of a runner, a feature and the counts belongs to whom."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passpilot.features.custom import feature, unregister
from passpilot.features.inline import DECISION
from passpilot.features.point import find_point
from passpilot.passes.inline import InlineAdvisor
from passpilot.plugin import _core
from passpilot.plugin.errors import FeatureError, PasspilotWarning, RunnerSpecError
from passpilot.plugin.module import Module, optimize
from passpilot.runners.base import Runner, Tensor
from passpilot.runners.python import Observation
from passpilot.runners.spec import make_runner

PIPELINE = "default<O2>"


class Yes(Runner):
    """A runner of somebody else's."""

    inputs = ()
    output = DECISION

    def evaluate(self) -> bool:
        return True


def const() -> Runner:
    return make_runner("const:1", find_point("inline"))


@pytest.mark.parametrize("make", [const, Yes])
def test_a_runner_has_one_advisor(make: Callable[[], Runner]) -> None:
    runner = make()
    InlineAdvisor(runner)
    with pytest.raises(RunnerSpecError, match="expected one that no advisor has had"):
        InlineAdvisor(runner)


def test_warnings_are_about_their_own_compilation(program: Path) -> None:
    asked: list[Observation] = []

    def decide(obs: Observation) -> bool:
        asked.append(obs)
        if len(asked) == 3:
            raise ValueError
        return False

    advisor = InlineAdvisor(decide, on_error="default")
    with pytest.warns(PasspilotWarning, match="1 of "):
        optimize(Module.read(program), PIPELINE, [advisor])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimize(Module.read(program), PIPELINE, [advisor])
    with pytest.warns(PasspilotWarning, match="was never asked"):
        optimize(Module.read(program), "instcombine", [advisor])


@pytest.fixture
def computed() -> Iterator[list[int]]:
    """What the custom feature `name_length` gave."""
    values: list[int] = []

    @feature("int64[1]")
    def name_length(site: _core.CallSite) -> int:
        values.append(len(site.callee.name))
        return values[-1]

    yield values
    unregister("name_length")


def test_a_logged_feature_is_computed_once(program: Path, tmp_path: Path, computed: list[int]) -> None:
    kept: list[Tensor] = []

    def decide(obs: Observation) -> bool:
        kept.append(obs["name_length"])
        return obs.default()

    advisor = InlineAdvisor(decide, log=str(tmp_path / "log"))
    optimize(Module.read(program), PIPELINE, [advisor])
    assert len(computed) == advisor.stats.decisions > 1
    assert [int(each[0]) for each in kept] == computed


def test_a_feature_registered_too_late(program: Path) -> None:
    advisor = InlineAdvisor(lambda obs: bool(obs["late"][0]))

    @feature("int64[1]")
    def late(site: _core.CallSite) -> int:
        return 1

    try:
        with pytest.raises(FeatureError, match="registered after the advisor was made"):
            optimize(Module.read(program), PIPELINE, [advisor])
    finally:
        unregister("late")
