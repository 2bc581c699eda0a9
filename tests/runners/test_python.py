# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# ruff: noqa: ARG001, ARG002, ARG005
from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from passpilot.features.catalogue import HOOKED
from passpilot.features.custom import feature, unregister
from passpilot.features.llvm.inline import FEATURES
from passpilot.features.point import find_point
from passpilot.plugin.errors import InputError, PolicyError, RunnerSpecError, SpecMismatchError
from passpilot.runners.base import Runner, allocate
from passpilot.runners.python import Observation, PythonRunner, policy_factory
from passpilot.runners.spec import make_runner

if TYPE_CHECKING:
    from passpilot.runners.base import Tensor

POINT = find_point("inline")


class Compiler:
    """A fake compiler."""

    def __init__(self) -> None:
        self.site = "a call site"
        self.asked: list[str] = []

    def default(self) -> bool:
        self.asked.append("default")
        return True

    def feature(self, name: str) -> Tensor:
        self.asked.append(name)
        return np.array([7])

    def stamp(self, name: str) -> None:
        self.asked.append(f"stamp of {name}")


def made(policy: object, host: Compiler | None = None) -> Runner:
    return allocate(PythonRunner(policy, POINT), host)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_function() -> None:
    runner = made(lambda obs: obs["cost_estimate"] < 50)
    assert runner.evaluate() == np.array([True])
    runner.tensors["cost_estimate"][...] = 50
    assert runner.evaluate() == np.array([False])


def test_class_keeps_its_state_and_each_runner_has_its_own() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        def __call__(self, obs: Observation) -> int:
            self.count += 1
            return self.count

    first, second = made(Counter), made(Counter)
    assert [first.evaluate(), first.evaluate(), second.evaluate()] == [1, 2, 1]


def test_decide_is_preferred_and_other_methods_are_called() -> None:
    seen: list[str] = []

    class Policy:
        features = ("node_count",)

        def decide(self, obs: Observation) -> bool:
            seen.append(f"decide in {obs.context}")
            return True

        def switch_context(self, name: str) -> None:
            seen.append(f"switch to {name}")

        def close(self) -> None:
            seen.append("close")

    with made(Policy()) as runner:
        runner.switch_context("a.c")
        runner.evaluate()
        runner.close()
    assert seen == ["switch to a.c", "decide in a.c", "close"]
    assert [spec.name for spec in runner.inputs] == ["node_count"]


def test_factory_makes_a_policy_per_runner() -> None:
    made_here: list[object] = []

    @policy_factory
    def factory() -> Callable[[Observation], bool]:
        made_here.append(object())
        return lambda obs: len(made_here) > 1

    assert [made(factory).evaluate(), made(factory).evaluate()] == [False, True]


def test_context_before_bind_is_kept() -> None:
    runner = make_runner(lambda obs: obs.context, POINT)
    runner.switch_context("early")
    assert allocate(runner).evaluate() == "early"


def test_default_inputs_are_the_table_alone() -> None:
    @feature("int64[1]", name="for_test_python")
    def custom(site: object) -> int:
        return 1

    try:
        runner = make_runner(lambda obs: True, find_point("inline"))
    finally:
        unregister("for_test_python")
    assert [spec.name for spec in runner.inputs] == [row.spec.name for row in FEATURES]


def test_declared_inputs() -> None:
    def decide(obs: Observation) -> bool:
        return sorted(obs) == ["edge_count", "inlining_default"]

    decide.features = ("inlining_default", "edge_count")  # type: ignore[attr-defined]
    runner = made(decide)
    assert [spec.name for spec in runner.inputs] == ["inlining_default", "edge_count"]
    assert runner.evaluate() is True
    decide.features = ("weight",)  # type: ignore[attr-defined]
    with pytest.raises(SpecMismatchError, match="weight"):
        made(decide)
    for wrong in ("edge_count", (1,), ("edge_count", 1), 7):
        decide.features = wrong  # type: ignore[attr-defined]
        with pytest.raises(RunnerSpecError, match="expected a tuple of names as its features"):
            made(decide)


def test_views_are_stable_and_writable_by_the_owner_only_through_the_frame() -> None:
    seen: list[Tensor] = []
    runner = made(lambda obs: seen.append(obs["node_count"]))
    runner.evaluate()
    runner.frame[:] = 255
    runner.evaluate()
    assert seen[0] is seen[1]
    assert seen[0].tolist() == [-1]


def test_one_element_compares_as_a_number() -> None:
    seen: list[Tensor] = []
    runner = made(lambda obs: seen.append(obs["node_count"]))
    runner.evaluate()
    count = seen[0]
    count[0] = 5
    compared: list[object] = [count < 7, count >= 5.5, count == count, count != 5, 7 > count]  # noqa: SIM300
    assert all(
        each is expected for each, expected in zip(compared, (True, False, True, False, True), strict=True)
    )
    assert count.dtype == np.int64
    assert (count < np.array([4, 6])).tolist() == [False, True]
    assert (np.repeat(count, 2) < 6).tolist() == [True, True]
    for result, expected in ((count + 1, [6]), (2 * count, [10]), (count / count, [1.0]), (7 - count, [2])):
        assert type(result) is np.ndarray
        assert result.tolist() == expected


def test_larger_tensors_are_plain_arrays() -> None:
    seen: list[Tensor] = []
    runner = make_runner(lambda obs: seen.extend(obs.values()), find_point("evict"))
    allocate(runner).evaluate()
    assert {(tensor.size == 1, type(tensor) is np.ndarray) for tensor in seen} == {
        (True, False),
        (False, True),
    }


def test_compiler_is_asked_for_what_is_not_bound() -> None:
    compiler = Compiler()

    def decide(obs: Observation) -> object:
        return (
            obs.site == "a call site" and obs.default() and obs["elsewhere"] == 7 and "elsewhere" not in obs
        )

    decide.features = ("node_count",)  # type: ignore[attr-defined]
    assert made(decide, compiler).evaluate() is True
    assert compiler.asked == ["default", "elsewhere"]


def test_without_a_compiler_the_errors_tell_what_to_do() -> None:
    obs = Observation({"node_count": np.array([3])})
    with pytest.raises(PolicyError, match=r"obs\.site: expected a decision function inside .* another"):
        _ = obs.site
    with pytest.raises(PolicyError, match=r"declare it: decide\.features = \(\.\.\., 'inlining_default'\)"):
        obs.default()
    with pytest.raises(PolicyError, match=r"declared \(node_count\), got another; .* 'edge_count'\)"):
        _ = obs["edge_count"]
    assert obs.get("edge_count") is None


@pytest.mark.parametrize("default", [0, 1])
def test_default_without_a_compiler_is_the_tensor(default: int) -> None:
    obs = Observation({"inlining_default": np.array([default])})
    assert obs.default() is bool(default)


@pytest.mark.parametrize(
    ("name", "tensor", "default"), [("evict", "evict_default", 32), ("priority", "priority_default", 2.0**31)]
)
def test_default_of_the_other_points(name: str, tensor: str, default: float) -> None:
    point = find_point(name)
    obs = Observation({tensor: np.array([default])}, point=point)
    assert (type(obs.default()), obs.default(), obs.point) == (type(default), default, name)
    with pytest.raises(PolicyError, match=rf"declare it: decide\.features = \(\.\.\., '{tensor}'\)"):
        Observation({}, point=point).default()


def test_one_policy_for_several_points() -> None:
    class Policy:
        def __init__(self) -> None:
            self.seen: list[tuple[str, int]] = []

        def decide(self, obs: Observation) -> int:
            self.seen.append((obs.point, len(obs)))
            return 0

    policy = Policy()
    for name in HOOKED:
        allocate(make_runner(policy, find_point(name))).evaluate()
    allocator = [("ra-order", 11), ("ra-action", 17), ("ra-colour", 14), ("ra-split", 15)]
    assert policy.seen == [("inline", 38), ("evict", 21), ("priority", 3), *allocator, ("schedule", 21)]


def test_evaluation_adds_no_python_frame() -> None:
    import sys

    runner = made(lambda obs: sys._getframe(1).f_code.co_name)
    assert runner.evaluate() == "test_evaluation_adds_no_python_frame"


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        (7, "expected a function of one observation, or decide(obs), got 7"),
        (lambda: True, "expected a function of one argument"),
        (lambda a, b: True, "expected a function of one argument"),
        (type("Needy", (), {"__init__": lambda self, x: None}), "expected it to be made without arguments"),
        (type("Mute", (), {}), "expected a function of one observation, or decide(obs)"),
    ],
)
def test_what_is_no_policy(policy: Callable[..., object], complaint: str) -> None:
    with pytest.raises((RunnerSpecError, PolicyError)) as caught:
        PythonRunner(policy, POINT)
    assert complaint in str(caught.value)


def test_coroutines_and_generators_are_no_policies() -> None:
    async def later(obs: Observation) -> bool:
        return True

    def many(obs: Observation) -> Iterator[bool]:
        yield True

    for policy in (later, many):
        with pytest.raises(RunnerSpecError, match="expected a plain function"):
            PythonRunner(policy, POINT)


def test_spec_with_a_file(tmp_path: Path) -> None:
    path = written(
        tmp_path / "policy.py",
        "def decide(obs):\n    return sorted(obs) == ['edge_count', 'node_count']\n",
    )
    runner = allocate(make_runner(f"python:{path}:decide?features=node_count,%20edge_count", POINT))
    assert runner.evaluate() is True
    with pytest.raises(RunnerSpecError, match=r"defines \(decide\), got 'decision'"):
        make_runner(f"python:{path}:decision", POINT)
    with pytest.raises(InputError, match=r"missing\.py"):
        make_runner(f"python:{tmp_path / 'missing.py'}:decide", POINT)


def test_spec_with_a_module() -> None:
    runner = allocate(make_runner("python:operator:truth?features=", POINT))
    assert runner.inputs == ()
    assert runner.evaluate() is False
    with pytest.raises(
        RunnerSpecError, match=r"no_such_module: expected one that can be imported, got ModuleNot"
    ):
        make_runner("python:no_such_module:decide", POINT)


@pytest.mark.parametrize("target", ["", "policy.py", "policy.py:", ":decide"])
def test_spec_without_place_or_name(target: str) -> None:
    with pytest.raises(RunnerSpecError, match="expected python:FILE:NAME"):
        make_runner(f"python:{target}", POINT)


def test_a_name_that_is_no_text_is_in_no_observation() -> None:
    obs = Observation({"node_count": np.array([3])}, Compiler())
    assert [name in obs for name in ("node_count", "edge_count", "elsewhere", 7)] == [
        True,
        True,
        False,
        False,
    ]
    assert obs.get("elsewhere", 5) == 5
    assert obs.get("edge_count", 5) == 7, "the compiler computes it"
    assert Observation({}).get("edge_count", 5) == 5


def test_errors_name_the_policy_as_the_spec_does(tmp_path: Path) -> None:
    path = written(tmp_path / "policy.py", "class Decide:\n    def decide(self):\n        pass\n")
    with pytest.raises(
        RunnerSpecError, match=rf"^decision function python:{path}:Decide: expected a function of one"
    ):
        make_runner(f"python:{path}:Decide", POINT)
    made_of = type("Mine", (), {"features": 7, "__call__": lambda self, obs: True})
    with pytest.raises(RunnerSpecError, match=r"^decision function Mine: expected a tuple"):
        PythonRunner(made_of(), POINT)


def test_only_public_functions_are_offered_for_a_wrong_name(tmp_path: Path) -> None:
    text = "import os\nLIMIT = 3\ndef _helper(obs): ...\ndef first(obs): ...\nclass Second: ...\n"
    path = written(tmp_path / "policy.py", text)
    with pytest.raises(RunnerSpecError, match=r"defines \(first, Second\), got 'decide'"):
        make_runner(f"python:{path}:decide", POINT)


def test_a_file_needs_no_ending_if_it_is_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "policy", "def decide(obs): return True\n")
    written(tmp_path / "near.py", "def decide(obs): return False\n")
    monkeypatch.chdir(tmp_path)
    assert allocate(make_runner("python:./policy:decide", POINT)).evaluate() is True
    assert allocate(make_runner("python:near.py:decide", POINT)).evaluate() is False


class Sour:
    """A policy that raises something when it is made or closed."""

    made: BaseException | None = None
    closed: BaseException | None = None

    def __init__(self) -> None:
        if self.made:
            raise self.made
        self.count = 0

    def decide(self, obs: Observation) -> bool:
        return True

    def close(self) -> None:
        self.count += 1
        if self.closed:
            raise self.closed


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_a_policy_that_cannot_be_made(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sour, "made", error)
    got = f"{type(error).__name__}: {error}"
    told = f"decision function Sour: expected it to be made without arguments, got {got}"
    with pytest.raises(PolicyError) as caught:
        PythonRunner(Sour, POINT)
    assert str(caught.value).startswith(told)


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3)])
def test_a_policy_that_cannot_be_closed(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sour, "closed", error)
    runner = PythonRunner(Sour, POINT)
    with pytest.raises(
        PolicyError, match=f"decision function Sour: expected close.. to end, got {type(error).__name__}"
    ):
        runner.close()
    runner.close()
    assert isinstance(runner.decider, Sour)
    assert runner.decider.count == 1


def test_our_own_errors_pass_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = InputError("a file is missing")
    for name in ("made", "closed"):
        monkeypatch.setattr(Sour, name, ours)
        with pytest.raises(InputError) as caught:
            PythonRunner(Sour, POINT).close()
        assert caught.value is ours
        monkeypatch.setattr(Sour, name, None)
    text = "from passpilot.plugin.errors import InputError\nraise InputError('not here')\n"
    written(tmp_path / "passpilot_test_raises.py", text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=r"^not here$"):
        make_runner("python:passpilot_test_raises:decide", POINT)


def test_features_of_the_function_come_before_those_of_its_object() -> None:
    class Policy:
        features = ("node_count",)

        def decide(self, obs: Observation) -> bool:
            return True

    runner = PythonRunner(Policy, POINT)
    assert [spec.name for spec in runner.inputs] == ["node_count"]
    Policy.decide.features = ["edge_count", "node_count"]  # type: ignore[attr-defined]
    runner = PythonRunner(Policy, POINT)
    assert [spec.name for spec in runner.inputs] == ["edge_count", "node_count"]
    runner = PythonRunner(Policy, POINT, features=("callee_users",))
    assert [spec.name for spec in runner.inputs] == ["callee_users"]


def test_a_factory_may_make_a_class_or_another_factory() -> None:
    @policy_factory
    def inner() -> type[Sour]:
        return Sour

    @policy_factory
    def outer() -> object:
        return inner

    assert isinstance(PythonRunner(outer, POINT).decider, Sour)
    assert PythonRunner(outer, POINT).decider is not PythonRunner(outer, POINT).decider
