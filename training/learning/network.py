# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Network`: a multilayer perceptron in numpy; without hidden layers it is a linear model.

Such networks have some thousand weights, and their training is over in minutes on one processor, so that this
needs no framework.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from passpilot.training.data.matrix import Floats
    from passpilot.training.learning.export import GraphBuilder


class RatingNetwork(ABC):
    """The arrays of a network, and what it makes of rows."""

    __slots__ = ()

    @property
    @abstractmethod
    def parameters(self) -> list[Floats]:
        """All arrays of weights and biases, in a fixed order."""

    @abstractmethod
    def layers(self, rows: Floats) -> list[Floats]:
        """The normalized rows, the values behind every layer, and the scores."""

    @abstractmethod
    def gradients(self, values: Sequence[Floats], slope: Floats) -> list[Floats]:
        """The slopes of the loss by `parameters`, from that by the scores; `values` is from `layers`."""

    @abstractmethod
    def build(self, graph: GraphBuilder, rows: str) -> str:
        """Add the network to an ONNX graph; `rows` names the normalized rows."""

    @abstractmethod
    def describe(self) -> str:
        """The model in words."""

    @property
    def size(self) -> int:
        return sum(array.size for array in self.parameters)

    def vector(self) -> Floats:
        """All weights and biases in one array."""
        return np.concatenate([array.reshape(-1) for array in self.parameters])

    def assign(self, vector: NDArray[np.floating]) -> None:
        """Take all weights and biases from one array, in the order of `vector`."""
        at = 0
        for array in self.parameters:
            array[...] = vector[at : at + array.size].reshape(array.shape)
            at += array.size

    def copy(self) -> Self:
        """The same network in arrays of its own."""
        return deepcopy(self)

    def scores(self, rows: Floats) -> Floats:
        """The outputs [N, outputs] for normalized rows."""
        return self.layers(rows)[-1]


@dataclass(slots=True)
class Network(RatingNetwork):
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

    @property
    def widths(self) -> list[int]:
        """The numbers of inputs, of values behind all hidden layers, and of outputs."""
        return [*(weight.shape[0] for weight in self.weights), self.weights[-1].shape[1]]

    @property
    def parameters(self) -> list[Floats]:
        """The weights of the first layer, its biases, and so on."""
        return [array for pair in zip(self.weights, self.biases, strict=True) for array in pair]

    def layers(self, rows: Floats) -> list[Floats]:
        values = [rows]
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            outputs = values[-1] @ weight
            outputs += bias
            if place < len(self.weights) - 1:
                np.maximum(outputs, 0, out=outputs)
            values.append(outputs)
        return values

    def gradients(self, values: Sequence[Floats], slope: Floats) -> list[Floats]:
        return self.slopes(values, slope)[0]

    def slopes(self, values: Sequence[Floats], slope: Floats) -> tuple[list[Floats], Floats]:
        """`gradients`, and the slopes by the rows."""
        slopes: list[Floats] = []
        for place in range(len(self.weights) - 1, -1, -1):
            slopes += [slope.sum(axis=0), values[place].T @ slope]
            slope = slope @ self.weights[place].T
            if place:
                slope *= values[place] > 0
        return slopes[::-1], slope

    def build(self, graph: GraphBuilder, rows: str) -> str:
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            rows = graph.add("Gemm", rows, graph.constant(weight, "weight"), graph.constant(bias, "bias"))
            if place < len(self.weights) - 1:
                rows = graph.add("Relu", rows)
        return rows

    def describe(self) -> str:
        kind = "network" if len(self.weights) > 1 else "linear model"
        return f"{kind} of {'-'.join(map(str, self.widths))}, {self.size} weights"
