# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Environments of PettingZoo: its own tests pass, the code is that of the commands with the same runners."""

from __future__ import annotations

import contextlib
import functools
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pytest
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils import aec_to_parallel, turn_based_aec_to_parallel

from passpilot.features.point import find_point
from passpilot.plugin.errors import AdviceError, InputError, PeerError
from passpilot.plugin.load import load_file
from passpilot.training.compiler_pb2 import CompilerMessage
from passpilot.training.environments.agents import CompilerAEC
from passpilot.training.rewards import code_bytes
from tests.command import passpilot
from tests.passes.allocator.steps import POINTS
from tests.training.serving import compiling, served

PIPELINE: Final = "default<O2>"
INLINE_EVICT: Final = ("inline", "evict")
ADVISED: Final = "-regalloc=advised"

Policies = Mapping[str, Callable[[Any], object]]

POLICY: Final = """\
def inline(obs):
    return int(obs["cost_estimate"][0] < 60)


def evict(obs):
    return int(obs["mask"].reshape(-1).nonzero()[0][-1])  # rather none


colour = evict


def same(obs):
    return obs.default()
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.py"
    path.write_text(POLICY)
    return path


@pytest.fixture
def source(corpus: Callable[[str, str], Path]) -> Path:
    """A translation unit of a real program, as the front end leaves it."""
    return corpus("lua", "O2").with_name("src__lstrlib.c.bc")


@contextlib.contextmanager
def made(points: tuple[str, ...], module: Path, **options: Any) -> Iterator[CompilerAEC]:
    with contextlib.closing(CompilerAEC(points, [module], **options)) as env:
        yield env


def allocators(module: Path, **options: Any) -> contextlib.AbstractContextManager[CompilerAEC]:
    """The four agents of the advised allocator; they also see what it would do itself."""
    features = {name: ["mask", find_point(name).default.name] for name in POINTS}
    return made(
        POINTS, module, features=features, llvm_options=[ADVISED], reward="allocation-cost", **options
    )


def defaults(points: tuple[str, ...]) -> Policies:
    """Policies that repeat the compiler's own decisions."""

    def repeat(name: str, obs: Any) -> object:
        return obs[name].item()

    return {point: functools.partial(repeat, find_point(point).default.name) for point in points}


def played(
    env: CompilerAEC, policies: Policies = MappingProxyType({})
) -> tuple[dict[str, float], dict[str, Any]]:
    """An episode: the rewards by agent, and the last info; actions at random where there is no policy."""
    env.reset(seed=0)
    for number, agent in enumerate(env.agents):
        env.action_space(agent).seed(number)
    rewards: dict[str, float] = {}
    for agent in env.agent_iter():
        seen, reward, terminated, truncated, info = env.last()
        rewards[agent] = rewards.get(agent, 0.0) + reward
        if terminated or truncated:
            env.step(None)
        elif agent in policies:
            env.step(policies[agent](seen["observation"]))
        else:
            env.step(env.action_space(agent).sample(seen.get("action_mask")))
    assert env.agents == []
    return rewards, info


def workers() -> set[int]:
    """The processes that compile."""
    return {child.pid for child in compiling()}


STYLE: Final = (
    ".*(not a NumPy array|<descriptor>_<number>|probably should be|different observation space sizes)"
)
"""What PettingZoo's test likes otherwise: observations are dictionaries, and agents have points' names."""


@pytest.mark.parametrize(
    ("points", "options"),
    [
        (INLINE_EVICT, {"pipeline": PIPELINE}),
        (("inline", "priority"), {"pipeline": PIPELINE, "compiler": "thread", "render_mode": "ansi"}),
        (POINTS, {"llvm_options": [ADVISED], "reward": "allocation-cost"}),
    ],
    ids=["inline-evict", "inline-priority", "allocator"],
)
def test_the_tests_of_pettingzoo_pass(
    points: tuple[str, ...], options: dict[str, Any], program: Path, pressed: Path
) -> None:
    modules = [program, pressed]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=STYLE, category=UserWarning)
        with contextlib.closing(CompilerAEC(points, modules, **options)) as env:
            api_test(env, num_cycles=200)
        seed_test(lambda: CompilerAEC(points, modules, **options), num_cycles=200)


def test_two_policies_give_the_code_of_the_commands(source: Path, policy: Path, tmp_path: Path) -> None:
    code = load_file(policy)
    with made(INLINE_EVICT, source, pipeline=PIPELINE, with_object=True) as env:
        rewards, info = played(env, {"inline": code.inline, "evict": code.evict})
        assert set(rewards) == set(INLINE_EVICT)
        assert len({*rewards.values()}) == 1
        assert rewards["evict"] == (info["baseline"] - info["value"]) / info["baseline"] != 0
        ours = info["object"]
        _, other = played(env, {"inline": code.inline})
        assert other["object"] != ours  # the allocator's agent matters
    mid, out = tmp_path / "mid.bc", tmp_path / "out.o"
    advised = f"--inline=python:{policy}:inline"
    assert passpilot("opt", source, f"-passes={PIPELINE}", advised, "-o", mid, cwd=tmp_path).code == 0
    advised = f"--evict=python:{policy}:evict"
    assert passpilot("llc", mid, "-O2", "-filetype=obj", advised, "-o", out, cwd=tmp_path).code == 0
    assert out.read_bytes() == ours


def test_the_object_needs_no_reward(program: Path) -> None:
    """One for a trainer that measures by itself; the measured value does not depend on it."""
    with made(("inline",), program, pipeline=PIPELINE, reward="none", with_object=True) as env:
        rewards, info = played(env)
    assert (rewards, "value" in info) == ({"inline": 0.0}, False)
    with made(("inline",), program, pipeline=PIPELINE, with_object=True) as env:
        _, measured = played(env)
    assert info["object"] == measured["object"]
    assert measured["value"] == code_bytes(info["object"])


def test_default_answers_of_four_agents_give_the_default(pressed: Path, policy: Path, tmp_path: Path) -> None:
    def by_llc(*flags: str) -> bytes:
        out = tmp_path / "out.o"
        done = passpilot("llc", pressed, "-O2", ADVISED, "-filetype=obj", *flags, "-o", out, cwd=tmp_path)
        assert done.code == 0, done.err
        return out.read_bytes()

    with allocators(pressed, with_object=True) as env:
        rewards, info = played(env, defaults(POINTS))
        assert rewards == dict.fromkeys(POINTS, 0.0)
        assert info["object"] == by_llc()
        rewards, info = played(env, {**defaults(POINTS), "ra-colour": load_file(policy).colour})
        others = [f"--{point}=python:{policy}:same" for point in POINTS if point != "ra-colour"]
        assert info["object"] == by_llc(f"--ra-colour=python:{policy}:colour", *others) != by_llc()
        assert {*rewards.values()} != {0.0}


def test_four_agents_allocate_a_real_program(source: Path) -> None:
    with allocators(source, pipeline=PIPELINE) as env:
        rewards, info = played(env, defaults(POINTS))
    assert (rewards, info["value"]) == (dict.fromkeys(POINTS, 0.0), info["baseline"])
    assert info["decisions"] > 1000


def test_an_abandoned_episode_leaves_its_process(pressed: Path) -> None:
    """Though four advisors ask for the same agent: none may wait for an answer that does not come."""
    with allocators(pressed) as env:
        before = workers()
        env.reset(seed=0)
        ours = workers() - before
        for _ in range(3):
            env.step(int(env.last()[0]["action_mask"].nonzero()[0][0]))
            env.reset()
        assert workers() - before == ours
        assert len(ours) == 1
        env.close()
        assert workers() == before
        assert list(env.agent_iter()) == []


CRASHES: Final = """\
import ctypes, threading, passpilot

@passpilot.feature("int64[1]")
def fatal(site):
    if site.caller.name == "second":
        ctypes.string_at(0)
    return 1

@passpilot.feature("int64[1]")
def endless(site):
    if site.caller.name == "second":
        threading.Event().wait()
    return 1
"""


@pytest.mark.usefixtures("restored_registries")
@pytest.mark.parametrize(("feature", "told"), [("fatal", "SIGSEGV"), ("endless", "within 5 s, got silence")])
def test_a_crash_or_a_hang_ends_an_episode_only(
    feature: str, told: str, program: Path, tmp_path: Path
) -> None:
    (tmp_path / "wrong.py").write_text(CRASHES)
    with made(
        INLINE_EVICT,
        program,
        pipeline=PIPELINE,
        features={"inline": ["callee_users", feature]},
        load=[str(tmp_path / "wrong.py")],
        failure_reward=-1.0,
        timeout=5.0,
    ) as env:
        env.reset()
        while not env.truncations[env.agent_selection]:
            env.step(1)
        assert env.truncations == dict.fromkeys(INLINE_EVICT, True)
        for agent in env.agent_iter():
            _, reward, terminated, truncated, info = env.last()
            assert (agent in INLINE_EVICT, reward, terminated, truncated) == (True, -1.0, False, True)
            assert told in info["error"]
            env.step(None)
        env.reset()
        env.step(1)
        assert not any(env.truncations.values())


@pytest.mark.parametrize("action", [2, -1, "yes", None, 0.5])
def test_a_bad_answer_names_the_agent_and_may_be_corrected(action: object, program: Path) -> None:
    with made(INLINE_EVICT, program, pipeline=PIPELINE, compiler="thread") as env:
        env.reset()
        with pytest.raises(AdviceError, match=r"^agent inline: .*expected a"):
            env.step(action)
        assert env.agent_selection == "inline"
        env.step(1)


def test_an_illegal_action_leaves_the_decision_to_llvm_unless_strict(pressed: Path) -> None:
    def wrong(env: CompilerAEC) -> int:
        return int(np.flatnonzero(env.last()[0]["action_mask"] == 0)[0])

    with made(
        ("evict", "priority"), pressed, features={"priority": ["priority_default"]}, with_object=True
    ) as env:
        env.reset()
        while not env.terminations[env.agent_selection]:
            seen = env.last()[0]
            if (agent := env.agent_selection) == "evict":
                env.step(wrong(env))
                assert env.infos["evict"]["illegal"]
            else:
                env.step(seen["observation"]["priority_default"].item())
            assert agent == "evict" or "illegal" not in env.infos["priority"]
        assert env.rewards == {"evict": 0.0, "priority": 0.0}
    with made(("evict", "priority"), pressed, strict=True) as env:
        env.reset()
        while env.agent_selection != "evict":
            env.step(1.0)
        with pytest.raises(AdviceError, match=r"agent evict: .*expected a column that 'mask' allows"):
            env.step(wrong(env))


def test_a_service_can_compile(program: Path, policy: Path, tmp_path: Path) -> None:
    code = load_file(policy)
    policies = {"inline": code.inline, "evict": code.evict}
    with made(INLINE_EVICT, program, pipeline=PIPELINE, with_object=True) as env:
        local = played(env, policies)
    modules = [program.read_bytes()]
    with (
        served(tmp_path) as service,
        contextlib.closing(
            CompilerAEC(INLINE_EVICT, modules, pipeline=PIPELINE, with_object=True, compiler=service.target)
        ) as env,
    ):
        rewards, info = played(env, policies)
    assert (rewards, info["object"]) == (local[0], local[1]["object"])


def test_a_service_gets_options_of_llvm_by_a_file(pressed: Path, tmp_path: Path) -> None:
    file = tmp_path / "allocator.py"
    file.write_text(f"import passpilot\n\npasspilot.llvm_options(['{ADVISED}'])\n")
    features = {name: ["mask", find_point(name).default.name] for name in POINTS}
    options: dict[str, Any] = {"features": features, "reward": "allocation-cost"}
    with (
        served(tmp_path, f"--load={file}") as service,
        contextlib.closing(
            CompilerAEC(POINTS, [pressed.read_bytes()], compiler=service.target, **options)
        ) as env,
    ):
        assert played(env, defaults(POINTS))[0] == dict.fromkeys(POINTS, 0.0)


def test_a_service_of_another_version_is_noticed(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that knows a single point names none."""
    with made(INLINE_EVICT, program, pipeline=PIPELINE) as env:
        stream = env._episodes.compiler._stream
        exchange = stream.exchange

        def old(message: Any) -> CompilerMessage:
            answer = exchange(message)
            answer.point = ""
            return answer

        monkeypatch.setattr(stream, "exchange", old)
        with pytest.raises(PeerError, match="expected a question to inline, evict, got one to ''"):
            env.reset()


def test_the_other_examples_of_the_guide_run(program: Path) -> None:
    """Those that print nothing: the four agents of the allocator, and compilations in threads."""
    text = (Path(__file__).parents[2] / "docs" / "environments.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```\n\n(.)", text, re.DOTALL)
    four, threads = (code for code, after in blocks if after != "p")
    names: dict[str, Any] = {"modules": [program], "play": played}
    exec(four, names)
    same = [CompilerAEC(INLINE_EVICT, [program], pipeline=PIPELINE) for _ in range(2)]
    names["environments"] = [names["env"], *same]
    exec(threads, names)
    allocated, *others = names["episodes"]
    assert set(allocated[0]) == set(POINTS)
    assert others[0] == others[1]
    for env in names["environments"]:
        env.close()


def test_agents_do_not_act_at_once(program: Path) -> None:
    with made(INLINE_EVICT, program, pipeline=PIPELINE) as env:
        with pytest.raises(AssertionError, match="is_parallelizable"):
            aec_to_parallel(env)
        turns = turn_based_aec_to_parallel(env)
        turns.reset(seed=0)
        total = 0.0
        while turns.agents:
            _, rewards, *_ = turns.step({**dict.fromkeys(turns.agents), env.agent_selection: 1})
            total += rewards["evict"]
        assert env.agents == []
        assert total != 0


def test_wrong_arguments_are_refused(program: Path, pressed: Path) -> None:
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ("inline", {}, "expected a list of decision points, got 'inline'"),
        ((), {}, "expected a list of decision points"),
        (("inline", "inline"), {}, "expected each decision point once, got inline, inline"),
        (
            INLINE_EVICT,
            {"features": {"priority": ["size"]}},
            "expected features of inline, evict, got those of",
        ),
        (INLINE_EVICT, {"features": {"evict": ["none"]}}, "got none"),
        (("inline", "nowhere"), {}, "nowhere"),
        (POINTS, {"llvm_options": [ADVISED], "compiler": "thread"}, "use a process"),
        (POINTS, {"llvm_options": [ADVISED], "compiler": "127.0.0.1:1"}, "start it with --load"),
    ]
    for points, options, told in wrong:
        with pytest.raises(Exception, match=told) as caught:
            CompilerAEC(points, [program], **options)
        assert type(caught.value).__module__ == "passpilot.errors"
    with made(INLINE_EVICT, program) as env, pytest.raises(InputError, match="reaches the point inline"):
        env.reset()
    with made(POINTS, pressed) as env, pytest.raises(InputError, match="-regalloc=advised is missing"):
        env.reset()
    with made(INLINE_EVICT, program) as env, pytest.raises(InputError, match="call reset first"):
        env.step(1)
