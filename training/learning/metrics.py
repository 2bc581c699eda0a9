# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured of a model against decisions: loss, agreement, and how it treats changed decisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from passpilot.features.domain import Choice, Flag

if TYPE_CHECKING:
    from passpilot.training.data.matrix import Examples, Floats
    from passpilot.training.learning.learner import Scaling

CLOSE = 1e-3
"""Numbers agree if they differ by less than this share of their deviation."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a model decides, beside the labels.

    Attributes:
        decisions: how many there are.
        loss: the weighted loss; less is better.
        agreement: the share of decisions as labelled.
        default: the share of decisions as the compiler's own.
        changed: how many labels are not the compiler's own.
        found: the share of these that the model takes, too.
        right: the share of the model's own deviations from the compiler that are as labelled.
        kept: of the bytes that the labels gain over the compiler, those that the model gains; 0 if unknown.
    """

    decisions: int
    loss: float
    agreement: float
    default: float
    changed: int
    found: float
    right: float
    kept: float = 0.0

    @classmethod
    def of(cls, examples: Examples, scores: Floats, scaling: Scaling) -> Agreement:
        numbers = not isinstance(examples.arrangement.domain, (Flag, Choice))
        near = CLOSE * (float(examples.labels.std()) or 1.0) if numbers else 0.5
        decided = examples.decide(scaling.advice(scores))
        hit, own = np.abs(decided - examples.labels) < near, np.abs(decided - examples.default) < near
        changed = np.abs(examples.labels - examples.default) >= near
        possible = float(examples.gains[changed].sum())
        won = float(examples.gains[hit & ~own].sum() - examples.gains[~hit & ~own].sum())
        return cls(
            len(examples),
            loss(examples, scores, scaling),
            float(hit.mean()),
            float(own.mean()),
            int(changed.sum()),
            _share(hit, changed),
            _share(hit, ~own),
            won / possible if possible else 0.0,
        )

    def text(self) -> str:
        """One line for people."""
        line = f"{self.agreement:.2%} of {self.decisions:,} decisions as labelled"
        if not self.changed:
            return line
        line = f"{line}; of {self.changed:,} that are not the compiler's own, {self.found:.1%}"
        return f"{line}; {self.kept:.0%} of their gain" if self.kept else line


def _share(hit: np.ndarray, among: np.ndarray) -> float:
    return float(hit[among].mean()) if among.any() else 0.0


def loss(examples: Examples, scores: Floats, scaling: Scaling) -> float:
    labels, values = examples.numbers, scores.astype(np.float64)
    if not examples.by_class:
        losses = (values[:, 0] - scaling.scores(labels)) ** 2
    elif isinstance(examples.arrangement.domain, Flag):
        losses = np.logaddexp(0, np.where(labels > 0, -1.0, 1.0) * values[:, 0])
    else:
        legal = values if examples.mask is None else np.where(examples.mask, values, -np.inf)
        chosen = values[np.arange(len(labels)), labels.astype(np.int64)]
        losses = np.logaddexp.reduce(legal, axis=1) - chosen
    return float(np.average(losses, weights=examples.weights))
