# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured of a policy against decisions: loss, agreement, and how it treats changed decisions."""

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
    """How a policy decides, beside the labels.

    Attributes:
        decisions: how many there are.
        loss: the weighted loss; less is better.
        agreement: the share of decisions as labelled.
        default: the share of decisions as the compiler's own.
        changed: how many labels are not the compiler's own.
        found: the share of these that the policy takes, too.
        right: the share of the policy's own deviations from the compiler that are as labelled.
        kept: of the bytes that the labels gain over the compiler, those that the policy gains; 0 if unknown.
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
        """What scores [N, columns] make of decisions."""
        numbers = not isinstance(examples.arrangement.domain, (Flag, Choice))
        scaled = scores * np.float32(scaling.factor) + np.float32(scaling.offset) if numbers else scores
        made = examples.decide(scaled)
        near = CLOSE * (float(examples.labels.std()) or 1.0) if numbers else 0.5

        def same(first: np.ndarray, second: np.ndarray) -> np.ndarray:
            return np.asarray(np.abs(first - second) < near)

        hit, own = same(made, examples.labels), same(made, examples.default)
        changed = ~same(examples.labels, examples.default)
        return cls(
            len(examples),
            loss(examples, scores, scaling),
            float(hit.mean()),
            float(own.mean()),
            int(changed.sum()),
            _share(hit, changed),
            _share(hit, ~own),
            _kept(examples.gains, hit, own, changed),
        )

    def text(self) -> str:
        """One line for people."""
        line = f"{self.agreement:.2%} of {self.decisions:,} decisions as labelled"
        if not self.changed:
            return line
        line = f"{line}; of {self.changed:,} that are not the compiler's own, {self.found:.1%}"
        return f"{line}; {self.kept:.0%} of their gain" if self.kept else line


def _kept(gains: np.ndarray, hit: np.ndarray, own: np.ndarray, changed: np.ndarray) -> float:
    """The bytes that deviations from the compiler gain, as a share of what the labels gain."""
    possible = float(gains[changed].sum())
    won = float(gains[hit & ~own].sum() - gains[~hit & ~own].sum())
    return won / possible if possible else 0.0


def _share(hit: np.ndarray, among: np.ndarray) -> float:
    return float(hit[among].mean()) if among.any() else 0.0


def loss(examples: Examples, scores: Floats, scaling: Scaling) -> float:
    """The weighted mean loss of scores [N, columns]."""
    domain, labels = examples.arrangement.domain, examples.numbers
    values = scores.astype(np.float64)
    if not examples.by_class:
        each = (values[:, 0] - (labels - scaling.offset) / scaling.factor) ** 2
    elif isinstance(domain, Flag):
        signs = np.where(labels > 0, -1.0, 1.0)
        each = np.logaddexp(0, signs * values[:, 0])
    else:
        legal = values if examples.mask is None else np.where(examples.mask, values, -np.inf)
        top = legal.max(axis=1)
        top = np.where(np.isfinite(top), top, 0)
        total = np.log(np.maximum(np.exp(legal - top[:, None]).sum(axis=1), 1e-300)) + top
        chosen = values[np.arange(len(labels)), labels.astype(np.int64)]
        each = total - chosen
    return float(np.average(each, weights=examples.weights))
