# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PriorityAdvisor`: what a policy sees and may answer, counts and warnings; and both advisors together."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from passpilot.cli.log import main
from passpilot.features.custom import feature, unregister
from passpilot.features.llvm.priority import FEATURES
from passpilot.features.log.reader import read_log
from passpilot.passes.decision_counts import Stats
from passpilot.passes.emit import emit
from passpilot.passes.llvm_advisors import EvictAdvisor, PriorityAdvisor
from passpilot.plugin import _core
from passpilot.plugin.errors import AdviceError, FeatureError, InputError, LogError, PasspilotWarning
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import stock
from tests.passes.allocation.pressure import allocated


def shortest_first(obs: Observation) -> object:
    return 10_000_000 - int(obs["li_size"].item())


def site_of(obs: Observation) -> _core.PrioritySite:
    site = obs.site
    assert isinstance(site, _core.PrioritySite)
    return site


def test_default_is_llc(pressed: Path, pressed_by_llc: bytes) -> None:
    advisor = PriorityAdvisor("default")
    assert advisor.start() is None
    assert allocated(pressed, advisor) == pressed_by_llc
    assert advisor.stats == Stats(decisions=0, fallbacks=0, not_askable=0, seconds=0.0)
    assert advisor.report() == "priority advisor default: LLVM's own order of live ranges; nothing was asked"


def test_echo_is_llc(pressed: Path, pressed_by_llc: bytes) -> None:
    """LLVM's priorities use all of 32 bits, which no float32 can hold."""
    defaults: list[float] = []

    def decide(obs: Observation) -> object:
        default = obs.default()
        assert type(default) is float
        defaults.append(default)
        return default

    assert allocated(pressed, PriorityAdvisor(decide)) == pressed_by_llc
    assert all(default == int(default) for default in defaults)
    assert any(default != float(np.float32(default)) for default in defaults)
    assert max(defaults) > 2**31


ANSWERS: dict[str, Callable[[int], object]] = {
    "int": int,
    "float": float,
    "with a fraction": lambda number: number + 0.75,
    "np.float32": np.float32,
    "np.float64": np.float64,
    "np.int64": np.int64,
    "np.uint32": np.uint32,
    "array of float32": lambda number: np.array([number], np.float32),
    "array of no dimension": lambda number: np.array(number),
    "array of three dimensions": lambda number: np.full((1, 1, 1), number, np.float64),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_accepted_answers(pressed: Path, pressed_by_llc: bytes, answer: str) -> None:
    """LLVM drops a fraction."""

    def number(obs: Observation) -> int:
        return 1_000_000 - int(obs["li_size"].item())

    plain = allocated(pressed, PriorityAdvisor(number))
    advisor = PriorityAdvisor(lambda obs: ANSWERS[answer](number(obs)))
    assert allocated(pressed, advisor) == plain != pressed_by_llc


@pytest.mark.parametrize("number", [0, 0.0, -0.0, 2**32 - 1, 4294967295.0])
def test_ends_of_the_domain(pressed: Path, number: float) -> None:
    assert allocated(pressed, PriorityAdvisor(lambda obs: number))  # noqa: ARG005


REFUSED: dict[str, tuple[object, str]] = {
    "NaN": (float("nan"), "float nan"),
    "np.nan": (np.float32("nan"), "float32 np.float32(nan)"),
    "infinity": (float("inf"), "float inf"),
    "minus one": (-1, "int -1"),
    "below 0": (-0.5, "float -0.5"),
    "2^32": (2**32, "int 4294967296"),
    "above": (4294967295.5, "float 4294967295.5"),
    "huge": (1 << 70, f"int {1 << 70}"),
    "True": (True, "bool True"),
    "np.bool": (np.bool_(False), "bool np.False_"),
    "None": (None, "None"),
    "str": ("1", "str '1'"),
    "complex": (1j, "complex 1j"),
    "two elements": (np.ones(2), "ndarray array([1., 1.])"),
    "list": ([1.0], "list [1.0]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_answer_outside_the_domain(pressed: Path, pressed_by_llc: bytes, case: str) -> None:
    answer, got = REFUSED[case]
    told = (
        r"priority advisor at decision 0 \(function sums, %\d+\): expected a number of 0 to 4294967295, "
        rf"got {re.escape(got)}; return the number itself"
    )
    with pytest.raises(AdviceError, match=f"^{told}$"):
        allocated(pressed, PriorityAdvisor(lambda obs: answer))  # noqa: ARG005
    advisor = PriorityAdvisor(lambda obs: answer, on_error="default")  # noqa: ARG005
    with pytest.warns(PasspilotWarning, match=f"decisions fell back to the default; the first: {told}$"):
        assert allocated(pressed, advisor) == pressed_by_llc
    assert advisor.stats.fallbacks == advisor.stats.decisions > 50


def test_what_a_policy_sees(pressed: Path) -> None:
    contexts: dict[str, int] = {}

    def decide(obs: Observation) -> object:
        site = site_of(obs)
        contexts[obs.context] = contexts.get(obs.context, 0) + 1
        assert (obs.point, obs.context) == ("priority", site.function.name)
        assert list(obs) == [row.spec.name for row in FEATURES]
        assert obs["li_size"][0] == site.live_range.size > 0
        assert obs["weight"][0] == np.float32(site.live_range.weight)
        assert 0 <= obs["stage"][0] <= 5
        assert site.live_range.assigned is None
        assert obs["priority_default"][0] == obs.default()
        return obs.default()

    advisor = PriorityAdvisor(decide)
    allocated(pressed, advisor)
    assert list(contexts) == ["sums", "blend", "main"]
    assert sum(contexts.values()) == advisor.stats.decisions


@pytest.fixture
def custom() -> Iterator[None]:
    @feature("float32[1]", point="priority")
    def use_count(site: _core.PrioritySite) -> int:
        return len(site.live_range.operands)

    yield
    unregister("use_count", point="priority")


@pytest.mark.usefixtures("custom")
def test_custom_features(pressed: Path, tmp_path: Path) -> None:
    def decide(obs: Observation) -> object:
        assert obs["use_count"] == len(site_of(obs).live_range.operands)
        with pytest.raises(FeatureError, match=r"obs\['mask'\]: expected a feature of the point priority"):
            _ = obs["mask"]
        return obs["use_count"]

    plain = allocated(pressed, PriorityAdvisor(decide))
    decide.features = ("use_count",)  # type: ignore[attr-defined]
    log = str(tmp_path / "log")
    assert allocated(pressed, PriorityAdvisor(decide, log=log)) == plain
    arrays = read_log(log).to_arrays(["use_count", "priority"])
    assert (arrays["use_count"] == arrays["priority"]).all()
    assert len(set(arrays["priority"][:, 0].tolist())) > 3


def test_counts_and_report(pressed: Path) -> None:
    advisor = PriorityAdvisor(shortest_first)
    allocated(pressed, advisor)
    stats = advisor.stats
    assert (stats.fallbacks, stats.not_askable) == (0, 0)
    assert stats.microseconds_per_decision == pytest.approx(1e6 * stats.seconds / stats.decisions)
    lines = advisor.report().splitlines()
    assert lines[0] == "priority advisor shortest_first:"
    assert lines[1].split() == [str(stats.decisions), "decisions"]


def test_nobody_asked_is_a_warning(tmp_path: Path) -> None:
    module = Module.read(stock.clang("int f(int x) { return x + 1; }", tmp_path / "in.bc"))
    with pytest.warns(PasspilotWarning, match="priority advisor: runner const:1 was never asked: the"):
        emit(module, "obj", advisors=[PriorityAdvisor("const:1")], opt_level=0)


def test_a_log_and_its_replay(
    pressed: Path, pressed_by_llc: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, again = tmp_path / "priority.log", tmp_path / "again.log"
    first = allocated(pressed, PriorityAdvisor("random:5", log=str(log)))
    reader = read_log(log)
    assert [spec.name for spec in reader.features] == [
        *(row.spec.name for row in FEATURES),
        "priority_default",
        "priority",
    ]
    decisions = list(reader)
    assert {each.context for each in decisions} == {"sums", "blend", "main"}
    assert all(re.fullmatch(r"%\d+", each.register) for each in decisions)
    with PriorityAdvisor(f"replay:{log}", log=str(again)) as advisor:
        assert allocated(pressed, advisor) == first != pressed_by_llc
    assert again.read_bytes() == log.read_bytes()
    assert main(["show", str(log), "--limit=1"]) == 0
    head, context, line, summary = capsys.readouterr().out.splitlines()
    assert (head, context) == ("decision default    advice     register", "context sums:")
    default, advice = (decisions[0].tensors[name].item() for name in ("priority_default", "priority"))
    assert line.split() == ["0", str(int(default)), str(int(advice)), decisions[0].register]
    assert summary == f"{len(decisions)} decisions, 0 as LLVM's default (0.0 %); the first 1 shown"
    with pytest.raises(LogError, match=r"index_to_evict as int64\[1\], got one of another decision point"):
        EvictAdvisor(f"replay:{log}")


def test_both_advisors_of_one_compilation(pressed: Path, pressed_by_llc: bytes, tmp_path: Path) -> None:
    """Each alone, both, and both echoing LLVM."""
    alone = [
        allocated(pressed, EvictAdvisor("random:1")),
        allocated(pressed, PriorityAdvisor(shortest_first)),
    ]
    evict, priority = EvictAdvisor("random:1"), PriorityAdvisor(shortest_first)
    both = allocated(pressed, evict, priority)
    assert allocated(pressed, PriorityAdvisor(shortest_first), EvictAdvisor("random:1")) == both
    assert len({pressed_by_llc, both, *alone}) == 4
    assert evict.stats.decisions > 0 < priority.stats.decisions
    logs = [str(tmp_path / name) for name in ("evict", "priority")]
    echoes = EvictAdvisor("default", log=logs[0]), PriorityAdvisor("default", log=logs[1])
    assert allocated(pressed, *echoes) == pressed_by_llc
    with EvictAdvisor(f"replay:{logs[0]}") as evict, PriorityAdvisor(f"replay:{logs[1]}") as priority:
        assert allocated(pressed, evict, priority) == pressed_by_llc


def test_one_policy_for_both(pressed: Path) -> None:
    class Both:
        def __init__(self) -> None:
            self.asked: list[tuple[str, str]] = []
            self.contexts: list[str] = []
            self.closed = 0

        def switch_context(self, name: str) -> None:
            self.contexts.append(name)

        def decide(self, obs: Observation) -> object:
            self.asked.append((obs.point, obs.context))
            return obs["mask"].argmax() if obs.point == "evict" else shortest_first(obs)

        def close(self) -> None:
            self.closed += 1

    policy = Both()
    with EvictAdvisor(policy) as evict, PriorityAdvisor(policy) as priority:
        code = allocated(pressed, evict, priority)
    separate = EvictAdvisor(lambda obs: obs["mask"].argmax()), PriorityAdvisor(shortest_first)
    assert code == allocated(pressed, *separate)
    points = [point for point, _ in policy.asked]
    assert points.count("evict") == evict.stats.decisions
    assert points.count("priority") == priority.stats.decisions
    assert "priority" in points[points.index("evict") :], "the questions take turns"
    assert policy.contexts[:2] == ["sums", "sums"], "each runner tells it"
    assert policy.closed == 2


@pytest.mark.parametrize("failing", ["evict", "priority"])
def test_a_failure_of_one_ends_both(pressed: Path, tmp_path: Path, failing: str) -> None:
    answers: dict[str, Callable[[Observation], object]] = {
        "evict": lambda obs: obs["mask"].argmax(),
        "priority": shortest_first,
        failing: lambda obs: -1,  # noqa: ARG005
    }
    logs = [str(tmp_path / name) for name in ("evict", "priority")]
    evict = EvictAdvisor(answers["evict"], log=logs[0])
    priority = PriorityAdvisor(answers["priority"], log=logs[1])
    with pytest.raises(AdviceError, match=f"^{failing} advisor at decision 0 "):
        allocated(pressed, evict, priority)
    assert list(tmp_path.iterdir()) == []
    sound = priority if failing == "evict" else evict
    assert allocated(pressed, sound), "it is not left in use"


def test_an_advisor_advises_one_compilation_at_a_time(pressed: Path) -> None:
    refused: list[str] = []

    def use() -> None:
        with pytest.raises(InputError, match="priority advisor: another compilation is using it") as caught:
            allocated(pressed, advisor)
        refused.append(str(caught.value))

    def decide(obs: Observation) -> object:
        if not refused:
            use()
            thread = threading.Thread(target=use)
            thread.start()
            thread.join()
        return obs.default()

    advisor = PriorityAdvisor(decide)
    allocated(pressed, advisor)
    assert len(refused) == 2
