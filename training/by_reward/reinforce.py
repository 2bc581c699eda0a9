# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Reinforcement`: learns by PPO with masks, or by DQN, of stable-baselines3.

The network is taken out of PyTorch, so that its export, its check and its file are those of the other
trainers. The checkpoint has one more file, `agent.zip`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Final, Unpack

import numpy as np

from passpilot.features.domain import Choice, Flag, Number
from passpilot.passes.point_search import search_point
from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import needs
from passpilot.training.by_reward.settings import ReinforceSettings
from passpilot.training.by_reward.training import RewardTraining
from passpilot.training.data.matrix import Arrangement
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.environments.compiler_env import CompilerEnv
from passpilot.training.environments.vector import VectorDecisions
from passpilot.training.learning.decision_network import DecisionNetwork
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import Network
from passpilot.training.learning.training import RunOptions, TrainedModel
from passpilot.training.machines.local import Machines

with needs("rl", "reinforcement learning"):
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3 import DQN
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv


AGENT: Final = "agent.zip"


class Reinforcement(RewardTraining):
    """A training by ``ppo`` or ``dqn``; see `RewardTraining`.

    Raises:
        InputError: the modules cannot be read, nothing is decided in them, or numbers are.
    """

    charts: ClassVar = (("reward", "least reward", "greatest reward"), ("train reward", "validation reward"))

    def __init__(
        self, method: str, settings: ReinforceSettings, base: str, folder: str, **run: Unpack[RunOptions]
    ) -> None:
        if isinstance(search_point(settings.point).domain, Number):
            raise InputError(f"train {method}: expected a point of flags or choices, got {settings.point}")
        self._agents = settings
        where = Machines(settings.environments)
        super().__init__(method, settings, settings.steps, base, folder, machines=where, whole=True, **run)

    def _first(self, arrangement: Arrangement) -> DecisionNetwork:
        """A network for its features and their scale alone; the weights come from the agent."""
        statistics = FeatureStatistics.of(arrangement.names, [self._examples.flat])
        network = self._shaped(len(arrangement.names), arrangement.columns)
        return DecisionNetwork(arrangement, statistics, network, Scaling())

    def _shaped(self, inputs: int, outputs: int) -> Network:
        return Network.random((inputs, *self._agents.hidden, outputs), np.random.default_rng(0))

    def _environments(self) -> DummyVecEnv | SubprocVecEnv:
        settings, network = self._agents, self._network
        modules = [module.code for module in self._parts["train"]]

        def make(_number: int) -> Monitor[Any, Any]:
            env = CompilerEnv(
                settings.point,
                modules,
                pipeline=settings.pipeline,
                reward=settings.reward,
                features=network.features,
                timeout=settings.deadline,
                failure_reward=-1.0,
                partial=settings.partial,
            )
            return Monitor(VectorDecisions(env, network.arrangement, network.statistics))

        makers = [partial(make, number) for number in range(settings.environments)]
        environments = DummyVecEnv(makers) if len(makers) == 1 else SubprocVecEnv(makers, start_method="fork")
        environments.seed(settings.seed)
        return environments

    def _agent(self, environments: DummyVecEnv | SubprocVecEnv) -> MaskablePPO | DQN:
        settings = self._agents
        path = os.path.join(self.folder, AGENT)
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
        """Let a new agent begin with the network of the settings."""
        network, layers = self._network.network, _layers(agent)
        assert isinstance(network, Network), "agents see a decision as one row, so that no other one is read"
        weights, biases = list(network.weights), list(network.biases)
        if isinstance(self._point.domain, Flag) and weights[-1].shape[1] == 1:  # one score: that of yes
            weights[-1] = np.concatenate([np.zeros_like(weights[-1]), weights[-1]], axis=1)
            biases[-1] = np.concatenate([np.zeros_like(biases[-1]), biases[-1]])
        if [layer.weight.shape[::-1] for layer in layers] != [weight.shape for weight in weights]:
            got = "-".join(str(weight.shape[0]) for weight in weights)
            raise InputError(f"start: expected a network with the widths of hidden, got one of {got}")
        with torch.no_grad():
            for layer, weight, bias in zip(layers, weights, biases, strict=True):
                layer.weight.copy_(torch.from_numpy(weight.T.copy()))
                layer.bias.copy_(torch.from_numpy(bias.copy()))

    def _taken(self, agent: MaskablePPO | DQN) -> DecisionNetwork:
        """The agent's network, which decides what it finds best."""
        layers = _layers(agent)
        weights = [layer.weight.detach().numpy().T.copy() for layer in layers]
        biases = [layer.bias.detach().numpy().copy() for layer in layers]
        if not isinstance(self._point.domain, Choice):
            weights[-1] = weights[-1][:, 1:] - weights[-1][:, :1]
            biases[-1] = biases[-1][1:] - biases[-1][:1]
        return self._with(Network(weights, biases))

    def _train(self) -> None:
        environments = self._environments()
        try:
            agent = self._agent(environments)

            def rolled(row: Mapping[str, float]) -> bool:
                """Add a row; whether to go on."""
                self.done = int(agent.num_timesteps)
                row = {"steps": float(self.done), **row}
                if not len(self.rows) % self._agents.checkpoint or self.done >= self.total:
                    row |= self._look(self._taken(agent))
                path = os.path.join(self.folder, AGENT)
                agent.save(f"{path}.new.zip")
                os.replace(f"{path}.new.zip", path)
                self._add(row)
                return not self._stopped

            if (left := self.total - self.done) > 0:
                watch = _RolloutWatch(self._agents.rollout * self._agents.environments, rolled)
                agent.learn(left, watch, reset_num_timesteps=not self.done, log_interval=None)
                watch.last()
        finally:
            environments.close()

    def _title(self) -> str:
        return f"{self._method.upper()} at {self._point.name}: gain over LLVM"

    def _finished(self) -> TrainedModel:
        arrangement = self._network.arrangement
        outputs = 1 if isinstance(self._point.domain, Flag) else arrangement.columns
        network = self._with(self._shaped(len(arrangement.names), outputs))
        random = self._trials.rewards([f"random:{self._agents.seed}"], self._parts["train"])[0]
        return self._written(self._method, network, {"decisions at random": {"train": random}})


class _RolloutWatch(BaseCallback):
    """Collects the rewards of episodes, and gives them to `rolled` every `every` steps."""

    def __init__(self, every: int, rolled: Callable[[Mapping[str, float]], bool]) -> None:
        super().__init__()
        self._every, self._rolled = every, rolled
        self._rewards: list[float] = []
        self._reported = 0

    def _on_training_start(self) -> None:
        self._reported = self.num_timesteps

    def _on_step(self) -> bool:
        infos = self.locals.get("infos", ())
        self._rewards += [float(info["episode"]["r"]) for info in infos if "episode" in info]
        return self.num_timesteps - self._reported < self._every or self._report()

    def last(self) -> None:
        """Report what is left, with the network as it is in the end."""
        if self.num_timesteps > self._reported:
            self._report()

    def _report(self) -> bool:
        self._reported = self.num_timesteps
        rewards, self._rewards = self._rewards, []
        if not rewards:
            return self._rolled({})
        row = {"episodes": float(len(rewards)), "reward": sum(rewards) / len(rewards)}
        return self._rolled({**row, "least reward": min(rewards), "greatest reward": max(rewards)})


def _layers(agent: MaskablePPO | DQN) -> list[torch.nn.Linear]:
    if isinstance(agent, DQN):
        modules = list(agent.q_net.q_net)
    else:
        modules = [*agent.policy.mlp_extractor.policy_net, agent.policy.action_net]
    return [module for module in modules if isinstance(module, torch.nn.Linear)]
