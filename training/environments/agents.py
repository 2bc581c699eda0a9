# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerAEC`: an environment of PettingZoo; several agents take the decisions of one compilation.

Each agent decides at one point and has its name. The compiler asks one agent at a time, and waits: which is
next, and what it sees, depends on the answer. That is PettingZoo's AEC interface; a step in which all agents
act at once has no meaning here, and the metadata say so.

As in `CompilerEnv`, the reward comes at the end, and a compilation that fails, also by a crash of LLVM, ends
its episode as truncated, with ``error`` in the infos. All agents get the same reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from passpilot.plugin.errors import AdviceError, Error, InputError, PeerError
from passpilot.plugin.extras import needs
from passpilot.training.environments.module_episodes import EnvironmentSettings, ModuleEpisodes
from passpilot.training.environments.point_decisions import PointDecisions

with needs("train", "CompilerAEC"):
    from gymnasium import spaces
    from gymnasium.utils import seeding
    from pettingzoo import AECEnv

if TYPE_CHECKING:
    import os

    from passpilot.training.episode import Observed

OBSERVATION: Final = "observation"
"""The key of an agent's observation with the tensors."""

MASK: Final = "action_mask"
"""The key of an agent's observation with its legal actions, int8[n]; not where the answer is a number."""


class CompilerAEC(AECEnv):
    """The decisions of several decision points, each taken by an agent of its name.

    Args:
        points: the decision points, such as ``["inline", "evict"]``.
        modules: paths of modules before optimization, or their bytes.
        features: the tensors that an agent observes, by point; the point's own where there are none.
        settings: the fields of `EnvironmentSettings`, such as ``pipeline``, ``reward`` and ``compiler``.

    Raises:
        Error: an argument is wrong.
    """

    metadata: dict[str, object] = {  # noqa: RUF012  (pettingzoo's own)
        "name": "passpilot_compiler_v0",
        "render_modes": ["ansi"],
        "render_fps": 1,
        "is_parallelizable": False,
    }
    """The name, what `render` can do, and that agents cannot act at once."""

    def __init__(
        self,
        points: Sequence[str],
        modules: Sequence[str | os.PathLike[str] | bytes],
        *,
        features: Mapping[str, Sequence[str]] | None = None,
        **settings: object,
    ) -> None:
        self._settings = EnvironmentSettings(**settings)  # type: ignore[arg-type]
        self._settings.load_files()
        self._decisions = _by_agent(points, features or {})
        self.possible_agents = list(self._decisions)
        """The agents: the names of the points."""
        self.agents: list[str] = []
        """The agents of the present episode."""
        self._spaces = {agent: _seen_space(decisions) for agent, decisions in self._decisions.items()}
        self.render_mode = self._settings.render_mode
        """What `render` does: None or ``ansi``."""
        first, *others = self._decisions.values()
        episode = {
            "point": first.point.name,
            "features": first.asked,
            "also": {decisions.point.name: decisions.asked for decisions in others},
            **self._settings.episode(),
        }
        compiler = self._settings.connect()
        self._episodes = ModuleEpisodes(modules, episode, compiler, shuffle=self._settings.shuffle)
        self._random, _ = seeding.np_random()

    def observation_space(self, agent: str) -> spaces.Space[object]:
        """What an agent sees: ``observation``, a dictionary of tensors, and ``action_mask``."""
        return self._spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[object]:
        """The answers of an agent."""
        return self._decisions[agent].action_space

    def reset(self, seed: int | None = None, options: Mapping[str, object] | None = None) -> None:
        """Start the compilation of a module; modules in which no agent is asked are skipped.

        Args:
            seed: of the order of modules.
            options: ``{"module": PATH}`` chooses the module.

        Raises:
            InputError: no module has a decision.
            Error: the arguments of the environment are wrong.
        """
        if seed is not None:
            self._random, _ = seeding.np_random(seed)
            self._episodes.rewind()
        self.agents = []
        for decisions in self._decisions.values():
            decisions.clear()
        observation = self._episodes.start(self._random, options or {})
        self.agents = list(self.possible_agents)
        self.rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: self._info() for agent in self.agents}
        self._skip_agent_selection = None  # of AECEnv: the agent after those whose episode is over
        self._select(observation)

    def _info(self, **more: object) -> dict[str, object]:
        return {"module": self._episodes.module, **more}

    def _select(self, observation: Observed) -> None:
        """Make the agent that the compiler asks the next one."""
        point = self._episodes.compiler.point
        if point not in self._decisions:
            self._episodes.compiler.close()
            msg = (
                f"environment: expected a question to {', '.join(self._decisions)}, got one to {point!r:.80}"
            )
            raise PeerError(f"{msg}; use one version at both ends")
        self.agent_selection: str = point
        self._decisions[point].see(observation)

    def observe(self, agent: str) -> dict[str, object]:
        """The last decision of an agent; zeros before its first one and at the end."""
        decisions = self._decisions[agent]
        seen: dict[str, object] = {OBSERVATION: decisions.last}
        if MASK in cast("spaces.Dict", self._spaces[agent]).spaces:
            seen[MASK] = decisions.masks().astype(np.int8)
        return seen

    def step(self, action: object) -> None:
        """Take the decision of the agent `agent_selection`; None for an agent whose episode is over.

        Raises:
            AdviceError: the action is none, or with ``strict`` illegal; the question stands.
            InputError: no episode is under way.
            PeerError: the compiler service is gone.
        """
        if not self.agents:
            raise InputError("environment: no episode is under way; call reset first")
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        taken, illegal = self._decisions[agent].legal(action, strict=self._settings.strict)
        try:
            observation, reward, _, result = self._episodes.compiler.step(taken)
        except AdviceError as error:
            raise AdviceError(f"agent {agent}: {error}") from error
        except PeerError:
            raise
        except Error as error:
            self._end(self.truncations, self._settings.failure_reward, {"error": str(error)})
        else:
            if observation is None:
                self._end(self.terminations, reward, result)
            else:
                self._cumulative_rewards[agent] = 0.0
                self.infos[agent] = self._info()
                self._select(observation)
        if illegal:
            self.infos[agent]["illegal"] = True

    def _end(self, over: dict[str, bool], reward: float, result: Mapping[str, object]) -> None:
        """End the episode of all agents, with one reward."""
        for agent in self.agents:
            over[agent] = True
            self._decisions[agent].clear()
            self.rewards[agent] = self._cumulative_rewards[agent] = float(reward)
            self.infos[agent] = self._info(**result)
        self.agent_selection = self.agents[0]

    def render(self) -> str | None:
        """The last observation of the agent that is asked, as text, with ``render_mode="ansi"``."""
        if self.render_mode != "ansi" or not self.agents:
            return None
        agent = self.agent_selection
        return "\n".join((f"{self._episodes.module}: {agent}", *self._decisions[agent].rows()))

    def close(self) -> None:
        """End the compiler. Idempotent."""
        self._episodes.compiler.close()
        self.agents = []


def _by_agent(points: Sequence[str], features: Mapping[str, Sequence[str]]) -> dict[str, PointDecisions]:
    if isinstance(points, str) or not points:
        raise InputError(f"environment: expected a list of decision points, got {points!r:.80}")
    if unknown := [name for name in features if name not in points]:
        raise InputError(f"environment: expected features of {', '.join(points)}, got those of {unknown[0]}")
    decided = [PointDecisions(name, features.get(name, ())) for name in points]
    agents = {agent.point.name: agent for agent in decided}
    if len(agents) < len(decided):
        raise InputError(f"environment: expected each decision point once, got {', '.join(points)}")
    return agents


def _seen_space(decisions: PointDecisions) -> spaces.Space[object]:
    rows: dict[str, spaces.Space[object]] = {
        OBSERVATION: cast("spaces.Space[object]", decisions.observation_space)
    }
    if isinstance(decisions.action_space, spaces.Discrete):
        count = int(decisions.action_space.n)
        rows[MASK] = cast("spaces.Space[object]", spaces.Box(0, 1, (count,), np.int8))
    return cast("spaces.Space[object]", spaces.Dict(rows))
