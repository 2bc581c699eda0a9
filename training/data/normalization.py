# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`FeatureStatistics`: brings features to one scale; a network's graph contains this step.

Features of compilers are counts with long tails, so the scale is logarithmic: ``sign(x) * log(1 + |x|)``,
minus its mean over the training data, divided by its standard deviation, within `LIMIT`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

LIMIT: Final = 10.0
"""The largest value after normalization: features of unseen programs may be far away."""


@dataclass(frozen=True, slots=True)
class FeatureStatistics:
    """Mean and deviation of features on the logarithmic scale.

    Attributes:
        names: the features.
        mean: of the training data.
        deviation: of the training data; 1 for a feature that never changes.
    """

    names: tuple[str, ...]
    mean: NDArray[np.float32]
    deviation: NDArray[np.float32]

    @classmethod
    def of(cls, names: Sequence[str], batches: Iterable[NDArray[np.float32]]) -> FeatureStatistics:
        """The statistics of rows, which come in batches [N, numbers]."""
        count, mean, squares = 0, np.zeros(len(names)), np.zeros(len(names))
        for batch in batches:
            if not len(batch):
                continue
            values = compress(batch).astype(np.float64)
            total = count + len(values)
            here = values.mean(axis=0)
            squares += ((values - here) ** 2).sum(axis=0) + (here - mean) ** 2 * count * len(values) / total
            mean += (here - mean) * len(values) / total
            count = total
        deviation = np.sqrt(squares / max(count, 1))
        deviation[deviation < 1e-6] = 1.0
        return cls(tuple(names), mean.astype(np.float32), deviation.astype(np.float32))

    def normalize(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Rows on the common scale."""
        scaled = (compress(rows) - self.mean) * (np.float32(1) / self.deviation)
        return np.clip(scaled, -LIMIT, LIMIT).astype(np.float32)

    def to_json(self) -> dict[str, dict[str, float]]:
        """The numbers by feature."""
        return {
            name: {"mean": float(mean), "deviation": float(deviation)}
            for name, mean, deviation in zip(self.names, self.mean, self.deviation, strict=True)
        }


def compress(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """``sign(x) * log(1 + |x|)``."""
    return np.sign(rows) * np.log(np.float32(1) + np.abs(rows))
