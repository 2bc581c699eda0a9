# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Reinforcement`: learns by PPO with masks, or by DQN, of stable-baselines3.

The policy is taken out of PyTorch into a `NetworkPolicy`, so that its export, its check and its file are
those of the other trainers. The output folder gets what `EvolutionRun` writes; the checkpoint is `agent.zip`.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from passpilot.features.domain import Choice, Flag, Number
from passpilot.passes.points import search_point
from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import needs
from passpilot.plugin.files import write_file
from passpilot.training.by_reward.evolve import DATA, MODEL, modules_of, watched_reward
from passpilot.training.by_reward.trials import Trials
from passpilot.training.data.collection import collect, loose_modules
from passpilot.training.data.gather import Teaching
from passpilot.training.data.matrix import Arrangement, Examples
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.data.shards import DecisionShards
from passpilot.training.environments.compiler_env import CompilerEnv
from passpilot.training.environments.vector import VectorDecisions
from passpilot.training.learning.checkpoint import Checkpoint
from passpilot.training.learning.curves import Curve
from passpilot.training.learning.graph import policy_model
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import Network
from passpilot.training.learning.policy import WEIGHTS, NetworkPolicy, policy_text, read_policy
from passpilot.training.learning.policy_check import check_export
from passpilot.training.learning.toml_settings import toml_text
from passpilot.training.machines.local import ThisMachine

with needs("rl", "reinforcement learning"):
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import DQN
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from passpilot.training.by_reward.reinforce_settings import ReinforceSettings
    from passpilot.training.learning.policy_check import ExportCheck

AGENT: Final = "agent.zip"
STATE: Final = "checkpoint.npz"
_CHARTS: Final = (("reward", "least reward", "greatest reward"), ("train reward", "validation reward"))


@dataclass(frozen=True, slots=True)
class Reinforced:
    """What came of a training.

    Attributes:
        description: the policy in words.
        rewards: its mean gain over the compiler's own decisions, by part.
        random: that of decisions at random, on the modules for training.
        steps: after how many decisions it was taken.
        check: how the exported model compares with it.
        seconds: the time of all runs.
    """

    description: str
    rewards: Mapping[str, float]
    random: float
    steps: int
    check: ExportCheck
    seconds: float


@dataclass(slots=True)
class _AgentState:
    """How far a training is."""

    rows: list[dict[str, float]] = field(default_factory=list)
    rewards: dict[str, float] = field(default_factory=dict)
    steps: int = 0
    kept: int = 0
    seconds: float = 0.0
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0, np.float32))

    NAMES = ("rows", "rewards", "steps", "kept", "seconds")


class Reinforcement:
    """A training; `run` does it.

    Args:
        method: ``ppo`` or ``dqn``.
        settings: paths in them are relative to `base`.
        base: a folder.
        folder: where the files come.
        resume: whether to go on from the folder's checkpoint, if there is one.

    Raises:
        InputError: the modules cannot be read, nothing is decided in them, or numbers are.
    """

    def __init__(
        self, method: str, settings: ReinforceSettings, base: str, folder: str, *, resume: bool = False
    ) -> None:
        self._method, self._settings, self._folder, self._resume = method, settings, folder, resume
        self._point = search_point(settings.point)
        if isinstance(self._point.domain, Number):
            raise InputError(f"train {method}: expected a point of flags or choices, got {settings.point}")
        self._parts = {"train": modules_of(settings.modules, base, settings.pipeline)}
        if settings.validation:
            self._parts["validation"] = modules_of(settings.validation, base, settings.pipeline)
        self._trials = Trials(
            settings.point, settings.reward, {}, settings.deadline, ThisMachine(settings.environments)
        )
        arrangement = Arrangement.of(self._point, settings.features, whole=True)
        self._examples = self._gathered(arrangement)
        statistics = FeatureStatistics.of(arrangement.names, [self._examples.flat])
        outputs = arrangement.columns
        widths = (len(arrangement.names), *settings.hidden, outputs)
        network = Network.random(widths, np.random.default_rng(settings.seed))
        self._policy = NetworkPolicy(arrangement, statistics, network, Scaling())
        if settings.start:
            self._policy = read_policy(os.path.join(base, settings.start), arrangement)

    def _gathered(self, arrangement: Arrangement) -> Examples:
        """The compiler's own decisions in the modules for training."""
        folder = os.path.join(self._folder, DATA)
        shards = os.path.join(folder, "train")
        if not os.path.isdir(shards):
            modules = loose_modules([each.name for each in self._parts["train"]], self._settings.pipeline)
            teaching = Teaching(self._settings.point, deadline=self._settings.deadline)
            collect(modules, teaching, folder, None, "train")
        return Examples.load(DecisionShards(shards), arrangement, self._point.default.name)

    def _environments(self) -> DummyVecEnv | SubprocVecEnv:
        settings, policy = self._settings, self._policy
        modules = [each.code for each in self._parts["train"]]

        def make(_number: int) -> Monitor[Any, Any]:
            env = CompilerEnv(
                settings.point,
                modules,
                pipeline=settings.pipeline,
                reward=settings.reward,
                features=policy.features,
                timeout=settings.deadline,
                failure_reward=-1.0,
                partial=settings.partial,
            )
            return Monitor(VectorDecisions(env, policy.arrangement, policy.statistics))

        makers = [partial(make, number) for number in range(settings.environments)]
        made = DummyVecEnv(makers) if len(makers) == 1 else SubprocVecEnv(makers, start_method="fork")
        made.seed(settings.seed)
        return made

    def _agent(self, environments: DummyVecEnv | SubprocVecEnv) -> MaskablePPO | DQN:
        settings = self._settings
        path = os.path.join(self._folder, AGENT)
        kind = MaskablePPO if self._method == "ppo" else DQN
        if self._resume and os.path.exists(path):
            return kind.load(path, environments, device="cpu")
        hidden = list(settings.hidden)
        common: dict[str, Any] = {
            "learning_rate": settings.learning_rate,
            "gamma": settings.discount,
            "batch_size": settings.batch,
            "seed": settings.seed,
            "device": "cpu",
        }
        if self._method == "dqn":
            return DQN(
                "MlpPolicy",
                environments,
                policy_kwargs={"net_arch": hidden, "activation_fn": torch.nn.ReLU},
                exploration_fraction=settings.exploration,
                exploration_final_eps=settings.least_exploration,
                learning_starts=min(settings.rollout, settings.steps // 10),
                train_freq=4,
                n_steps=settings.horizon,
                target_update_interval=settings.rollout,
                **common,
            )
        architecture = {"pi": hidden, "vf": hidden}
        agent = MaskablePPO(
            "MlpPolicy",
            environments,
            policy_kwargs={"net_arch": architecture, "activation_fn": torch.nn.ReLU},
            n_steps=settings.rollout,
            gae_lambda=1.0,
            ent_coef=settings.entropy,
            **common,
        )
        if settings.start:
            self._load(agent)
        return agent

    def _load(self, agent: MaskablePPO) -> None:
        """Let a new agent begin with the policy of the settings."""
        network, layers = self._policy.network, _layers(agent)
        assert isinstance(network, Network)  # read_policy takes no other one for an agent
        weights, biases = [each.copy() for each in network.weights], [each.copy() for each in network.biases]
        if isinstance(self._point.domain, Flag) and weights[-1].shape[1] == 1:  # one score: that of yes
            weights[-1] = np.concatenate([np.zeros_like(weights[-1]), weights[-1]], axis=1)
            biases[-1] = np.concatenate([np.zeros_like(biases[-1]), biases[-1]])
        if [layer.weight.shape[::-1] for layer in layers] != [each.shape for each in weights]:
            got = "-".join(str(each.shape[0]) for each in weights)
            raise InputError(f"start: expected a network with the widths of hidden, got one of {got}")
        with torch.no_grad():
            for layer, weight, bias in zip(layers, weights, biases, strict=True):
                layer.weight.copy_(torch.from_numpy(weight.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias))

    def _taken(self, agent: MaskablePPO | DQN) -> NetworkPolicy:
        """The agent's policy, which decides what it finds best."""
        layers = _layers(agent)
        weights = [layer.weight.detach().numpy().T.copy() for layer in layers]
        biases = [layer.bias.detach().numpy().copy() for layer in layers]
        if not isinstance(self._point.domain, Choice):
            weights[-1] = weights[-1][:, 1:] - weights[-1][:, :1]
            biases[-1] = biases[-1][1:] - biases[-1][:1]
        old = self._policy
        return NetworkPolicy(old.arrangement, old.statistics, Network(weights, biases), old.scaling)

    def run(self, step: Callable[[int, str], object] = lambda _steps, _text: None) -> Reinforced:
        """Train, and write the policy; `step` is called with the steps so far and a line of text.

        Raises:
            InputError: a file cannot be written.
            ModelError: the exported model does not decide as the policy.
        """
        state = self._begun()
        curve = Curve(self._folder, state.rows)
        environments = self._environments()
        try:
            agent = self._agent(environments)
            began = time.monotonic() - state.seconds

            def rolled(row: dict[str, float]) -> None:
                state.steps = int(agent.num_timesteps)
                row = {"steps": float(state.steps), **row}
                if not len(curve.rows) % self._settings.checkpoint or state.steps >= self._settings.steps:
                    row |= self._look(agent, state)
                curve.add(row)
                state.rows, state.seconds = curve.rows, time.monotonic() - began
                self._save(agent, state)
                step(state.steps, f"reward {row.get('reward', 0):.2%}, best {_best(state):.2%}")

            if (left := self._settings.steps - state.steps) > 0:
                watch = _RolloutWatch(self._settings.rollout * self._settings.environments, rolled)
                agent.learn(left, watch, reset_num_timesteps=not state.steps, log_interval=None)
                watch.last()
        finally:
            environments.close()
        curve.close(f"{self._method.upper()} at {self._point.name}: gain over LLVM", _CHARTS)
        return self._finished(state)

    def _look(self, agent: MaskablePPO | DQN, state: _AgentState) -> dict[str, float]:
        policy = self._taken(agent)
        rewards = {part: self._trials.rewards([policy], modules)[0] for part, modules in self._parts.items()}
        if not state.rewards or watched_reward(rewards) > watched_reward(state.rewards):
            state.rewards, state.weights, state.kept = rewards, policy.network.vector(), state.steps
        return {f"{part} reward": value for part, value in rewards.items()}

    def _begun(self) -> _AgentState:
        path = os.path.join(self._folder, STATE)
        state = _AgentState()
        if self._resume and os.path.exists(path):
            found = Checkpoint.read(path, self._key)
            state.weights = np.asarray(found.arrays["weights"], np.float32)
            for name in state.NAMES:
                setattr(state, name, found.facts[name])
        return state

    def _save(self, agent: MaskablePPO | DQN, state: _AgentState) -> None:
        path = os.path.join(self._folder, AGENT)
        agent.save(f"{path}.new.zip")
        os.replace(f"{path}.new.zip", path)
        facts = {name: getattr(state, name) for name in state.NAMES}
        checkpoint = Checkpoint(self._key, facts, {"weights": state.weights})
        checkpoint.write(os.path.join(self._folder, STATE))

    @property
    def _key(self) -> str:
        return f"{self._method} {toml_text(self._settings)}"

    def _finished(self, state: _AgentState) -> Reinforced:
        settings, old = self._settings, self._policy
        outputs = 1 if isinstance(self._point.domain, Flag) else old.arrangement.columns
        widths = (len(old.arrangement.names), *settings.hidden, outputs)
        network = Network.random(widths, np.random.default_rng(0))
        network.assign(state.weights)
        policy = NetworkPolicy(old.arrangement, old.statistics, network, old.scaling)
        facts = {
            "passpilot/point": self._point.name,
            "passpilot/trained": f"{self._method}, {policy.describe()}, seed {settings.seed}",
        }
        model = policy_model(policy, policy.arrangement, policy.scaling, facts).SerializeToString()
        check = check_export(model, policy, policy.scaling, [self._examples], settings.seed)
        write_file(os.path.join(self._folder, MODEL), model)
        write_file(os.path.join(self._folder, WEIGHTS), policy_text(policy).encode())
        write_file(os.path.join(self._folder, "settings.toml"), toml_text(settings).encode())
        random = self._trials.rewards([f"random:{settings.seed}"], self._parts["train"])[0]
        return Reinforced(policy.describe(), state.rewards, random, state.kept, check, state.seconds)


class _RolloutWatch(BaseCallback):
    """Collects the rewards of episodes, and tells them every `every` steps to `rolled`."""

    def __init__(self, every: int, rolled: Callable[[dict[str, float]], None]) -> None:
        super().__init__()
        self._every, self._rolled = every, rolled
        self._rewards: list[float] = []
        self._told = 0

    def _on_training_start(self) -> None:
        self._told = self.num_timesteps

    def _on_step(self) -> bool:
        infos = self.locals.get("infos", ())
        self._rewards += [float(info["episode"]["r"]) for info in infos if "episode" in info]
        if self.num_timesteps - self._told >= self._every:
            self._tell()
        return True

    def last(self) -> None:
        """Tell what was not told yet, with the policy as it is in the end."""
        if self.num_timesteps > self._told:
            self._tell()

    def _tell(self) -> None:
        self._told = self.num_timesteps
        rewards, self._rewards = self._rewards, []
        if not rewards:
            self._rolled({})
            return
        mean = sum(rewards) / len(rewards)
        row = {"episodes": float(len(rewards)), "reward": mean}
        self._rolled({**row, "least reward": min(rewards), "greatest reward": max(rewards)})


def _layers(agent: MaskablePPO | DQN) -> list[torch.nn.Linear]:
    """The layers of an agent's policy."""
    if isinstance(agent, DQN):
        modules = list(agent.q_net.q_net)
    else:
        modules = [*agent.policy.mlp_extractor.policy_net, agent.policy.action_net]
    return [each for each in modules if isinstance(each, torch.nn.Linear)]


def _best(state: _AgentState) -> float:
    return watched_reward(state.rewards) if state.rewards else 0.0
