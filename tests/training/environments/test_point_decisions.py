# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointDecisions`, `ModuleEpisodes` and `VectorDecisions`: spaces, masks, the order of modules, vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from gymnasium import spaces

from passpilot.features.point import find_point
from passpilot.plugin.errors import AdviceError, CompilationError, InputError
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage
from passpilot.training.data.matrix import Arrangement
from passpilot.training.data.normalization import LIMIT, FeatureStatistics
from passpilot.training.environments.compiler_env import CompilerEnv
from passpilot.training.environments.local_compiler import LocalCompiler
from passpilot.training.environments.module_episodes import EnvironmentSettings, ModuleEpisodes
from passpilot.training.environments.point_decisions import PointDecisions
from passpilot.training.environments.vector import VectorDecisions
from passpilot.training.episode import CompilerClient
from tests.training.calls import CODE

if TYPE_CHECKING:
    from passpilot.training.episode import Observed


def observation_of(point: str, **values: object) -> dict[str, np.ndarray]:
    """An observation of all features of a point: zeros but for the named ones."""
    made = {spec.name: np.zeros(spec.shape, spec.numpy_dtype) for spec in find_point(point).features}
    for name, value in values.items():
        made[name][...] = value
    return made


def test_the_spaces_of_a_flag() -> None:
    made = PointDecisions("inline", ["cost_estimate", "inlining_default"])
    assert made.asked == ("cost_estimate", "inlining_default")
    assert list(cast("spaces.Dict", made.observation_space)) == ["cost_estimate", "inlining_default"]
    box = cast("spaces.Dict", made.observation_space)["cost_estimate"]
    info = np.iinfo(np.int64)
    assert box == spaces.Box(info.min, info.max, (1,), np.int64)
    assert made.action_space == spaces.Discrete(2)
    assert made.masks().tolist() == [True, True]
    assert made.legal(5, strict=False) == (5, False)
    own = PointDecisions("inline", [])
    assert own.asked == ()
    assert "inlining_default" not in own.observation_space.spaces  # type: ignore[attr-defined]


def test_the_spaces_of_a_number() -> None:
    made = PointDecisions("priority", [])
    assert made.action_space == spaces.Box(0, 2.0**32 - 1, (1,), np.float64)
    assert made.masks().tolist() == [True]
    assert made.legal(1.5, strict=False) == (1.5, False)


def test_a_choice_always_sees_its_mask_and_asks_for_the_default() -> None:
    made = PointDecisions("evict", ["hint_weights_by_max"])
    assert [spec.name for spec in made.tensors] == ["hint_weights_by_max", "mask"]
    assert made.asked == ("hint_weights_by_max", "mask", find_point("evict").default.name)
    assert made.masks().all(), "there is no decision yet"
    assert len(made.masks()) == cast("spaces.Discrete", made.action_space).n


def test_an_illegal_choice_is_replaced_by_the_compilers() -> None:
    made = PointDecisions("evict", ["mask"])
    mask = np.zeros(33)
    mask[[3, 5]] = 1
    seen = made.see(observation_of("evict", mask=mask, **{find_point("evict").default.name: 5}))
    assert list(seen) == ["mask"]
    assert np.flatnonzero(made.masks()).tolist() == [3, 5]
    for action, taken in (
        (3, (3, False)),
        (4, (5, True)),
        (np.int64(0), (5, True)),
        (33, (33, False)),
        (-1, (-1, False)),
        ("x", ("x", False)),
    ):
        assert made.legal(action, strict=False) == taken
        assert made.legal(action, strict=True) == (action, False)
    made.clear()
    assert not made.last["mask"].any()


def test_observations_are_finite_copies() -> None:
    made = PointDecisions("evict", ["hint_weights_by_max"])
    given = observation_of("evict", hint_weights_by_max=np.inf, mask=1)
    seen = made.see(given)
    assert seen is made.last
    assert np.isfinite(seen["hint_weights_by_max"]).all()
    assert seen["hint_weights_by_max"].max() > 1e30
    assert made.observation_space.contains(seen)
    given["mask"][...] = 0
    assert seen["mask"].all()
    rows = PointDecisions("inline", ["cost_estimate"])
    rows.see(observation_of("inline", cost_estimate=-7))
    assert rows.rows() == ["cost_estimate = [-7]"]


class Listed:
    """A compiler that notes the modules; `answers` says what comes of each."""

    def __init__(self, answers: dict[object, object]) -> None:
        self.answers, self.asked = answers, list[object]()
        self.info: dict[str, object] = {}

    def reset(self, module: object, **_: object) -> Observed | None:
        self.asked.append(module)
        answer = self.answers.get(module, {})
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            self.info = {"notes": (answer, "another")}
            return None
        return cast("Observed", answer)


def episodes(
    answers: dict[object, object], *modules: Any, shuffle: bool = False
) -> tuple[ModuleEpisodes, Listed]:
    compiler = Listed(answers)
    return ModuleEpisodes(modules, {}, cast("CompilerClient", compiler), shuffle=shuffle), compiler


def test_modules_come_in_turn_and_again() -> None:
    made, compiler = episodes({"b": "nothing"}, "a", "b", Path("c"), b"d")
    random = np.random.default_rng(0)
    names = []
    for _ in range(5):
        made.start(random, {})
        names.append(made.module)
    assert names == ["a", "c", "c", "module", "a"]
    assert compiler.asked == ["a", "b", "c", "c", b"d", "a"]
    made.rewind()
    made.start(random, {})
    assert made.module == "a"


def test_a_module_can_be_chosen() -> None:
    made, compiler = episodes({}, "a", "b", b"code")
    random = np.random.default_rng(0)
    for wanted in (Path("b"), "a", b"code"):
        made.start(random, {"module": wanted})
    assert compiler.asked == ["b", "a", b"code"]
    made.start(random, {})
    assert made.module == "a", "a choice is no turn"
    with pytest.raises(InputError, match="expected one of its modules, got 'c'"):
        made.start(random, {"module": "c"})


def test_modules_are_drawn_by_the_generator() -> None:
    names = [str(number) for number in range(20)]

    def drawn(seed: int) -> list[str]:
        made, _ = episodes({}, *names, shuffle=True)
        random = np.random.default_rng(seed)
        found = []
        for _ in range(6):
            made.start(random, {})
            found.append(made.module)
        return found

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(set(drawn(1))) > 2


def test_without_a_decision_the_reason_is_told() -> None:
    random = np.random.default_rng(0)
    made, compiler = episodes({"a": CompilationError("it crashed"), "b": "nothing to do"}, "a", "b")
    with pytest.raises(InputError, match=r"expected a module with decisions, got none: it crashed$"):
        made.start(random, {})
    assert compiler.asked == ["a", "b"]
    made, _ = episodes({"b": "nothing to do"}, "b")
    with pytest.raises(InputError, match=r"expected a module with decisions, got none: nothing to do$"):
        made.start(random, {})
    made, compiler = episodes({"a": InputError("wrong"), "b": {}}, "a", "b")
    with pytest.raises(InputError, match=r"^wrong$"):
        made.start(random, {})
    assert compiler.asked == ["a"]


@pytest.mark.parametrize("modules", ["a.bc", b"code", Path("a.bc"), [], ()])
def test_modules_are_a_list(modules: Any) -> None:
    with pytest.raises(InputError, match="environment: expected a list of modules, got "):
        ModuleEpisodes(modules, {}, cast("CompilerClient", Listed({})), shuffle=False)


def test_a_vector_has_one_scale_and_the_order_of_its_names() -> None:
    arrangement = Arrangement.of(find_point("inline"), ["callee_users", "cost_estimate"])
    statistics = FeatureStatistics.of(
        arrangement.names, [np.array([[1, 10], [2, 1000], [3, -50]], np.float32)]
    )
    with CompilerEnv("inline", [CODE], pipeline="default<Oz>", compiler="thread") as plain:
        env = VectorDecisions(plain, arrangement, statistics)
        assert env.observation_space == spaces.Box(-LIMIT, LIMIT, (2,), np.float32)
        vector, _ = env.reset(seed=0)
        seen = plain._decisions.last
        row = [[seen["callee_users"].item(), seen["cost_estimate"].item()]]
        assert vector == pytest.approx(statistics.normalize(np.array(row, np.float32))[0])
        assert env.action_masks().tolist() == [True, True]


def test_what_an_environment_shows_and_tells() -> None:
    options: dict[str, Any] = {"pipeline": "default<Oz>", "compiler": "thread", "features": ["callee_users"]}
    with CompilerEnv("inline", [CODE], **options, render_mode="ansi") as env:
        observation, info = env.reset()
        assert info["module"] == "module"
        assert cast("np.ndarray", info["action_mask"]).tolist() == [1, 1]
        assert env.render() == f"module\ncallee_users = {observation['callee_users'].tolist()}"
        _, _, over, cut, info = env.step(0)
        assert (over, cut, "value" in info) == (False, False, False)
        observation, reward, over, cut, info = env.step(0)
        assert (over, cut, info["decisions"]) == (True, False, 2)
        assert not observation["callee_users"].any()
        assert reward == (info["baseline"] - info["value"]) / info["baseline"]  # type: ignore[operator]
    with CompilerEnv("inline", [CODE], **options) as env:
        env.reset()
        assert env.render() is None
        with pytest.raises(AdviceError, match="expected a bool"):
            env.step(2)
        env.step(1)


@pytest.mark.parametrize("compiler", ["process", "thread"])
def test_arguments_of_a_compiler(compiler: Any, tmp_path: Path) -> None:
    for timeout in (0, -1, float("nan")):
        with pytest.raises(InputError, match="expected a timeout of more than 0 seconds, got "):
            LocalCompiler(compiler, timeout=timeout)
    with LocalCompiler(compiler) as made:
        with pytest.raises(InputError, match=r"none.bc: expected a module, got: No such file or directory"):
            made.reset(str(tmp_path / "none.bc"), point="inline", pipeline="default<Oz>")
        assert made.reset(CODE, point="inline", pipeline="default<Oz>") is not None
        with pytest.raises(AdviceError, match=r"action: expected a bool or a number, got list \[1\]"):
            made.step([1])
        assert made.step(np.array([1]))[2] is False


def test_a_compiler_is_a_process_or_a_thread() -> None:
    with pytest.raises(InputError, match="compiler: expected process or thread, got 'fork'"):
        LocalCompiler("fork")  # type: ignore[arg-type]
    for where in ("process", "thread"):
        made = EnvironmentSettings(compiler=where, timeout=5.0).connect()
        assert isinstance(made, LocalCompiler)
        made.close()
        made.close()


@pytest.fixture
def exchanged(monkeypatch: pytest.MonkeyPatch) -> Callable[[LocalCompiler], list[str]]:
    """The kinds of messages that a compiler's worker gets."""

    def watch(compiler: LocalCompiler) -> list[str]:
        kinds = list[str]()
        stream = cast("Any", compiler)._stream
        ask = stream._ask

        def noted(message: AgentMessage) -> CompilerMessage:
            kinds.append(message.WhichOneof("kind") or "end")
            return cast("CompilerMessage", ask(message))

        monkeypatch.setattr(stream, "_ask", noted)
        return kinds

    return watch


def test_the_default_is_compiled_once(exchanged: Callable[[LocalCompiler], list[str]]) -> None:
    """Its value does not depend on the decisions, but on the module and on how it is compiled."""
    with LocalCompiler("thread") as compiler:
        kinds = exchanged(compiler)
        found = []
        for code, level in (
            (CODE, 2),
            (CODE, 2),
            (CODE, 0),
            (CODE.replace(b"mul", b"sdiv"), 2),
        ):
            kinds.clear()
            compiler.reset(
                code, point="inline", pipeline="default<Oz>", opt_level=level, reward="native-size"
            )
            over = False
            while not over:
                _, _, over, info = compiler.step(0)
            found.append((kinds.count("start"), info["baseline"]))
        assert [count for count, _ in found] == [2, 1, 2, 2]
        assert found[0][1] == found[1][1] != found[3][1]
