# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001
"""The decision log of a compilation, and its replay."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passpilot.features.custom import feature, unregister
from passpilot.features.llvm.inline import FEATURES
from passpilot.features.log.reader import read_log
from passpilot.passes.emit import emit
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.errors import AdviceError, InputError, LogError, PasspilotWarning, PolicyError
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import stock
from tests.features.log import minimal_reader

PIPELINE = "default<O2>"


def every_third(obs: Observation) -> bool:
    site = obs.site
    assert isinstance(site, _core.CallSite)
    return site.ordinal % 3 != 1


def compiled(program: Path, advisor: InlineAdvisor, pipeline: str = PIPELINE) -> tuple[bytes, bytes]:
    """Bitcode and object file."""
    module = Module.read(program)
    optimize(module, pipeline, [advisor])
    return module.bitcode(), emit(module)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "decisions.log"


@pytest.fixture
def custom() -> Iterator[None]:
    @feature("float64[2]")
    def depth_and_frequency(site: _core.CallSite) -> list[float]:
        return [site.loop_depth, site.block_frequency]

    yield
    unregister("depth_and_frequency")


def test_what_a_log_holds(program: Path, log: Path, custom: None) -> None:
    seen: list[tuple[object, ...]] = []

    def decide(obs: Observation) -> bool:
        site = obs.site
        assert isinstance(site, _core.CallSite)
        place = site.debug_location
        where = f"{place.file}:{place.line}:{place.column}" if place else ""
        values = {name: obs[name].tolist() for name in obs}
        values["depth_and_frequency"] = [site.loop_depth, site.block_frequency]
        values["inlining_default"] = [int(obs.default())]
        values["inlining_decision"] = [int(every_third(obs))]
        seen.append((site.caller.name, site.callee.name, where, values))
        return every_third(obs)

    compiled(program, InlineAdvisor(decide, log=str(log)))
    reader = read_log(log)
    names = [row.spec.name for row in FEATURES]
    names += ["depth_and_frequency", "inlining_default", "inlining_decision"]
    assert [spec.name for spec in reader.features] == names
    logged = [
        (
            each.caller,
            each.callee,
            each.location,
            {name: value.tolist() for name, value in each.tensors.items()},
        )
        for each in reader
    ]
    assert logged == seen
    assert [each.index for each in reader] == list(range(len(seen)))
    assert len(seen) > 10


def test_readers_of_llvm_understand_it(program: Path, log: Path, custom: None) -> None:
    compiled(program, InlineAdvisor(every_third, log=str(log)))
    arrays = read_log(log).to_arrays()
    records = minimal_reader.read(log)
    assert [number for _, number, _, _ in records] == list(range(len(arrays["callee_users"])))
    assert {context for context, _, _, _ in records} == {""}
    for name, array in arrays.items():
        assert [values[name] for _, _, values, _ in records] == array.tolist()


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "Os", "Oz"])
def test_a_replay_gives_the_same_bytes(program: Path, log: Path, level: str) -> None:
    pipeline = f"default<{level}>"
    first = compiled(program, InlineAdvisor(every_third, log=str(log)), pipeline)
    with InlineAdvisor(f"replay:{log}") as advisor:
        assert compiled(program, advisor, pipeline) == first
        assert advisor.stats.decisions == len(list(read_log(log)))
    assert first[0] != stock.opt(program, pipeline)[0]


@pytest.mark.filterwarnings("ignore:.* decisions went to the default, because")
@pytest.mark.usefixtures("custom")
def test_a_replay_of_a_real_unit(corpus: Callable[[str, str], Path], log: Path) -> None:
    source, pipeline = corpus("libyaml", "Oz").with_name("emitter.c.bc"), "default<Oz>"
    first = compiled(source, InlineAdvisor("random:11", log=str(log)), pipeline)
    again = log.with_name("again.log")  # the program grows over the size budget
    with InlineAdvisor(f"replay:{log}", log=str(again)) as advisor:
        assert compiled(source, advisor, pipeline) == first
    assert again.read_bytes() == log.read_bytes()


def test_a_log_replays_only_its_own_compilation(program: Path, log: Path) -> None:
    compiled(program, InlineAdvisor(every_third, log=str(log)))
    with (
        InlineAdvisor(f"replay:{log}") as advisor,
        pytest.raises(
            AdviceError, match=r"inline advisor at decision \d+ .*: replay .*decisions\.log at decision"
        ),
    ):
        compiled(program, advisor, "default<Oz>")


def test_a_log_is_of_one_compilation(program: Path, log: Path) -> None:
    advisor = InlineAdvisor(every_third, log=str(log))
    compiled(program, advisor)
    before = log.read_bytes()
    with pytest.raises(LogError, match=r"decisions\.log: an earlier compilation has written it"):
        compiled(program, advisor)
    assert log.read_bytes() == before


def test_a_failed_compilation_leaves_no_log(program: Path, log: Path) -> None:
    def decide(obs: Observation) -> bool:
        site = obs.site
        assert isinstance(site, _core.CallSite)
        if site.ordinal == 5:
            raise ValueError("stop")
        return True

    advisor = InlineAdvisor(decide, log=str(log))
    with pytest.raises(PolicyError):
        compiled(program, advisor)
    assert list(log.parent.iterdir()) == []
    with pytest.raises(InputError, match="no-such-pass"):
        compiled(program, InlineAdvisor(every_third, log=str(log)), "no-such-pass")
    assert list(log.parent.iterdir()) == []


def test_an_advisor_in_use_keeps_its_log(program: Path, log: Path) -> None:
    """A second compilation, nested or in a thread, is refused and does not touch the log of the first."""
    refused: list[str] = []

    def use() -> None:
        with pytest.raises(InputError, match="another compilation is using it") as caught:
            compiled(program, advisor)
        refused.append(str(caught.value))

    def decide(obs: Observation) -> bool:
        if not refused:
            use()
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        return every_third(obs)

    advisor = InlineAdvisor(decide, log=str(log))
    code = compiled(program, advisor)
    assert len(refused) == 2
    with InlineAdvisor(f"replay:{log}") as replay:
        assert compiled(program, replay) == code
    assert [path.name for path in log.parent.iterdir()] == [log.name]


def test_a_log_that_cannot_be_written(program: Path, tmp_path: Path) -> None:
    for on_error in ("fail", "default"):
        with pytest.raises(LogError, match=r"decision log .*none/log: expected a file to write"):
            compiled(program, InlineAdvisor(every_third, log=str(tmp_path / "none" / "log")))
        with pytest.raises(LogError, match=r"decision log /dev/full.*No space left"):
            compiled(program, InlineAdvisor(every_third, log="/dev/full", on_error=on_error))


def test_fallbacks_are_logged_as_what_was_done(program: Path, log: Path) -> None:
    def decide(obs: Observation) -> bool:
        site = obs.site
        assert isinstance(site, _core.CallSite)
        if site.ordinal % 2:
            raise ValueError("odd")
        return not obs.default()

    with pytest.warns(PasspilotWarning, match="fell back"):
        first = compiled(program, InlineAdvisor(decide, log=str(log), on_error="default"))
    arrays = read_log(log).to_arrays(["inlining_default", "inlining_decision"])
    same = arrays["inlining_default"] == arrays["inlining_decision"]
    assert same[:, 0].tolist() == [bool(i % 2) for i in range(len(same))]
    with InlineAdvisor(f"replay:{log}") as replay:
        assert compiled(program, replay) == first


def test_after_a_custom_feature_that_fails_the_others_are_not_computed(program: Path, log: Path) -> None:
    """Neither is in the log of that decision: both are zero."""
    computed: list[int] = []

    @feature("int64[1]")
    def fails_at_the_second(call: _core.CallSite) -> int:
        if call.ordinal == 1:
            raise ValueError("no idea")
        return 7

    @feature("int64[1]")
    def behind_it(call: _core.CallSite) -> int:
        computed.append(call.ordinal)
        return 8

    try:
        with pytest.warns(PasspilotWarning, match="fell back"):
            compiled(program, InlineAdvisor(lambda _: False, log=str(log), on_error="default"))
    finally:
        unregister("fails_at_the_second")
        unregister("behind_it")
    arrays = read_log(log).to_arrays(["fails_at_the_second", "behind_it"])
    assert 1 not in computed
    assert computed[:2] == [0, 2]
    for name, usual in (("fails_at_the_second", 7), ("behind_it", 8)):
        assert arrays[name][:3, 0].tolist() == [usual, 0, usual]


def test_a_custom_feature_is_logged_of_its_own_decision(program: Path, log: Path, custom: None) -> None:
    """Where nobody is asked, too: after a failure, and over the size budget."""
    decisions: list[tuple[int, list[list[float]]]] = []
    for name, budget, answer in (("asked", 0, False), ("failed", 0, True), ("over", 0.01, False)):

        def decide(obs: Observation, fails: bool = answer) -> object:
            if fails:
                raise ValueError("no answer")
            return obs.default()

        path = log.with_name(name)
        advisor = InlineAdvisor(decide, log=str(path), size_budget=budget, on_error="default")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PasspilotWarning)
            compiled(program, advisor)
        stats = advisor.stats
        values = read_log(path).to_arrays(["depth_and_frequency"])["depth_and_frequency"].tolist()
        decisions.append((stats.fallbacks + stats.budget_hits, values))
    assert [count for count, _ in decisions] == [0, len(decisions[0][1]), len(decisions[0][1])]
    assert decisions[0][1] == decisions[1][1] == decisions[2][1]
    assert len({tuple(value) for value in decisions[0][1]}) > 2
