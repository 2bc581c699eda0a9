# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointDecisions`: the decisions of one point as members of Gymnasium's spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.spec import TensorSpec
from passpilot.passes.point_search import search_point
from passpilot.plugin.extras import needs
from passpilot.runners.base import own_features

with needs("train", "environments"):
    from gymnasium import spaces


Decision = dict[str, NDArray[np.generic]]


class PointDecisions:
    """The spaces of a point, and its last decision.

    Args:
        point: the name of the point.
        features: the tensors to observe; empty for the point's own.

    Raises:
        Error: the point or a feature is unknown.
    """

    def __init__(self, point: str, features: Sequence[str]) -> None:
        self.point = search_point(point)
        domain = self.point.domain
        mask = [domain.mask] if isinstance(domain, Choice) else []
        wanted = dict.fromkeys([*features, *mask])
        self.tensors: tuple[TensorSpec, ...] = (
            self.point.select(wanted) if features else own_features(self.point)
        )
        """The tensors to observe."""
        self.asked = tuple(features)
        """The names of the tensors to ask for: at a choice, the compiler's own decision, too."""
        if isinstance(domain, Choice):
            names = (spec.name for spec in self.tensors)
            self.asked = tuple(dict.fromkeys([*names, self.point.default.name]))
        self.observation_space = cast(
            "spaces.Space[Decision]", spaces.Dict({spec.name: _box(spec) for spec in self.tensors})
        )
        self.action_space = _actions(domain)
        self._default: object = None
        self.last: Decision
        """The last observation; zeros where there is no decision."""
        self.clear()

    def clear(self) -> None:
        self.last = {spec.name: np.zeros(spec.shape, spec.numpy_dtype) for spec in self.tensors}

    def see(self, observation: Mapping[str, NDArray[np.generic]]) -> Decision:
        """The observation as a member of the space: copies, in which no number is infinite."""
        if isinstance(self.point.domain, Choice):
            self._default = int(observation[self.point.default.name].item())
        self.last = {
            spec.name: np.nan_to_num(observation[spec.name])
            if spec.dtype.startswith("float")
            else np.array(observation[spec.name])
            for spec in self.tensors
        }
        return self.last

    def masks(self) -> NDArray[np.bool_]:
        """The legal actions; all where there is no decision."""
        domain = self.point.domain
        if isinstance(domain, Choice):
            mask = self.last[domain.mask].reshape(-1) != 0
            return mask if mask.any() else np.ones(domain.count, bool)
        return np.ones(2 if isinstance(domain, Flag) else 1, bool)

    def legal(self, action: object, *, strict: bool) -> tuple[object, bool]:
        """The action to take, and whether it replaces an illegal one of the space by the compiler's own."""
        if strict or not isinstance(self.point.domain, Choice):
            return action, False
        mask = self.masks()
        if not isinstance(action, (int, np.integer)) or not 0 <= action < len(mask) or mask[action]:
            return action, False
        return self._default, True

    def rows(self) -> list[str]:
        """The last observation as lines of text."""
        return [f"{name} = {value.tolist()}" for name, value in self.last.items()]


def _box(spec: TensorSpec) -> spaces.Box:
    dtype = np.dtype(spec.dtype)
    info = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return spaces.Box(info.min, info.max, spec.shape, dtype.type)


def _actions(domain: Domain) -> spaces.Space[object]:
    if isinstance(domain, Number):
        return spaces.Box(domain.low, domain.high, (1,), np.float64)
    return spaces.Discrete(domain.count if isinstance(domain, Choice) else 2)
