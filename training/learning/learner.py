# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Learner`: the model in training, as the trainer sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Choice, Domain, Flag

if TYPE_CHECKING:
    from passpilot.training.data.matrix import Examples, Floats
    from passpilot.training.learning.export import GraphBuilder

    State = dict[str, NDArray[np.generic]]


@dataclass(frozen=True, slots=True)
class Scaling:
    """Numbers are learned on their own scale, advice = score * factor + offset; others are not scaled."""

    offset: float = 0.0
    factor: float = 1.0

    @classmethod
    def of(cls, examples: Examples) -> Scaling:
        """The scale of the labels at a point of numbers."""
        if isinstance(examples.arrangement.domain, (Flag, Choice)):
            return cls()
        return cls(float(examples.labels.mean()), float(examples.labels.std()) or 1.0)

    def advice(self, scores: Floats) -> Floats:
        """Scores on the scale of the advice."""
        return scores * np.float32(self.factor) + np.float32(self.offset)

    def scores(self, labels: NDArray[np.float64]) -> NDArray[np.float64]:
        """Labels on the scale of scores."""
        return (labels - self.offset) / self.factor


class RatingModel(Protocol):
    """A model that rates decisions and can be exported."""

    def scores(self, flat: Floats) -> Floats:
        """The scores [N, columns] for the elements [N, elements] of decisions."""

    def build(self, graph: GraphBuilder, rows: str) -> str:
        """Add the model to an ONNX graph; `rows` names the rows, and the result the outputs for them."""

    def describe(self) -> str:
        """The model in words, for its card."""


class Learner(RatingModel, Protocol):
    """A model in training. A round of training is one tree per score, or one look at all decisions."""

    @property
    def rounds(self) -> int:
        """The rounds so far."""

    @property
    def most_rounds(self) -> int:
        """The rounds that the settings want."""

    def advance(self, rounds: int) -> None:
        """Train for up to this many rounds."""

    def validation_scores(self) -> Floats:
        """The scores of the decisions for validation; those for training if there are none."""

    def state(self) -> State:
        """All that `restore` needs to go on exactly here."""

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Go back to a state."""


def loss_name(domain: Domain) -> str:
    """What the loss of a domain is called."""
    return "log loss" if isinstance(domain, (Flag, Choice)) else "mean squared error"
