# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Network`: a multilayer perceptron in numpy; `NetworkLearner` trains one by Adam.

Policies have some thousand weights, and their training is over in minutes on one processor, so that this
needs no framework. Without hidden layers the network is a linear model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.features.domain import Choice, Flag
from passpilot.training.data.normalization import FeatureStatistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from passpilot.features.domain import Domain
    from passpilot.training.data.matrix import Examples, Floats
    from passpilot.training.learning.graph import GraphBuilder
    from passpilot.training.learning.learner import Scaling, State
    from passpilot.training.learning.set_network import SetNetwork
    from passpilot.training.learning.settings import NetworkSettings

DECAY: Final = (0.9, 0.999)
"""How slowly Adam's means of the gradient and of its square change."""

LEAST_RATE: Final = 0.05
"""The learning rate of the last round, as a share of the first one's."""

CHUNK: Final = 1 << 14
"""Decisions that are rated at a time."""


@dataclass(slots=True)
class Network:
    """Layers of weights [inputs, outputs] and biases [outputs], with ReLU between them."""

    weights: list[Floats]
    biases: list[Floats]

    @classmethod
    def random(cls, widths: Sequence[int], random: np.random.Generator) -> Network:
        """A network of layers with these widths; the last layer begins at nearly zero."""
        weights, biases = [], []
        for place, (before, after) in enumerate(pairwise(widths)):
            scale = math.sqrt(2 / before) * (0.01 if place == len(widths) - 2 else 1)
            weights.append((random.standard_normal((before, after)) * scale).astype(np.float32))
            biases.append(np.zeros(after, np.float32))
        return cls(weights, biases)

    def copy(self) -> Network:
        """The same network in arrays of its own."""
        return Network([each.copy() for each in self.weights], [each.copy() for each in self.biases])

    @property
    def widths(self) -> list[int]:
        """The numbers of inputs, of values behind all hidden layers, and of outputs."""
        return [*(each.shape[0] for each in self.weights), self.weights[-1].shape[1]]

    @property
    def parameters(self) -> list[Floats]:
        """All arrays: the weights of the first layer, its biases, and so on."""
        return [each for pair in zip(self.weights, self.biases, strict=True) for each in pair]

    @property
    def size(self) -> int:
        """The number of weights and biases."""
        return sum(each.size for each in self.parameters)

    def vector(self) -> Floats:
        """All weights and biases in one array."""
        return joined(self.parameters)

    def assign(self, vector: NDArray[np.floating]) -> None:
        """Take all weights and biases from one array."""
        assign(self.parameters, vector)

    def scores(self, rows: Floats) -> Floats:
        """The outputs [N, outputs] for normalized rows."""
        return self.layers(rows)[-1]

    def layers(self, rows: Floats) -> list[Floats]:
        """The rows, the values behind every layer, and the outputs."""
        values = [rows]
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            made = values[-1] @ weight
            made += bias
            if place < len(self.weights) - 1:
                np.maximum(made, 0, out=made)
            values.append(made)
        return values

    def gradients(self, values: Sequence[Floats], slope: Floats) -> list[Floats]:
        """The slopes of the loss by `parameters`, from that by the outputs; `values` is from `layers`."""
        return self.slopes(values, slope)[0]

    def slopes(self, values: Sequence[Floats], slope: Floats) -> tuple[list[Floats], Floats]:
        """`gradients`, and the slopes by the rows."""
        made: list[Floats] = []
        for place in range(len(self.weights) - 1, -1, -1):
            made += [slope.sum(axis=0), values[place].T @ slope]
            slope = slope @ self.weights[place].T
            if place:
                slope *= values[place] > 0
        return made[::-1], slope

    def build(self, graph: GraphBuilder, rows: str) -> str:
        """Add the network to an ONNX graph; `rows` names the normalized rows."""
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            rows = graph.add("Gemm", rows, graph.constant(weight, "weight"), graph.constant(bias, "bias"))
            if place < len(self.weights) - 1:
                rows = graph.add("Relu", rows)
        return rows

    def describe(self) -> str:
        """The model in words."""
        kind = "network" if len(self.weights) > 1 else "linear model"
        return f"{kind} of {'-'.join(map(str, self.widths))}, {self.size} weights"


def joined(arrays: Iterable[Floats]) -> Floats:
    """All elements of arrays in one."""
    return np.concatenate([each.reshape(-1) for each in arrays])


def assign(arrays: Iterable[Floats], vector: NDArray[np.floating]) -> None:
    """Take all elements of arrays from one, in the order of `joined`."""
    at = 0
    for each in arrays:
        each[...] = vector[at : at + each.size].reshape(each.shape)
        at += each.size


class NetworkLearner:
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
        network: Network | SetNetwork,
        seed: int,
        train: Examples,
        validation: Examples | None,
        scaling: Scaling,
    ) -> None:
        self._settings, self._seed, self._train, self._scaling = settings, seed, train, scaling
        self._watched = train if validation is None else validation
        self._arrangement = train.arrangement
        self.statistics = FeatureStatistics.of(self._arrangement.names, self._legal_rows(train))
        """The scale of the features."""
        self.network = network
        """The weights."""
        self._means = [np.zeros_like(each) for each in self.network.parameters]
        self._squares = [np.zeros_like(each) for each in self.network.parameters]
        self._steps = self._rounds = 0

    def _legal_rows(self, examples: Examples) -> Iterator[Floats]:
        for start in range(0, len(examples), CHUNK):
            rows = self._arrangement.rows(examples.flat[start : start + CHUNK])
            if not self._arrangement.by_column:
                yield rows
            elif examples.mask is None:
                yield rows.reshape(-1, rows.shape[-1])
            else:
                yield rows[examples.mask[start : start + CHUNK]]

    @property
    def rounds(self) -> int:
        """See `Learner`."""
        return self._rounds

    @property
    def most_rounds(self) -> int:
        """See `Learner`."""
        return self._settings.rounds

    def advance(self, rounds: int) -> None:
        """See `Learner`."""
        for _ in range(min(rounds, self.most_rounds - self._rounds)):
            order = np.random.default_rng((self._seed, self._rounds)).permutation(len(self._train))
            part = 0.5 * (1 + math.cos(math.pi * self._rounds / self.most_rounds))
            rate = self._settings.learning_rate * (LEAST_RATE + (1 - LEAST_RATE) * part)
            for start in range(0, len(order), self._settings.batch):
                self._learn(order[start : start + self._settings.batch], rate)
            self._rounds += 1

    def _learn(self, chosen: NDArray[np.int64], rate: float) -> None:
        train, shape = self._train, (len(chosen), self._arrangement.columns)
        rows = self._normalized(train.flat[chosen])
        values = self.network.layers(rows)
        labels = train.numbers[chosen]
        if not train.by_class:
            labels = (labels - self._scaling.offset) / self._scaling.factor
        mask = None if train.mask is None else train.mask[chosen]
        domain = self._arrangement.domain if train.by_class else None
        slope = loss_slope(domain, values[-1].reshape(shape), labels, mask)
        slope *= (train.weights[chosen] / len(chosen)).astype(np.float32)[:, None]
        self._step(self.network.gradients(values, slope.reshape(values[-1].shape)), rate)

    def _step(self, gradients: Sequence[Floats], rate: float) -> None:
        self._steps += 1
        first, second = (1 - each**self._steps for each in DECAY)
        for place, (weight, slope) in enumerate(zip(self.network.parameters, gradients, strict=True)):
            self._means[place] += (1 - DECAY[0]) * (slope - self._means[place])
            self._squares[place] += (1 - DECAY[1]) * (slope * slope - self._squares[place])
            change = (self._means[place] / first) / (np.sqrt(self._squares[place] / second) + 1e-8)
            if weight.ndim == 2:
                change += self._settings.l2 / self._settings.learning_rate * weight
            weight -= np.float32(rate) * change

    def _normalized(self, flat: Floats) -> Floats:
        rows = self._arrangement.rows(flat)
        return self.statistics.normalize(rows.reshape(-1, rows.shape[-1]))

    def scores(self, flat: Floats) -> Floats:
        """See `Learner`."""
        made = np.empty((len(flat), self._arrangement.columns), np.float32)
        for start in range(0, len(flat), CHUNK):
            part = slice(start, start + CHUNK)
            made[part] = self._arrangement.label_rows(self.network.scores(self._normalized(flat[part])))
        return made

    def validation_scores(self) -> Floats:
        """See `Learner`."""
        return self.scores(self._watched.flat)

    def state(self) -> State:
        """See `Learner`."""
        made: State = {"counts": np.array([self._rounds, self._steps])}
        for name, arrays in self._arrays().items():
            made |= {f"{name}_{place}": each.copy() for place, each in enumerate(arrays)}
        return made

    def _arrays(self) -> dict[str, list[Floats]]:
        return {"parameter": self.network.parameters, "mean": self._means, "square": self._squares}

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """See `Learner`."""
        self._rounds, self._steps = (int(each) for each in state["counts"])
        for name, arrays in self._arrays().items():
            for place, each in enumerate(arrays):
                each[...] = state[f"{name}_{place}"]

    def build(self, graph: GraphBuilder, rows: str) -> str:
        """See `Learner`."""
        return self.network.build(graph, graph.normalized(rows, self.statistics))

    def describe(self) -> str:
        """See `Learner`."""
        return self.network.describe()


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
    """``1 / (1 + exp(-x))``."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * scores)), np.float32)


def softmax(scores: Floats, mask: NDArray[np.bool_] | None) -> Floats:
    """The probabilities of the legal columns; 0 for the others."""
    legal = scores if mask is None else np.where(mask, scores, -np.inf)
    top = legal.max(axis=1, keepdims=True)
    powers = np.exp(legal - np.where(np.isfinite(top), top, 0))
    return np.asarray(powers / np.maximum(powers.sum(axis=1, keepdims=True), 1e-30), np.float32)
