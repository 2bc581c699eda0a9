# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`DecisionNetwork`: a network that decides in this process, while its weights still change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.features.domain import Choice, Number
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular
from passpilot.plugin.json_and_toml import parse_json
from passpilot.training.data.matrix import Arrangement, Floats, decide
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import Network, RatingNetwork
from passpilot.training.learning.set_network import SetNetwork

if TYPE_CHECKING:
    from passpilot.training.learning.export import GraphBuilder

WEIGHTS: Final = "network.json"
"""The file of a network's weights, from which training goes on."""

CHUNK: Final = 1 << 14
"""Decisions that are rated at a time."""


@dataclass(slots=True)
class DecisionNetwork:
    """A network with the scale of its features; advisors call its `decide`.

    Attributes:
        arrangement: how decisions become rows.
        statistics: the scale of the features.
        network: the weights.
        scaling: that of numbers.
    """

    arrangement: Arrangement
    statistics: FeatureStatistics
    network: RatingNetwork
    scaling: Scaling

    @property
    def features(self) -> tuple[str, ...]:
        """The tensors that `decide` reads."""
        domain = self.arrangement.domain
        mask = [domain.mask] if isinstance(domain, Choice) else []
        return tuple(dict.fromkeys([*(spec.name for spec in self.arrangement.features), *mask]))

    def decide(self, obs: Mapping[str, NDArray[np.generic]]) -> int | float:
        """The advice on one decision."""
        domain = self.arrangement.domain
        flat = self.arrangement.flat({name: np.asarray(obs[name]) for name in self.features})
        mask = np.asarray(obs[domain.mask]).reshape(1, -1) != 0 if isinstance(domain, Choice) else None
        (advice,) = decide(domain, self.scaling.advice(self.scores(flat)), mask)
        return float(advice) if isinstance(domain, Number) else int(advice)

    def scores(self, flat: Floats) -> Floats:
        """The scores [N, columns] for the elements [N, elements] of decisions."""
        scores = np.empty((len(flat), self.arrangement.columns), np.float32)
        for start in range(0, len(flat), CHUNK):
            part = slice(start, start + CHUNK)
            rated = self.network.scores(self.normalized(flat[part]))
            scores[part] = rated.reshape(-1, self.arrangement.columns)
        return scores

    def normalized(self, flat: Floats) -> Floats:
        """The rows of decisions on the common scale: [N, numbers], or [N * columns, numbers]."""
        rows = self.arrangement.rows(flat)
        return self.statistics.normalize(rows.reshape(-1, rows.shape[-1]))

    def build(self, graph: GraphBuilder, rows: str) -> str:
        """Add the network to an ONNX graph; `rows` names the rows, and the result the outputs for them."""
        return self.network.build(graph, graph.normalized(rows, self.statistics))

    def describe(self) -> str:
        return self.network.describe()

    def to_json(self) -> str:
        """The text of `WEIGHTS`."""
        network = self.network
        value = {
            "names": list(self.statistics.names),
            "mean": self.statistics.mean.tolist(),
            "deviation": self.statistics.deviation.tolist(),
            "scaling": [self.scaling.offset, self.scaling.factor],
            "layers": _layers(network.rater if isinstance(network, SetNetwork) else network),
        }
        if isinstance(network, SetNetwork):
            value["encoder"] = _layers(network.encoder)
        return json.dumps(value) + "\n"

    @classmethod
    def read(cls, folder: str, arrangement: Arrangement) -> DecisionNetwork:
        """The network that `passpilot train` has put into a folder.

        Raises:
            InputError: there is none, or it is for other features.
        """
        path = os.path.join(folder, WEIGHTS)
        try:
            value: Any = parse_json(read_regular(path), path, "a network")
            statistics = FeatureStatistics(
                tuple(value["names"]), *(np.array(value[key], np.float32) for key in ("mean", "deviation"))
            )
            rater, encoder = _network(value["layers"]), value.get("encoder")
            network = SetNetwork(arrangement.columns, _network(encoder), rater) if encoder else rater
            offset, factor = value["scaling"]
        except OSError as error:
            hint = "give the folder of a network that passpilot train has made"
            raise InputError(f"{path}: expected a network, got: {error.strerror}; {hint}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: expected a network, got another file") from error
        if statistics.names != arrangement.names:
            wanted, got = ", ".join(arrangement.names), ", ".join(statistics.names)
            raise InputError(f"{path}: expected a network of the features {wanted}, got one of {got}")
        return cls(arrangement, statistics, network, Scaling(offset, factor))


def _network(layers: list[dict[str, Any]]) -> Network:
    return Network(*([np.array(layer[key], np.float32) for layer in layers] for key in ("weights", "biases")))


def _layers(network: RatingNetwork) -> list[dict[str, Any]]:
    assert isinstance(network, Network), "an encoder and a rater are plain networks"
    return [
        {"weights": weight.tolist(), "biases": bias.tolist()}
        for weight, bias in zip(network.weights, network.biases, strict=True)
    ]
