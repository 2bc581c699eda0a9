# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made-up decisions, for the tests of what learns and measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from passpilot.features.domain import Choice, Domain
from passpilot.features.spec import TensorSpec
from passpilot.training.data.matrix import Arrangement, Examples


def arranged(domain: Domain, *features: TensorSpec, point: str = "p", default: str = "") -> Arrangement:
    """The arrangement of a point; without features it has one."""
    return Arrangement(point, features or (TensorSpec("a", "float32", (1,)),), domain, default=default)


def decided(
    arrangement: Arrangement,
    flat: Sequence[Sequence[float]],
    labels: Sequence[float],
    *,
    default: Sequence[float] = (),
    mask: Sequence[Sequence[int]] | None = None,
    weights: Sequence[float] = (),
    gains: Sequence[float] = (),
) -> Examples:
    """Decisions of one program."""
    count = len(labels)
    if mask is not None:
        assert isinstance(arrangement.domain, Choice)
    return Examples(
        arrangement,
        np.array(flat, np.float32),
        np.array(labels, np.float64),
        np.array(default or [0] * count, np.float64),
        None if mask is None else np.array(mask, bool),
        np.array(weights or [1] * count, np.float64),
        np.zeros(count, np.int32),
        ["program"],
        np.array(gains or [0] * count, np.float64),
    )
