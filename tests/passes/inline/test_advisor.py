# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001, ARG005
"""`InlineAdvisor`: what a policy sees and may answer, the counts, the budget, and what becomes of errors."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.custom import feature, unregister
from passpilot.features.llvm.inline import FEATURES
from passpilot.features.log.reader import read_log
from passpilot.passes.llvm_advisors import InlineAdvisor
from passpilot.passes.optimize import optimize
from passpilot.plugin import _core
from passpilot.plugin.errors import (
    AdviceError,
    FeatureError,
    PasspilotWarning,
    PeerError,
    PolicyError,
    SpecMismatchError,
    StaleViewError,
    UsageError,
)
from passpilot.plugin.module import Module
from passpilot.runners.python import Observation
from tests import stock
from tests.passes import interactive
from tests.passes.inline import crafted

Policy = Callable[[Observation], object]
PIPELINE = "default<O2>"


def compiled(program: Path, advisor: InlineAdvisor) -> bytes:
    module = Module.read(program)
    optimize(module, PIPELINE, [advisor])
    return module.bitcode()


def decided(program: Path, policy: Policy, **keywords: object) -> tuple[bytes, InlineAdvisor]:
    advisor = InlineAdvisor(policy, **keywords)  # type: ignore[arg-type]
    return compiled(program, advisor), advisor


@pytest.fixture
def custom() -> Iterator[list[str]]:
    """The names called by custom features, which are taken back at the end."""
    calls: list[str] = []

    @feature("int64[1]")
    def callee_name_length(site: _core.CallSite) -> int:
        calls.append(site.callee.name)
        return len(site.callee.name)

    @feature("float32[2]")
    def shape_pair(site: _core.CallSite) -> list[float]:
        return [site.block_frequency, site.loop_depth]

    yield calls
    unregister("callee_name_length")
    unregister("shape_pair")


ANSWERS: dict[str, Callable[[bool], object]] = {
    "bool": bool,
    "int": int,
    "np.bool": np.bool_,
    "np.int64": np.int64,
    "np.uint8": np.uint8,
    "np.uint64": np.uint64,
    "array of bool": lambda yes: np.array([yes]),
    "array of int32": lambda yes: np.array([yes], np.int32),
    "array of no dimension": lambda yes: np.array(yes),
    "array of three dimensions": lambda yes: np.full((1, 1, 1), yes, np.int16),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_accepted_answers(program: Path, answer: str) -> None:
    plain, _ = decided(program, lambda obs: bool(obs["cost_estimate"][0] < 50))
    code, advisor = decided(program, lambda obs: ANSWERS[answer](bool(obs["cost_estimate"][0] < 50)))
    assert code == plain
    assert 0 < advisor.stats.accepted < advisor.stats.decisions
    assert decided(program, lambda obs: obs["cost_estimate"] < 50)[0] == plain


REFUSED = {
    "None": (None, "None"),
    "two": (2, "int 2"),
    "minus one": (-1, "int -1"),
    "huge": (1 << 70, f"int {1 << 70}"),
    "float": (1.0, "float 1.0"),
    "nan": (float("nan"), "float nan"),
    "np.float32": (np.float32(0), "float32 np.float32(0.0)"),
    "str": ("yes", "str 'yes'"),
    "bytes": (b"\x01", r"bytes b'\x01'"),
    "empty": (np.zeros(0, np.int64), "ndarray array([], dtype=int64)"),
    "two elements": (np.ones(2, np.int64), "ndarray array([1, 1])"),
    "np.int8": (np.int8(5), "int8 np.int8(5)"),
    "large unsigned": (np.uint64(1 << 63), f"uint64 np.uint64({1 << 63})"),
    "list": ([1], "list [1]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_answers(program: Path, case: str) -> None:
    answer, told = REFUSED[case]
    place = r"inline advisor at decision 0 \(\w+ -> \w+, \S+in\.c:\d+:\d+\)"
    with pytest.raises(AdviceError) as caught:
        decided(program, lambda obs: answer)
    assert re.fullmatch(
        f"{place}: expected True, False, 0 or 1, got {re.escape(told)}; return the decision itself",
        str(caught.value),
    )


def test_features_are_those_that_stock_opt_tells(program: Path, tmp_path: Path) -> None:
    seen: list[dict[str, int]] = []

    def decide(obs: Observation) -> object:
        values = {name: int(obs[name][0]) for name in obs}
        seen.append({**values, "inlining_default": int(obs["inlining_default"][0])})
        return obs.default()

    _, advisor = decided(program, decide)
    expected = interactive.decisions(program, PIPELINE, tmp_path)
    assert seen == expected
    assert list(seen[0]) == [*(row.spec.name for row in FEATURES), "inlining_default"]
    assert advisor.stats.decisions == len(expected) > 10


@pytest.mark.parametrize(
    ("name", "level"), [("libsvm", "Oz"), pytest.param("picosat", "O2", marks=pytest.mark.soak)]
)
def test_features_of_a_real_program(
    corpus: Callable[[str, str], Path], tmp_path: Path, name: str, level: str
) -> None:
    source, pipeline = corpus(name, level), f"default<{level}>"
    log = str(tmp_path / "decisions.log")
    optimize(Module.read(source), pipeline, [InlineAdvisor("default", log=log)])
    arrays = read_log(log).to_arrays()
    expected = interactive.decisions(source, pipeline, tmp_path)
    assert len(expected) > 100
    for feature_name in expected[0]:
        assert arrays[feature_name][:, 0].tolist() == [each[feature_name] for each in expected]
    assert (arrays["inlining_decision"] == arrays["inlining_default"]).all()


def test_calls_of_functions_that_nobody_calls_do_not_count(tmp_path: Path) -> None:
    source, log = tmp_path / "unused.ll", str(tmp_path / "decisions.log")
    source.write_text(crafted.UNUSED)
    optimize(Module.read(source), PIPELINE, [InlineAdvisor("default", log=log)])
    arrays = read_log(log).to_arrays()
    expected = interactive.decisions(source, PIPELINE, tmp_path)
    assert [each["edge_count"] for each in expected] == arrays["edge_count"][:, 0].tolist()
    assert expected[0]["edge_count"] == 1


def test_the_default_is_computed_only_when_called(program: Path) -> None:
    def asks(obs: Observation) -> object:
        return obs.default()

    def reads(obs: Observation) -> bool:
        return bool(obs["inlining_default"])

    def does_neither(obs: Observation) -> bool:
        return True

    seconds = {
        policy.__name__: decided(program, policy)[1]._core.counts["default_seconds"]  # type: ignore[union-attr]
        for policy in (asks, reads, does_neither)
    }
    assert seconds["asks"] > 0
    assert seconds["reads"] > 0
    assert seconds["does_neither"] == 0


def test_a_tensor_that_is_not_bound_is_computed_when_asked_for(program: Path, custom: list[str]) -> None:
    def decide(obs: Observation) -> object:
        assert "callee_name_length" in obs
        assert "callee_name_length" not in list(obs)
        if not custom:
            assert obs["callee_name_length"] == [len(obs.site.callee.name)]  # type: ignore[attr-defined]
            pair = obs["shape_pair"]
            assert pair.dtype.name == "float32"
            assert pair.shape == (2,)
            with pytest.raises(
                FeatureError, match=r"obs\['node_cont'\]: expected a feature of the point inline"
            ):
                _ = obs["node_cont"]
        return obs.default()

    _, advisor = decided(program, decide)
    assert len(custom) == 1 < advisor.stats.decisions


def test_bound_custom_features_are_filled_before_each_question(program: Path, custom: list[str]) -> None:
    class Decide:
        features = ("shape_pair", "callee_users", "callee_name_length", "inlining_default")

        def decide(self, obs: Observation) -> object:
            site = obs.site
            assert isinstance(site, _core.CallSite)
            assert tuple(obs) == self.features
            assert obs["callee_name_length"][0] == len(site.callee.name) == len(custom[-1])
            assert obs["shape_pair"].tolist() == [np.float32(site.block_frequency), site.loop_depth]
            assert bool(obs["inlining_default"]) is obs.default()
            return obs.default()

    advisor = InlineAdvisor(Decide)
    assert compiled(program, advisor) == stock.opt(program, PIPELINE)[0]
    assert len(custom) == advisor.stats.decisions


def test_views_stay_the_same_arrays(program: Path) -> None:
    kept: dict[str, object] = {}

    def decide(obs: Observation) -> bool:
        kept.update({name: obs[name] for name in obs} if not kept else {})
        assert all(obs[name] is view for name, view in kept.items())
        return False

    decided(program, decide)
    assert len(kept) == len(FEATURES)


def test_an_unknown_feature_is_refused_before_compilation() -> None:
    def decide(obs: Observation) -> bool:
        return True

    decide.features = ("callee_weight",)  # type: ignore[attr-defined]
    with pytest.raises(SpecMismatchError, match="callee_weight"):
        InlineAdvisor(decide)


def test_counts_and_report(program: Path) -> None:
    flips = iter(range(10_000))
    _, advisor = decided(program, lambda obs: next(flips) % 3 == 0)
    stats = advisor.stats
    assert stats.decisions == stats.accepted + stats.refused
    assert stats.accepted == (stats.decisions + 2) // 3
    assert (stats.fallbacks, stats.budget_hits) == (0, 0)
    assert stats.microseconds_per_decision == pytest.approx(1e6 * stats.seconds / stats.decisions)
    lines = advisor.report().splitlines()
    assert lines[0] == "inline advisor <lambda>:"
    assert lines[1].split() == [str(stats.decisions), "decisions"]
    assert InlineAdvisor("default").report().endswith("LLVM's own inliner; nothing was asked")
    assert InlineAdvisor("default").stats.microseconds_per_decision == 0


def test_the_size_budget_hands_over_to_the_default(program: Path) -> None:
    def asked_with(budget: float) -> InlineAdvisor:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            _, advisor = decided(program, lambda obs: True, size_budget=budget)
        hits = advisor.stats.budget_hits
        assert [str(each.message) for each in told] == (
            [
                f"inline advisor: {hits} of {advisor.stats.decisions} decisions went to the default, because "
                f"the module had grown over {budget:g} times its size; "
                "--size-budget (size_budget=) sets the limit"
            ]
            if hits
            else []
        )
        return advisor

    assert asked_with(0).stats.budget_hits == 0
    assert asked_with(1000).stats.budget_hits == 0
    small = asked_with(0.5).stats
    assert small.budget_hits == small.decisions
    assert asked_with(1).stats.budget_hits > 0


def test_what_inlining_deletes_is_no_growth(tmp_path: Path) -> None:
    """Functions that go into their only call leave the module as large as it was."""
    body = "".join("  store volatile i32 %x, ptr @out\n" for _ in range(20))
    callees = (f"define internal void @callee{i}(i32 %x) {{\n{body}  ret void\n}}\n" for i in range(30))
    calls = "".join(f"  call void @callee{i}(i32 %x)\n" for i in range(30))
    once = tmp_path / "once.ll"
    text = "".join(callees) + f"define void @caller(i32 %x) {{\n{calls}  ret void\n}}\n"
    once.write_text(f"{crafted.HEAD}@out = global i32 0\n{text}")
    _, advisor = decided(once, lambda obs: True, size_budget=1.2)
    assert (advisor.stats.budget_hits, advisor.stats.decisions) == (0, 30)


def test_over_the_budget_the_output_is_the_default_one(program: Path) -> None:
    with pytest.warns(PasspilotWarning, match="went to the default"):
        code, _ = decided(program, lambda obs: True, size_budget=0.01)
    assert code == stock.opt(program, PIPELINE)[0]


@pytest.mark.parametrize(
    "keywords", [{"on_error": "ignore"}, {"size_budget": -1}, {"size_budget": float("nan")}]
)
def test_wrong_settings(keywords: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="inline advisor: expected"):
        InlineAdvisor("const:0", **keywords)  # type: ignore[arg-type]


def raises_at(number: int) -> Policy:
    left = [number]

    def decide(obs: Observation) -> object:
        left[0] -= 1
        if left[0] == 0:
            raise ValueError("no idea")  # here
        return obs.default()

    return decide


def test_an_exception_is_told_with_its_place(program: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        decided(program, raises_at(3))
    source, first = inspect.getsourcelines(raises_at)
    line = first + next(i for i, text in enumerate(source) if "# here" in text)
    place = r"inline advisor at decision 2 \(\w+ -> \w+, \S+in\.c:\d+:\d+\): "
    assert re.fullmatch(f"{place}ValueError: no idea \\({__file__}:{line}\\)", str(caught.value))
    assert isinstance(caught.value.__cause__, ValueError)


def test_an_error_of_passpilot_names_the_line_of_the_user(program: Path) -> None:
    def decide(obs: Observation) -> bool:
        return bool(obs["cost_estimat"])  # there

    source, first = inspect.getsourcelines(decide)
    line = first + next(i for i, text in enumerate(source) if "# there" in text)
    with pytest.raises(FeatureError) as caught:
        decided(program, decide)
    assert "at decision 0" in str(caught.value)
    assert "FeatureError: obs['cost_estimat']: " in str(caught.value)
    assert str(caught.value).endswith(f" ({__file__}:{line})")


class OddError(PeerError):
    """An error of somebody else's, which cannot be made of a text."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(f"{text} {number}")
        self.fatal = False


def test_an_error_derived_from_ours_stays_the_cause(program: Path) -> None:
    def decide(obs: Observation) -> bool:
        raise OddError(7, "number")

    with pytest.raises(PeerError, match=r"at decision 0 .*: OddError: number 7 \(.*\.py:\d+\)") as caught:
        decided(program, decide)
    assert type(caught.value) is PeerError
    assert not caught.value.fatal
    assert isinstance(caught.value.__cause__, OddError)


class SpitefulError(PeerError):
    """An error that raises another when it is looked at."""

    def __init__(self) -> None:
        Exception.__init__(self, "leave me alone")

    @property
    def fatal(self) -> bool:  # type: ignore[override]
        raise ValueError("I said")


@pytest.mark.parametrize("on_error", ["fail", "default"])
def test_an_error_that_raises_when_looked_at(program: Path, on_error: str) -> None:
    """Its own text is reported; nothing is thrown through LLVM's inliner."""

    def decide(obs: Observation) -> bool:
        raise SpitefulError

    told = r"at decision 0 .*: SpitefulError: leave me alone \(.*\.py:\d+\)"
    advisor = InlineAdvisor(decide, on_error=on_error)  # type: ignore[arg-type]
    expected = pytest.raises(PeerError, match=told) if on_error == "fail" else pytest.warns(match=told)
    with expected:
        optimize(Module.read(program), PIPELINE, [advisor])


def test_an_error_of_ours_within_a_feature_names_the_feature(program: Path) -> None:
    kept: list[_core.CallSite] = []

    @feature("int64[1]")
    def keeps(site: _core.CallSite) -> int:
        kept.append(site)
        return kept[0].loop_depth

    def decide(obs: Observation) -> bool:
        return True

    decide.features = ("keeps",)  # type: ignore[attr-defined]
    try:
        with pytest.raises(StaleViewError, match=r"at decision 1 .*: feature 'keeps': .*\(.*\.py:\d+\)"):
            decided(program, decide)
    finally:
        unregister("keeps")


def test_an_exception_of_a_feature_is_a_feature_error(program: Path) -> None:
    @feature("int64[1]")
    def fails(site: object) -> int:
        raise KeyError("absent")

    def decide(obs: Observation) -> bool:
        return True

    decide.features = ("fails",)  # type: ignore[attr-defined]
    try:
        with pytest.raises(FeatureError, match=r"at decision 0 .*KeyError: 'absent' \(.*test_advisor"):
            decided(program, decide)
        with pytest.warns(PasspilotWarning, match="fell back to the default; the first: .*KeyError"):
            code, _ = decided(program, decide, on_error="default")
    finally:
        unregister("fails")
    assert code == stock.opt(program, PIPELINE)[0]


def test_after_an_error_the_module_is_valid_and_the_advisor_usable(program: Path) -> None:
    module = Module.read(program)
    advisor = InlineAdvisor(raises_at(4))
    with pytest.raises(PolicyError):
        optimize(module, PIPELINE, [advisor])
    module.verify()
    assert compiled(program, advisor) == stock.opt(program, PIPELINE)[0]


def test_errors_may_be_left_to_the_default(program: Path) -> None:
    with pytest.warns(PasspilotWarning) as told:
        code, advisor = decided(program, raises_at(3), on_error="default")
    assert code == stock.opt(program, PIPELINE)[0]
    assert advisor.stats.fallbacks == 1
    share = f"1 of {advisor.stats.decisions} decisions fell back to the default"
    start = f"inline advisor: {share}; the first: inline advisor at decision 2"
    assert str(told[0].message).startswith(start)
    assert "ValueError: no idea" in str(told[0].message)


def test_an_interrupt_ends_the_compilation_under_both_policies(program: Path) -> None:
    def decide(obs: Observation) -> bool:
        raise KeyboardInterrupt

    for on_error in ("fail", "default"):
        with pytest.raises(KeyboardInterrupt):
            decided(program, decide, on_error=on_error)


@pytest.mark.parametrize("pipeline", ["default<O0>", "instcombine", ""])
def test_a_runner_that_was_never_asked(program: Path, pipeline: str) -> None:
    with pytest.warns(PasspilotWarning, match="runner const:1 was never asked"):
        optimize(Module.read(program), pipeline, [InlineAdvisor("const:1")])


def test_closing_closes_the_policy_once(program: Path) -> None:
    closed: list[int] = []

    class Decide:
        def __call__(self, obs: Observation) -> object:
            return obs.default()

        def close(self) -> None:
            closed.append(1)

    with InlineAdvisor(Decide) as advisor:
        compiled(program, advisor)
    advisor.close()
    assert closed == [1]
