# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilerEnv`: an environment of Gymnasium; an episode is a compilation, a step is a decision.

The reward of an episode is the improvement over the compiler's default. An agent learns nothing of it before
the end, or with `partial` an estimate of its share at every step. A compilation that fails, also by a crash
of LLVM, ends its episode: `truncated` is true, and `info["error"]` says why.

`info["action_mask"]` and `action_masks` have the legal actions. For an illegal one the compiler's own
decision is taken, as `info["illegal"]` says, so that agents without masks learn, too.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from passpilot.plugin.errors import AdviceError, Error, PeerError
from passpilot.plugin.extras import needs
from passpilot.training.environments.module_episodes import EnvironmentSettings, ModuleEpisodes
from passpilot.training.environments.point_decisions import Decision, PointDecisions

with needs("train", "environments"):
    import gymnasium
    from gymnasium import spaces


MASK: Final = "action_mask"
"""The key of `info` with the legal actions, int8[n]."""


class CompilerEnv(gymnasium.Env["Decision", object]):
    """The decisions of one decision point, in compilations of some modules.

    Args:
        point: the decision point: ``inline``, ``evict``, or that of a pass in the pipeline.
        modules: paths of modules before optimization, or their bytes.
        features: the tensors to observe; empty for the point's own.
        settings: the fields of `EnvironmentSettings`, such as ``pipeline``, ``reward`` and ``compiler``.

    Raises:
        Error: an argument is wrong.
    """

    metadata: dict[str, object] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  (gymnasium's own)
    """What `render` can do."""

    def __init__(
        self,
        point: str = "inline",
        modules: Sequence[str | os.PathLike[str] | bytes] = (),
        *,
        features: Sequence[str] = (),
        **settings: object,
    ) -> None:
        self._settings = EnvironmentSettings(**settings)  # type: ignore[arg-type]
        self._settings.load_files()
        self._decisions = PointDecisions(point, features)
        self.observation_space = self._decisions.observation_space
        """The tensors of a decision, by name."""
        self.action_space = self._decisions.action_space
        """The answers."""
        self.render_mode = self._settings.render_mode
        """What `render` does: None or ``ansi``."""
        episode = {
            "point": self._decisions.point.name,
            "features": self._decisions.asked,
            **self._settings.episode(),
        }
        compiler = self._settings.connect()
        self._episodes = ModuleEpisodes(modules, episode, compiler, shuffle=self._settings.shuffle)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, object] | None = None
    ) -> tuple[Decision, dict[str, object]]:
        """Start the compilation of a module; modules in which nothing is decided are skipped.

        Args:
            seed: of the order of modules.
            options: ``{"module": PATH}`` chooses the module.

        Raises:
            InputError: no module has a decision.
            Error: the arguments of the environment are wrong.
        """
        super().reset(seed=seed)
        if seed is not None:
            self._episodes.rewind()
        observation = self._episodes.start(self.np_random, options or {})
        return self._decisions.see(observation), self._info()

    def step(self, action: object) -> tuple[Decision, float, bool, bool, dict[str, object]]:
        """Take the decision.

        Raises:
            AdviceError: the action is none, or with ``strict`` illegal; the question stands.
            PeerError: the compiler service is gone.
        """
        taken, illegal = self._decisions.legal(action, strict=self._settings.strict)
        try:
            observation, reward, done, result = self._episodes.compiler.step(taken)
        except (AdviceError, PeerError):
            raise
        except Error as error:
            self._decisions.clear()
            info: dict[str, object] = {**self._info(), "error": str(error)}
            return self._decisions.last, self._settings.failure_reward, False, True, info
        more: dict[str, object] = {"illegal": True} if illegal else {}
        if observation is None:
            self._decisions.clear()
            return self._decisions.last, reward, done, False, {**self._info(), **more, **result}
        return self._decisions.see(observation), reward, False, False, {**self._info(), **more}

    def _info(self) -> dict[str, object]:
        info: dict[str, object] = {"module": self._episodes.module}
        if isinstance(self.action_space, spaces.Discrete):
            info[MASK] = self.action_masks().astype(np.int8)
        return info

    def action_masks(self) -> NDArray[np.bool_]:
        """The legal actions, as sb3-contrib asks for them; all where there is no decision."""
        return self._decisions.masks()

    def render(self) -> str | None:
        """The last observation as text, with ``render_mode="ansi"``."""
        if self.render_mode != "ansi":
            return None
        return "\n".join((self._episodes.module, *self._decisions.rows()))

    def close(self) -> None:
        """End the compiler. Idempotent."""
        self._episodes.compiler.close()
        super().close()
