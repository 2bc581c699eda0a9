# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EvictAdvisor`: what a policy sees and may answer, the counts and warnings, and how compilations follow."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.custom import feature, unregister
from passpilot.features.llvm.evict import DO_NOT_EVICT, FEATURES
from passpilot.features.point import find_point
from passpilot.passes.decision_counts import Stats
from passpilot.passes.emit import emit
from passpilot.passes.llvm_advisors import EvictAdvisor, PriorityAdvisor
from passpilot.plugin import _core
from passpilot.plugin.errors import (
    FeatureError,
    InputError,
    PasspilotWarning,
    RunnerSpecError,
    SpecMismatchError,
    UsageError,
)
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from passpilot.runners.spec import make_runner
from tests import stock
from tests.passes.allocation.pressure import allocated

Policy = Callable[[Observation], object]


def first_legal(obs: Observation) -> object:
    """Differs from LLVM's default, and is never wrong."""
    return obs["mask"][0].argmax()


def reluctant(obs: Observation) -> object:
    """Evicts only where it has to."""
    return DO_NOT_EVICT if obs["mask"][0, DO_NOT_EVICT] else first_legal(obs)


def site_of(obs: Observation) -> _core.EvictionSite:
    site = obs.site
    assert isinstance(site, _core.EvictionSite)
    return site


def test_default_is_llc(pressed: Path, pressed_by_llc: bytes) -> None:
    advisor = EvictAdvisor("default")
    assert advisor.start() is None
    assert allocated(pressed, advisor) == pressed_by_llc
    assert advisor.stats == Stats(
        decisions=0, accepted=0, refused=0, agreed=0, fallbacks=0, not_askable=0, seconds=0.0
    )
    assert advisor.report() == "evict advisor default: LLVM's own evictions; nothing was asked"


def test_echo_is_llc(pressed: Path, pressed_by_llc: bytes) -> None:
    advisor = EvictAdvisor(lambda obs: obs.default())
    assert allocated(pressed, advisor) == pressed_by_llc
    stats = advisor.stats
    assert stats.decisions == stats.agreed == stats.evictions + stats.kept
    assert stats.evictions > 5 < stats.kept


ANSWERS: dict[str, Callable[[int], object]] = {
    "int": int,
    "np.int64": np.int64,
    "np.uint8": np.uint8,
    "np.uint64": np.uint64,
    "array of int32": lambda column: np.array([column], np.int32),
    "array of no dimension": lambda column: np.array(column),
    "array of three dimensions": lambda column: np.full((1, 1, 1), column, np.int16),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_accepted_answers(pressed: Path, answer: str) -> None:
    plain = allocated(pressed, EvictAdvisor(first_legal))
    advisor = EvictAdvisor(lambda obs: ANSWERS[answer](int(obs["mask"][0].argmax())))
    assert allocated(pressed, advisor) == plain


def test_what_a_policy_sees(pressed: Path) -> None:
    functions: list[str] = []

    def decide(obs: Observation) -> object:
        site = site_of(obs)
        assert obs.point == "evict"
        assert list(obs) == [row.spec.name for row in FEATURES]
        assert [f"{view.dtype}{list(view.shape)}" for view in obs.values()] == [
            f"{row.spec.dtype}{list(row.spec.shape)}" for row in FEATURES
        ]
        assert obs.context == site.function.name
        if obs.context not in functions:
            functions.append(obs.context)
        assert [bool(each) for each in obs["mask"][0, : len(site.columns)]] == [
            column.is_legal for column in site.columns
        ]
        assert not obs["mask"][0, len(site.columns) : DO_NOT_EVICT].any()
        assert bool(obs["mask"][0, DO_NOT_EVICT]) is not site.must_evict
        default = obs.default()
        assert type(default) is int
        assert int(obs["evict_default"].item()) == default
        assert default == DO_NOT_EVICT or obs["mask"][0, default]
        with pytest.raises(ValueError, match="read-only"):
            obs["mask"][...] = 1
        return default

    advisor = EvictAdvisor(decide)
    allocated(pressed, advisor)
    assert functions == ["sums", "blend"]


def test_the_default_is_computed_only_when_called(pressed: Path) -> None:
    def seconds(policy: Policy) -> float:
        advisor = EvictAdvisor(policy)
        allocated(pressed, advisor)
        core = advisor._core
        assert core is not None
        assert (advisor.stats.agreed > 0) is (core.counts["default_seconds"] > 0)
        return core.counts["default_seconds"]

    assert seconds(lambda obs: obs.default()) > 0
    assert seconds(lambda obs: int(obs["evict_default"].item())) > 0
    assert seconds(first_legal) == 0


def test_views_stay_the_same_arrays(pressed: Path) -> None:
    kept: dict[str, object] = {}

    def decide(obs: Observation) -> object:
        kept.update(obs if not kept else {})
        assert all(obs[name] is view for name, view in kept.items())
        return obs.default()

    allocated(pressed, EvictAdvisor(decide))
    assert len(kept) == 21


def test_compulsory_evictions(pressed: Path, tmp_path: Path) -> None:
    """Whoever never evicts where it need not comes to ranges that cannot be spilled."""
    compulsory: list[float] = []

    def decide(obs: Observation) -> object:
        site = site_of(obs)
        if site.must_evict:
            compulsory.append(site.candidate.weight)
            assert not site.candidate.is_spillable
            assert not obs["mask"][0, DO_NOT_EVICT]
        return reluctant(obs)

    code = tmp_path / "program.o"
    advisor = EvictAdvisor(decide)
    code.write_bytes(allocated(pressed, advisor))
    assert len(compulsory) == advisor.stats.evictions > 0 < advisor.stats.kept
    assert set(compulsory) == {math.inf}
    stock.run("clang", code, "-o", tmp_path / "program")
    stock.run("clang", pressed, "-o", tmp_path / "stock")
    assert stock.run(tmp_path / "program") == stock.run(tmp_path / "stock") != b""


@pytest.fixture
def custom() -> Iterator[list[str]]:
    """The registers called by custom features, which are taken back at the end."""
    calls: list[str] = []

    @feature("float32[33]", point="evict")
    def interfering_weights(site: _core.EvictionSite) -> list[float]:
        calls.append(site.candidate.register)
        weights = [sum(each.weight for each in column.interferences) for column in site.columns]
        return weights + [0.0] * (32 - len(weights)) + [site.candidate.weight]

    @feature("int64[1]", point="evict")
    def segment_count(site: _core.EvictionSite) -> int:
        return len(site.candidate.segments)

    yield calls
    unregister("interfering_weights", point="evict")
    unregister("segment_count", point="evict")


def test_bound_custom_features(pressed: Path, custom: list[str]) -> None:
    class Decide:
        features = ("segment_count", "mask", "interfering_weights", "evict_default")

        def decide(self, obs: Observation) -> object:
            site = site_of(obs)
            assert tuple(obs) == self.features
            assert obs["segment_count"][0] == len(site.candidate.segments) > 0
            assert obs["interfering_weights"][32] == np.float32(site.candidate.weight)
            assert custom[-1] == site.candidate.register
            assert obs["evict_default"][0] == obs.default()
            return obs.default()

    advisor = EvictAdvisor(Decide)
    allocated(pressed, advisor)
    assert len(custom) == advisor.stats.decisions


def test_custom_features_that_are_not_bound(pressed: Path, custom: list[str]) -> None:
    def decide(obs: Observation) -> object:
        assert "segment_count" in obs
        assert "segment_count" not in tuple(obs)
        if not custom:
            weights = obs["interfering_weights"]
            assert (str(weights.dtype), weights.shape) == ("float32", (33,))
            with pytest.raises(FeatureError, match=r"obs\['wait'\]: expected a feature of the point evict"):
                _ = obs["wait"]
        return obs.default()

    advisor = EvictAdvisor(decide)
    allocated(pressed, advisor)
    assert len(custom) == 1 < advisor.stats.decisions


def test_features_of_another_point_are_not_offered() -> None:
    def decide(obs: Observation) -> object:
        return obs.default()

    decide.features = ("callee_users", "li_size")  # type: ignore[attr-defined]
    with pytest.raises(
        SpecMismatchError, match=r"point evict: expected features .*, got callee_users, li_size"
    ):
        EvictAdvisor(decide)


def test_counts_and_report(pressed: Path) -> None:
    advisor = EvictAdvisor(reluctant)
    allocated(pressed, advisor)
    stats = advisor.stats
    assert stats.decisions == stats.evictions + stats.kept
    assert (stats.fallbacks, stats.not_askable, stats.agreed) == (0, 0, 0)
    assert stats.microseconds_per_decision == pytest.approx(1e6 * stats.seconds / stats.decisions)
    lines = advisor.report().splitlines()
    assert lines[0] == "evict advisor reluctant:"
    assert [line.split()[:2] for line in lines[1:4]] == [
        [str(stats.decisions), "decisions"],
        [str(stats.evictions), "evictions"],
        [str(stats.kept), "kept"],
    ]
    allocated(pressed, advisor)
    assert advisor.stats.decisions == 2 * stats.decisions


@pytest.mark.parametrize("opt_level", [0, 2])
def test_nobody_asked_is_a_warning(opt_level: int, tmp_path: Path) -> None:
    """The fast allocator of -O0 never asks, and a function with few values needs no eviction."""
    source = stock.clang("int f(int x) { return x + 1; }", tmp_path / "in.bc")
    module = Module.read(source)
    with pytest.warns(PasspilotWarning, match="evict advisor: runner const:32 was never asked: the register"):
        emit(module, "obj", advisors=[EvictAdvisor("const:32")], opt_level=opt_level)


@pytest.mark.parametrize("limit", [-1, 1.5, float("nan"), True, "3"])
def test_wrong_limits(limit: object) -> None:
    with pytest.raises(UsageError, match="evict advisor: expected an eviction limit of 0 to 4294967295, got"):
        EvictAdvisor("default", eviction_limit=limit)  # type: ignore[arg-type]


def test_wrong_error_policy() -> None:
    with pytest.raises(
        UsageError, match="evict advisor: expected on_error 'fail' or 'default', got 'ignore'"
    ):
        EvictAdvisor("default", on_error="ignore")  # type: ignore[arg-type]


def test_the_eviction_limit_takes_columns_away(pressed: Path) -> None:
    """A policy that always evicts has to stop evicting the same range."""

    def evicts(obs: Observation) -> object:
        columns = np.flatnonzero(obs["mask"][0, :DO_NOT_EVICT])
        return columns[0] if len(columns) else DO_NOT_EVICT

    def decisions(limit: int) -> Stats:
        advisor = EvictAdvisor(evicts, eviction_limit=limit)
        allocated(pressed, advisor)
        return advisor.stats

    assert decisions(1).evictions < decisions(100).evictions


def test_one_runner_serves_one_advisor() -> None:
    runner = make_runner("random:1", find_point("evict"))
    EvictAdvisor(runner)
    with pytest.raises(RunnerSpecError, match="already used by another advisor; make a new one"):
        EvictAdvisor(runner)


def test_a_runner_of_another_point_is_refused() -> None:
    with pytest.raises(SpecMismatchError, match=r"mask is wanted as int64\[1,33\] and not offered"):
        PriorityAdvisor(make_runner("random:1", find_point("evict")))
    with pytest.raises(SpecMismatchError, match=r"expected the advice priority as float64\[1\], got int64"):
        PriorityAdvisor(make_runner("const:1", find_point("evict")))


def test_an_advisor_advises_one_compilation_at_a_time(pressed: Path) -> None:
    refused: list[str] = []

    def use() -> None:
        with pytest.raises(InputError, match="evict advisor: another compilation is using it") as caught:
            allocated(pressed, advisor)
        refused.append(str(caught.value))

    def decide(obs: Observation) -> object:
        if not refused:
            use()
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        return obs.default()

    advisor = EvictAdvisor(decide)
    allocated(pressed, advisor)
    assert len(refused) == 2


def test_a_compilation_within_a_decision(pressed: Path, pressed_by_llc: bytes) -> None:
    """Another advisor allocates another module meanwhile; neither disturbs the other."""
    inner: list[bytes] = []

    def decide(obs: Observation) -> object:
        if len(inner) < 3:
            inner.append(allocated(pressed, EvictAdvisor(lambda obs: obs.default())))
        return obs.default()

    assert allocated(pressed, EvictAdvisor(decide)) == pressed_by_llc
    assert inner == [pressed_by_llc] * 3


def test_compilations_in_threads_are_independent(pressed: Path) -> None:
    policies: list[Policy] = [first_legal, reluctant, lambda obs: obs.default()]
    alone = [allocated(pressed, EvictAdvisor(policy)) for policy in policies]
    together: dict[int, bytes] = {}

    def compile_often(number: int) -> None:
        for _ in range(4):
            together[number] = allocated(pressed, EvictAdvisor(policies[number % 3]))

    threads = [threading.Thread(target=compile_often, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[number] for number in range(6)] == alone * 2
    assert len(set(alone)) == 3
