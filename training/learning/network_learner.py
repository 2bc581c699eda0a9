# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`NetworkLearner`: trains a network by Adam, in numpy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Choice, Domain, Flag
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.learning.decision_network import CHUNK, DecisionNetwork

if TYPE_CHECKING:
    from passpilot.training.data.matrix import Examples, Floats
    from passpilot.training.learning.learner import Scaling, State
    from passpilot.training.learning.network import RatingNetwork
    from passpilot.training.learning.settings import NetworkSettings

DECAY: Final = (0.9, 0.999)
"""How slowly Adam's means of the gradient and of its square change."""

LEAST_RATE: Final = 0.05
"""The learning rate of the last round, as a share of the first one's."""


class NetworkLearner(DecisionNetwork):
    """A network in training; see `Learner`.

    Args:
        settings: those of the network.
        network: with its first weights, which change.
        seed: of the order of decisions.
        train: the decisions to learn from.
        validation: decisions of other programs, if there are any.
        scaling: that of numbers.
    """

    def __init__(
        self,
        settings: NetworkSettings,
        network: RatingNetwork,
        seed: int,
        train: Examples,
        validation: Examples | None,
        scaling: Scaling,
    ) -> None:
        statistics = FeatureStatistics.of(train.arrangement.names, _legal_rows(train))
        super().__init__(train.arrangement, statistics, network, scaling)
        self._settings, self._seed, self._train = settings, seed, train
        self._watched = train if validation is None else validation
        self._means = [np.zeros_like(array) for array in network.parameters]
        self._squares = [np.zeros_like(array) for array in network.parameters]
        self._steps = self._rounds = 0

    @property
    def rounds(self) -> int:
        return self._rounds

    @property
    def most_rounds(self) -> int:
        return self._settings.rounds

    def advance(self, rounds: int) -> None:
        for _ in range(min(rounds, self.most_rounds - self._rounds)):
            order = np.random.default_rng((self._seed, self._rounds)).permutation(len(self._train))
            part = 0.5 * (1 + math.cos(math.pi * self._rounds / self.most_rounds))
            rate = self._settings.learning_rate * (LEAST_RATE + (1 - LEAST_RATE) * part)
            for start in range(0, len(order), self._settings.batch):
                self._learn(order[start : start + self._settings.batch], rate)
            self._rounds += 1

    def _learn(self, chosen: NDArray[np.int64], rate: float) -> None:
        batch = self._train.take(chosen)
        values = self.network.layers(self.normalized(batch.flat))
        labels = batch.numbers if batch.by_class else self.scaling.scores(batch.numbers)
        domain = self.arrangement.domain if batch.by_class else None
        scores = values[-1].reshape(len(chosen), self.arrangement.columns)
        slope = loss_slope(domain, scores, labels, batch.mask)
        slope *= (batch.weights / len(chosen)).astype(np.float32)[:, None]
        self._step(self.network.gradients(values, slope.reshape(values[-1].shape)), rate)

    def _step(self, gradients: Sequence[Floats], rate: float) -> None:
        self._steps += 1
        first, second = (1 - decay**self._steps for decay in DECAY)
        for place, (weight, slope) in enumerate(zip(self.network.parameters, gradients, strict=True)):
            self._means[place] += (1 - DECAY[0]) * (slope - self._means[place])
            self._squares[place] += (1 - DECAY[1]) * (slope * slope - self._squares[place])
            change = (self._means[place] / first) / (np.sqrt(self._squares[place] / second) + 1e-8)
            if weight.ndim == 2:
                change += self._settings.l2 / self._settings.learning_rate * weight
            weight -= np.float32(rate) * change

    def validation_scores(self) -> Floats:
        return self.scores(self._watched.flat)

    def state(self) -> State:
        state: State = {"counts": np.array([self._rounds, self._steps])}
        for name, arrays in self._arrays().items():
            state |= {f"{name}_{place}": array.copy() for place, array in enumerate(arrays)}
        return state

    def _arrays(self) -> dict[str, list[Floats]]:
        return {"parameter": self.network.parameters, "mean": self._means, "square": self._squares}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        self._rounds, self._steps = map(int, state["counts"])
        for name, arrays in self._arrays().items():
            for place, array in enumerate(arrays):
                array[...] = state[f"{name}_{place}"]


def _legal_rows(examples: Examples) -> Iterator[Floats]:
    """The rows of all decisions, without those of illegal columns."""
    for start in range(0, len(examples), CHUNK):
        rows = examples.arrangement.rows(examples.flat[start : start + CHUNK])
        if examples.arrangement.by_column and examples.mask is not None:
            yield rows[examples.mask[start : start + CHUNK]]
        else:
            yield rows.reshape(-1, rows.shape[-1])


def loss_slope(
    domain: Domain | None, scores: Floats, labels: NDArray[np.float64], mask: NDArray[np.bool_] | None
) -> Floats:
    """The slope of the loss of every decision by its scores [N, columns]; without a domain, of numbers."""
    if isinstance(domain, Flag):
        return np.asarray(sigmoid(scores) - labels[:, None], np.float32)
    if isinstance(domain, Choice):
        slope = softmax(scores, mask)
        slope[np.arange(len(labels)), labels.astype(np.int64)] -= 1
        return slope
    return np.asarray(scores - labels[:, None], np.float32)


def sigmoid(scores: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)), np.float32)


def softmax(scores: Floats, mask: NDArray[np.bool_] | None) -> Floats:
    """The probabilities of the legal columns; 0 for the others."""
    legal = scores if mask is None else np.where(mask, scores, -np.inf)
    top = legal.max(axis=1, keepdims=True)
    powers = np.exp(legal - np.where(np.isfinite(top), top, 0))
    return np.asarray(powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-30), np.float32)
