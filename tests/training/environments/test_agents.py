# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerAEC` step by step: what agents see and are told, and the options that reach the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from passpilot.plugin.errors import CompilationError, InputError, PeerError
from passpilot.training.environments.agents import CompilerAEC
from passpilot.training.environments.compiler_env import CompilerEnv
from tests.training.calls import CODE

FEATURES = {"inline": ["callee_users"], "priority": ["priority_default"]}
MODULES = [CODE, CODE.replace(b"@caller", b"@other")]


def made(points: tuple[str, ...] = ("inline", "priority"), **options: Any) -> CompilerAEC:
    features = {name: FEATURES[name] for name in points}
    given = {
        "pipeline": "default<Oz>",
        "compiler": "thread",
        "features": features,
        "shuffle": False,
        **options,
    }
    return CompilerAEC(points, given.pop("modules", MODULES[:1]), **given)


def over(env: CompilerAEC) -> bool:
    return env.terminations[env.agents[0]]


def test_agents_see_zeros_before_and_after() -> None:
    env = made(render_mode="ansi")
    assert (env.possible_agents, env.agents, env.render()) == (["inline", "priority"], [], None)
    env.reset()
    assert (env.agents, env.agent_selection) == (["inline", "priority"], "inline")
    assert env.rewards == {"inline": 0.0, "priority": 0.0}
    assert env.infos == {agent: {"module": "module"} for agent in env.agents}
    seen = env.observe("inline")
    assert seen["action_mask"].tolist() == [1, 1]  # type: ignore[attr-defined]
    assert seen["action_mask"].dtype == np.int8  # type: ignore[attr-defined]
    users = seen["observation"]["callee_users"]  # type: ignore[index]
    assert env.render() == f"module: inline\ncallee_users = {users.tolist()}"
    other = env.observe("priority")
    assert list(other) == ["observation"], "a number has no mask"
    assert not other["observation"]["priority_default"].any()  # type: ignore[index]
    steps = 0
    while not over(env):
        steps += 1
        env.step(0 if env.agent_selection == "inline" else 1.0)
    assert env.agent_selection == "inline"
    assert len({*env.rewards.values()}) == 1
    for agent in env.agents:
        assert env.infos[agent]["decisions"] == steps
        assert not any(each.any() for each in env.observe(agent)["observation"].values())  # type: ignore[attr-defined]
    env.reset()
    assert not over(env)
    assert env.rewards == {"inline": 0.0, "priority": 0.0}
    env.close()
    assert (env.agents, env.render()) == ([], None)
    with pytest.raises(InputError, match="no episode is under way; call reset first"):
        env.step(0)


def test_spaces_are_those_of_the_agents() -> None:
    env = made()
    assert set(env.observation_space("inline").spaces) == {"observation", "action_mask"}  # type: ignore[attr-defined]
    assert list(env.observation_space("priority").spaces) == ["observation"]  # type: ignore[attr-defined]
    assert env.action_space("inline").n == 2  # type: ignore[attr-defined]
    assert env.action_space("priority").shape == (1,)
    env.close()


def test_nothing_is_rendered_unless_asked() -> None:
    env = made()
    env.reset()
    assert env.render() is None
    env.close()


def test_a_seed_begins_with_the_first_module_again() -> None:
    """Without one the next module comes."""
    env = made(("inline",), modules=MODULES, function="caller")
    env.reset()
    with pytest.raises(InputError, match="got 'caller'"):
        env.reset()
    env.reset(seed=1)
    with pytest.raises(InputError, match="got 'caller'"):
        env.reset(options={"module": MODULES[1]})
    env.close()
    drawn = []
    for seed in (1, 1, 2, 3, 4, 5):
        env = made(("inline",), modules=MODULES * 8, shuffle=True)
        env.reset(seed=seed)
        drawn.append([env._random.integers(1 << 30) for _ in range(2)])
        env.close()
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize("reward", ["native-size", "none"])
def test_options_reach_the_compiler(reward: str) -> None:
    env = made(("inline",), reward=reward, with_object=True, opt_level=0, at={"optimizer-last": "dce"})
    env.reset()
    while not over(env):
        env.step(1)
    info = env.infos["inline"]
    assert ("value" in info) == (reward != "none")
    assert cast("bytes", info["object"])[:4] == b"\x7fELF"
    env.close()
    env = made(("inline",), at={"nowhere": "dce"})
    with pytest.raises(InputError, match="got 'nowhere'"):
        env.reset()
    env.close()


@pytest.mark.parametrize("kind", [CompilerEnv, CompilerAEC])
def test_the_level_of_code_generation_is_checked(kind: type) -> None:
    point: Any = "inline" if kind is CompilerEnv else ["inline"]
    env = kind(point, [CODE], pipeline="default<Oz>", compiler="thread", opt_level=4)
    with pytest.raises(InputError, match="opt_level: expected 0 to 3, got 4"):
        env.reset()
    env.close()
    with pytest.raises(InputError, match="expected a timeout of more than 0 seconds"):
        kind(point, [CODE], timeout=0)


def test_an_environment_of_one_agent_begins_again_by_its_seed() -> None:
    options: dict[str, Any] = {"pipeline": "default<Oz>", "compiler": "thread", "shuffle": False}
    with CompilerEnv("inline", MODULES, function="caller", **options) as env:
        env.reset()
        with pytest.raises(InputError, match="got 'caller'"):
            env.reset()
        env.reset(seed=1)
    with (
        CompilerEnv("inline", MODULES[:1], at={"nowhere": "dce"}, **options) as env,
        pytest.raises(InputError, match="got 'nowhere'"),
    ):
        env.reset()
    with CompilerEnv("inline", MODULES[:1], reward="none", **options) as env:
        env.reset()
        done = False
        while not done:
            _, reward, done, _, info = env.step(0)
        assert (reward, "value" in info) == (0.0, False)


def fails(error: Exception) -> Callable[[object], object]:
    def step(_: object) -> object:
        raise error

    return step


def test_a_failed_compilation_has_the_reward_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with an illegal action before it; a service that is gone is another matter."""
    options: dict[str, Any] = {"pipeline": "default<Oz>", "compiler": "thread", "failure_reward": -0.5}
    with CompilerEnv("inline", MODULES[:1], features=["callee_users"], **options) as env:
        env.reset()
        monkeypatch.setattr(env._episodes.compiler, "step", fails(CompilationError("it crashed")))
        observation, reward, terminated, truncated, info = env.step(0)
        assert (reward, terminated, truncated) == (-0.5, False, True)
        assert (info["module"], info["error"]) == ("module", "it crashed")
        assert not observation["callee_users"].any()
        monkeypatch.setattr(env._episodes.compiler, "step", fails(PeerError("it is gone")))
        with pytest.raises(PeerError, match="it is gone"):
            env.step(0)
    agents = made(failure_reward=-0.5)
    agents.reset()
    monkeypatch.setattr(agents._episodes.compiler, "step", fails(PeerError("it is gone")))
    with pytest.raises(PeerError, match="it is gone"):
        agents.step(0)
    monkeypatch.setattr(agents._episodes.compiler, "step", fails(CompilationError("it crashed")))
    agents.step(0)
    assert agents.truncations == dict.fromkeys(agents.agents, True)
    assert agents.terminations == dict.fromkeys(agents.agents, False)
    assert agents.rewards == dict.fromkeys(agents.agents, -0.5)
    assert {str(each["error"]) for each in agents.infos.values()} == {"it crashed"}
    agents.close()
