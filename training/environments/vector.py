# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`VectorDecisions`: a `CompilerEnv` whose observations are vectors of one scale, as networks want them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from passpilot.training.data.normalization import LIMIT, FeatureStatistics

if TYPE_CHECKING:
    from passpilot.training.data.matrix import Arrangement, Floats
    from passpilot.training.environments.compiler_env import CompilerEnv


class VectorDecisions(gymnasium.ObservationWrapper["Floats", object, "dict[str, NDArray[np.generic]]"]):
    """Joins the tensors of a decision to one vector of float32, and normalizes it.

    Args:
        env: the environment.
        arrangement: the tensors, and their order.
        statistics: the scale.
    """

    def __init__(self, env: CompilerEnv, arrangement: Arrangement, statistics: FeatureStatistics) -> None:
        super().__init__(env)
        self._compiler, self._arrangement, self._statistics = env, arrangement, statistics
        shape = (len(arrangement.names),)
        self.observation_space = spaces.Box(-LIMIT, LIMIT, shape, np.float32)

    def observation(self, observation: Mapping[str, NDArray[np.generic]]) -> Floats:
        flat = self._arrangement.flat(observation)
        return np.asarray(self._statistics.normalize(self._arrangement.rows(flat))[0])

    def action_masks(self) -> NDArray[np.bool_]:
        return self._compiler.action_masks()
