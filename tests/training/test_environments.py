# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments of Gymnasium: the checker is content, episodes are compilations, crashes cost one episode."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from numpy.typing import NDArray

import passpilot.training  # noqa: F401  (registers the environments)
from passpilot.plugin.errors import AdviceError, InputError, UsageError
from passpilot.plugin.isolated import run_isolated
from passpilot.training.environments import NAMED
from passpilot.training.environments.compiler_env import CompilerEnv
from passpilot.training.rewards import MEASURES
from passpilot.training.task import Task
from tests.command import GENEROUS
from tests.training.serving import served

Env = gymnasium.Env[dict[str, NDArray[np.generic]], object]


def played(env: Env, seed: int = 0, **options: object) -> tuple[float, int, dict[str, object]]:
    """An episode of legal actions at random: the sum of rewards, the steps, the last info."""
    _, info = env.reset(seed=seed, options=dict(options))
    env.action_space.seed(seed)
    total, steps, over = 0.0, 0, False
    while not over:
        mask = info.get("action_mask")
        action = env.action_space.sample(mask) if mask is not None else env.action_space.sample()
        observation, reward, terminated, truncated, info = env.step(action)
        assert env.observation_space.contains(observation)
        total, steps, over = total + float(reward), steps + 1, terminated or truncated
    return total, steps, info


@pytest.fixture
def made(request: pytest.FixtureRequest, program: Path, pressed: Path) -> Iterator[Env]:
    name, compiler = request.param
    modules = [str(pressed if name in ("passpilot/Evict-v0", "passpilot/Priority-v0") else program)]
    # At Oz, LLVM 23 leaves nothing to single passes.
    more: dict[str, Any] = (
        {"pipeline": "default<O2>,advised-pipeline"} if name == "passpilot/Pipeline-v0" else {}
    )
    env = gymnasium.make(name, modules=modules, compiler=compiler, **more)
    yield env
    env.close()


KINDS = [
    ("passpilot/InlineSize-v0", "process"),
    ("passpilot/InlineSize-v0", "thread"),
    ("passpilot/Evict-v0", "process"),
    ("passpilot/Pipeline-v0", "process"),
]


@pytest.mark.parametrize("made", KINDS, indirect=True, ids=str)
def test_the_checker_is_content(made: Env) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(made.unwrapped, skip_render_check=False)


@pytest.mark.parametrize("made", [*KINDS[1:], ("passpilot/Priority-v0", "thread")], indirect=True, ids=str)
def test_an_episode_is_a_compilation(made: Env) -> None:
    reward, steps, info = played(made)
    assert steps == info["decisions"]
    assert steps > 1
    value, baseline = cast("float", info["value"]), cast("float", info["baseline"])
    assert reward == pytest.approx((baseline - value) / baseline)
    again, count, told = played(made)
    assert (again, count, told["value"]) == (reward, steps, value)
    assert any(played(made, seed)[2]["value"] != value for seed in range(1, 4))


def test_options_of_llvm_reach_the_compiler(pressed: Path) -> None:
    options = ["-regalloc=advised"]
    with CompilerEnv("ra-colour", [pressed], reward="allocation-cost", llvm_options=options) as env:
        reward, steps, _ = played(env)
        assert reward != 0
        assert steps > 1
    with (
        CompilerEnv("ra-colour", [pressed], llvm_options=["-no-such=1"]) as env,
        pytest.raises(InputError, match="no-such"),
    ):
        env.reset()


def test_the_default_gets_no_reward(program: Path) -> None:
    features = ["inlining_default"]
    with CompilerEnv("inline", [program], pipeline="default<Oz>", features=features) as env:
        observation, _ = env.reset()
        over, reward = False, 1.0
        while not over:
            observation, reward, over, _, info = env.step(int(observation["inlining_default"].item()))
        measure = MEASURES["native-size"]
        alone = Task(program.read_bytes(), "default<Oz>", {}, 2, measure, "").run()
        assert (reward, info["value"], info["baseline"]) == (0, alone, alone)


def test_modules_come_in_turn_and_those_without_decisions_never(program: Path, tmp_path: Path) -> None:
    (tmp_path / "none.ll").write_text("define void @f() {\n  ret void\n}\n")
    other = tmp_path / "b.bc"
    other.write_bytes(program.read_bytes())
    modules = [program, tmp_path / "none.ll", other]
    with CompilerEnv("inline", modules, pipeline="default<Oz>", shuffle=False, compiler="thread") as env:
        names = [env.reset()[1]["module"] for _ in range(4)]
        assert set(names) == {str(program), str(other)}
        assert env.reset(options={"module": str(other)})[1]["module"] == str(other)
        with pytest.raises(InputError, match="expected one of its modules"):
            env.reset(options={"module": "c.bc"})
    with (
        CompilerEnv("inline", modules[1:2], pipeline="default<Oz>", compiler="thread") as env,
        pytest.raises(InputError, match="expected a module with decisions, got none"),
    ):
        env.reset()


CRASHES = """\
import ctypes, os, passpilot

@passpilot.feature("int64[1]")
def fatal(site):
    if site.caller.name == "second":
        ctypes.string_at(0)
    return 1
"""


@pytest.mark.usefixtures("restored_registries")
def test_a_crash_ends_an_episode_only(program: Path, tmp_path: Path) -> None:
    (tmp_path / "crashes.py").write_text(CRASHES)
    features = ["callee_users", "fatal"]
    with CompilerEnv(
        "inline", [program], pipeline="default<Oz>", features=features, load=[str(tmp_path / "crashes.py")]
    ) as env:
        for _ in range(2):
            reward, steps, info = played(env)
            assert (reward, "SIGSEGV" in str(info["error"])) == (0.0, True)
            assert steps > 1


def test_a_copy_of_the_process_does_not_end_the_compiler(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with CompilerEnv("inline", [program], pipeline="default<Oz>") as env:
        env.reset()
        (folder,) = tmp_path.iterdir()
        run_isolated("test", env.close, GENEROUS)
        assert list(tmp_path.iterdir()) == [folder]
        _, steps, info = played(env)
        assert (steps, info.get("error")) == (info["decisions"], None)
    assert not folder.exists()


def test_an_illegal_action_leaves_the_decision_to_llvm(pressed: Path) -> None:
    with CompilerEnv("evict", [pressed], reward="allocation-cost", compiler="thread") as env:
        _, info = env.reset()
        over, reward = False, 1.0
        while not over:
            mask = cast("np.ndarray", info["action_mask"])
            _, reward, over, _, info = env.step(np.int64(np.flatnonzero(mask == 0)[0]))
            assert info["illegal"]
        assert reward == 0  # as LLVM


def test_a_strict_environment_refuses_illegal_actions(pressed: Path) -> None:
    with CompilerEnv("evict", [pressed], reward="none", compiler="thread", strict=True) as env:
        _, info = env.reset()
        mask = cast("np.ndarray", info["action_mask"])
        assert mask.dtype == np.int8
        assert (env.action_masks() == (mask != 0)).all()
        with pytest.raises(AdviceError):
            env.step(int(np.flatnonzero(mask == 0)[0]))
        env.step(int(np.flatnonzero(mask)[0]))


def test_environments_run_side_by_side(program: Path) -> None:
    envs = gymnasium.make_vec(
        "passpilot/InlineSize-v0", num_envs=2, vectorization_mode="sync", modules=[str(program)]
    )
    observations, infos = envs.reset(seed=3)
    assert observations["callee_users"].shape == (2, 1)
    assert infos["action_mask"].shape == (2, 2)
    done = np.zeros(2, bool)
    for _ in range(200):
        _, _, terminated, _, _ = envs.step(np.array([0, 1]))
        done |= terminated
        if done.all():
            break
    assert done.all()
    envs.close()


def test_a_service_can_compile(program: Path, tmp_path: Path) -> None:
    modules = [program.read_bytes()]
    with (
        served(tmp_path) as service,
        CompilerEnv("inline", modules, pipeline="default<Oz>", compiler=service.target) as env,
    ):
        _, steps, info = played(env)
        assert steps == info["decisions"]


@pytest.mark.parametrize("first", ["gymnasium", "passpilot.training"])
def test_importing_registers(first: str) -> None:
    """Where Gymnasium comes second, the name of the environment has the module that registers it."""
    second = {"gymnasium", "passpilot.training"} - {first}
    made = "gymnasium.make('passpilot.training.environments:passpilot/InlineSize-v0', modules=[b''])"
    more = f"; {made}" if first != "gymnasium" else ""
    script = f"import {first}; import {second.pop()}; import gymnasium{more}; print(*gymnasium.registry)"
    names = subprocess.check_output([sys.executable, "-c", script], text=True).split()
    assert set(NAMED) <= set(names)
    script = "import sys, passpilot.training; print('gymnasium' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", script], text=True) == "False\n"


ARGUMENTS = {
    "InlineSize": {"point": "inline", "pipeline": "default<Oz>", "reward": "native-size"},
    "Evict": {"point": "evict", "reward": "allocation-cost"},
    "Priority": {"point": "priority", "reward": "allocation-cost"},
    "Pipeline": {
        "point": "advised-pipeline",
        "pipeline": "default<Oz>,advised-pipeline",
        "reward": "native-size",
    },
    "Point": {},
}


def test_what_the_registered_environments_decide() -> None:
    found = {name: spec for name, spec in gymnasium.registry.items() if name.startswith("passpilot/")}
    assert {name: spec.kwargs for name, spec in found.items()} == {
        f"passpilot/{name}-v0": arguments for name, arguments in ARGUMENTS.items()
    }
    assert all(spec.order_enforce for spec in found.values())


def test_the_guide_prints_what_it_says(tmp_path: Path) -> None:
    """One agent, and several."""
    text = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    blocks = re.findall(r"```(python|text)\n(.*?)```", text, re.DOTALL)
    printing = [(code, said) for (_, code), (kind, said) in pairwise(blocks) if kind == "text"]
    assert len(printing) == 2
    for code, said in printing:
        (tmp_path / "guide.py").write_text(code)
        assert subprocess.check_output([sys.executable, "guide.py"], cwd=tmp_path, text=True) == said


def test_wrong_arguments_are_refused(program: Path) -> None:
    with pytest.raises(InputError, match="expected a list of modules"):
        CompilerEnv("inline", str(program))
    with pytest.raises(UsageError, match="nowhere"):
        CompilerEnv("inline", [program], compiler="nowhere")
    with (
        CompilerEnv("inline", [program], pipeline="default<Ox>", compiler="thread") as env,
        pytest.raises(InputError, match="Ox"),
    ):
        env.reset()


@pytest.mark.parametrize("compiler", ["thread", "process"])
def test_partial_rewards_add_up_to_the_measured_one(compiler: str, program: Path) -> None:
    env = gymnasium.make("passpilot/InlineSize-v0", modules=[str(program)], compiler=compiler, partial=True)
    for seed in range(2):
        _, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        rewards, over = list[float](), False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.action_space.sample())
            rewards.append(float(reward))
            over = terminated or truncated
        value, baseline = cast("float", info["value"]), cast("float", info["baseline"])
        assert sum(rewards) == pytest.approx((baseline - value) / baseline)
        assert sum(reward != 0 for reward in rewards[:-1]) > len(rewards) / 3
    env.close()


def test_partial_rewards_tell_good_from_bad(program: Path) -> None:
    """Decisions that differ from LLVM's in one place have other rewards there, before the end."""
    env = gymnasium.make("passpilot/InlineSize-v0", modules=[str(program)], compiler="thread", partial=True)

    def rewards(flipped: int) -> list[float]:
        observation, info = env.reset(seed=0)
        found, over = list[float](), False
        while not over:
            own = int(observation["cost_estimate"][0] < 0)
            action = own ^ (len(found) == flipped)
            observation, reward, terminated, truncated, info = env.step(action)
            found.append(float(reward))
            over = terminated or truncated
        assert "error" not in info
        return found

    plain = rewards(-1)
    for place in range(3):
        other = rewards(place)
        assert other[:place] == plain[:place]
        assert other[place] != plain[place]
    env.close()


def test_partial_rewards_are_for_the_inliner(pressed: Path) -> None:
    env = gymnasium.make("passpilot/Evict-v0", modules=[str(pressed)], compiler="thread", partial=True)
    with pytest.raises(InputError, match="partial: expected the point inline alone, got evict"):
        env.reset()
    env.close()
