# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`SetNetwork`: rates every column of a decision with all columns in view, in any order.

An encoder makes a vector of each column; the mean of these vectors is the context of the decision; a second
network rates a column by its own vector and the context. A `Network` rates a column by itself alone. At
`evict` the columns are live ranges. The mean is over all columns; those without a live range are all alike.
Source: Zaheer et al., "Deep Sets" (NeurIPS 2017).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from passpilot.plugin.errors import InputError
from passpilot.training.learning.network import Network, RatingNetwork

if TYPE_CHECKING:
    from passpilot.training.data.matrix import Arrangement, Floats
    from passpilot.training.learning.export import GraphBuilder


@dataclass(slots=True)
class SetNetwork(RatingNetwork):
    """The two networks, for decisions of `columns` columns; the encoder's outputs go through a ReLU, too."""

    columns: int
    encoder: Network
    rater: Network

    @classmethod
    def random(
        cls, columns: int, inputs: int, hidden: Sequence[int], random: np.random.Generator
    ) -> SetNetwork:
        """A network whose encoder has these hidden widths, and whose rater has the last one."""
        encoder = Network.random((inputs, *hidden), random)
        encoder.weights[-1] *= np.float32(100)  # not a last layer, which begins at nearly zero
        return cls(columns, encoder, Network.random((2 * hidden[-1], hidden[-1], 1), random))

    @property
    def parameters(self) -> list[Floats]:
        """All arrays: those of the encoder, then those of the rater."""
        return self.encoder.parameters + self.rater.parameters

    def layers(self, rows: Floats) -> list[Floats]:
        """The values of all layers of the encoder, then of the rater, whose last are the scores."""
        encoded = self.encoder.layers(rows)
        vectors = np.maximum(encoded[-1], 0)
        means = vectors.reshape(-1, self.columns, vectors.shape[1]).mean(axis=1)
        seen = np.concatenate([vectors, np.repeat(means, self.columns, axis=0)], axis=1)
        return encoded + self.rater.layers(seen)

    def gradients(self, values: Sequence[Floats], slope: Floats) -> list[Floats]:
        place = len(self.encoder.weights) + 1
        rated, seen_slope = self.rater.slopes(values[place:], slope)
        width = seen_slope.shape[1] // 2
        means = seen_slope[:, width:].reshape(-1, self.columns, width).sum(axis=1) / np.float32(self.columns)
        by_vectors = (seen_slope[:, :width] + np.repeat(means, self.columns, axis=0)) * (
            values[place - 1] > 0
        )
        encoded, _ = self.encoder.slopes(values[:place], by_vectors)
        return encoded + rated

    def build(self, graph: GraphBuilder, rows: str) -> str:
        vectors = graph.add("Relu", self.encoder.build(graph, rows))
        first, bias = self.rater.weights[0], self.rater.biases[0]
        width, out = first.shape[0] // 2, first.shape[1]
        whole = graph.constant(np.array([-1, self.columns * width], np.int64), "shape")
        mean = np.tile(np.eye(width, dtype=np.float32), (self.columns, 1)) / np.float32(self.columns)
        means = graph.add("MatMul", graph.add("Reshape", vectors, whole), graph.constant(mean, "mean"))
        own = graph.add(
            "Gemm", vectors, graph.constant(first[:width], "weight"), graph.constant(bias, "bias")
        )
        others = graph.add("MatMul", means, graph.constant(first[width:], "weight"))
        by_column = graph.constant(np.array([-1, self.columns, out], np.int64), "shape")
        by_decision = graph.constant(np.array([-1, 1, out], np.int64), "shape")
        both = graph.add(
            "Add", graph.add("Reshape", own, by_column), graph.add("Reshape", others, by_decision)
        )
        flat = graph.constant(np.array([-1, out], np.int64), "shape")
        rest = Network(self.rater.weights[1:], self.rater.biases[1:])
        return rest.build(graph, graph.add("Relu", graph.add("Reshape", both, flat)))

    def describe(self) -> str:
        encoder, rater = ("-".join(map(str, network.widths)) for network in (self.encoder, self.rater))
        return f"set network, {encoder} for columns, {rater} for scores, {self.size} weights"


def fresh_network(policy: str, arrangement: Arrangement, hidden: Sequence[int], seed: int) -> RatingNetwork:
    """A network of random weights for a kind of model: ``network``, ``linear`` or ``set``.

    Raises:
        InputError: a set network is wanted for decisions without columns, or has no hidden layer.
    """
    random, inputs = np.random.default_rng(seed), len(arrangement.names)
    if policy == "set":
        if not arrangement.by_column:
            what = "a point whose choices have features of their own, such as evict"
            raise InputError(f"policy set: expected {what}, got {arrangement.point}; use network")
        if not hidden:
            raise InputError("policy set: expected a hidden layer, got none")
        return SetNetwork.random(arrangement.columns, inputs, hidden, random)
    return Network.random((inputs, *(hidden if policy == "network" else ()), arrangement.outputs), random)
