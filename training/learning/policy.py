# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`NetworkPolicy`: a network that decides in this process, while its weights still change."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from passpilot.features.domain import Choice, Number
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular
from passpilot.training.data.matrix import decide
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import Network
from passpilot.training.learning.set_network import SetNetwork

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from passpilot.training.data.matrix import Arrangement, Floats
    from passpilot.training.learning.graph import GraphBuilder

Layer = dict[str, object]

WEIGHTS: Final = "network.json"
"""The file of a network's weights, from which training goes on."""


@dataclass(slots=True)
class NetworkPolicy:
    """A network with the scale of its features; its `decide` is a policy for advisors.

    Attributes:
        arrangement: how decisions become rows.
        statistics: the scale of the features.
        network: the weights.
        scaling: that of numbers.
    """

    arrangement: Arrangement
    statistics: FeatureStatistics
    network: Network | SetNetwork
    scaling: Scaling

    @property
    def features(self) -> tuple[str, ...]:
        """The tensors that `decide` reads."""
        domain = self.arrangement.domain
        mask = [domain.mask] if isinstance(domain, Choice) else []
        return tuple(dict.fromkeys([*(spec.name for spec in self.arrangement.features), *mask]))

    def decide(self, obs: Mapping[str, NDArray[np.generic]]) -> int | float:
        """The advice on one decision."""
        flat = self.arrangement.flat({name: np.asarray(obs[name]) for name in self.features})
        scores = self.scores(flat)
        domain = self.arrangement.domain
        mask = np.asarray(obs[domain.mask]).reshape(1, -1) != 0 if isinstance(domain, Choice) else None
        if isinstance(domain, Number):
            scores = scores * np.float32(self.scaling.factor) + np.float32(self.scaling.offset)
            return float(decide(domain, scores, None)[0])
        return int(decide(domain, scores, mask)[0])

    def scores(self, flat: Floats) -> Floats:
        """The scores [N, columns] for the elements [N, elements] of decisions."""
        rows = self.arrangement.rows(flat)
        normalized = self.statistics.normalize(rows.reshape(-1, rows.shape[-1]))
        return self.arrangement.label_rows(self.network.scores(normalized))

    def build(self, graph: GraphBuilder, rows: str) -> str:
        """Add the policy to an ONNX graph; `rows` names the rows, and the result the outputs for them."""
        return self.network.build(graph, graph.normalized(rows, self.statistics))

    def describe(self) -> str:
        """The model in words."""
        return self.network.describe()


def read_policy(folder: str, arrangement: Arrangement) -> NetworkPolicy:
    """The network that `passpilot train imitate` or `evolve` has put into a folder.

    Raises:
        InputError: there is none, or it is for other features.
    """
    path = os.path.join(folder, WEIGHTS)
    try:
        value = cast("dict[str, object]", json.loads(read_regular(path)))
        names = tuple(cast("list[str]", value["names"]))
        mean, deviation = (np.array(value[key], np.float32) for key in ("mean", "deviation"))
        network = _network(cast("list[Layer]", value["layers"]), value.get("encoder"), arrangement)
        offset, factor = cast("list[float]", value["scaling"])
    except OSError as error:
        hint = "give the folder of a network that passpilot train has made"
        raise InputError(f"{path}: expected a network, got: {error.strerror}; {hint}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: expected a network, got another file") from error
    if names != arrangement.names:
        raise InputError(
            f"{path}: expected a network of the features {', '.join(arrangement.names)}, "
            f"got one of {', '.join(names)}"
        )
    return NetworkPolicy(
        arrangement, FeatureStatistics(names, mean, deviation), network, Scaling(offset, factor)
    )


def _network(layers: list[Layer], encoder: object, arrangement: Arrangement) -> Network | SetNetwork:
    made = Network(
        [np.array(each["weights"], np.float32) for each in layers],
        [np.array(each["biases"], np.float32) for each in layers],
    )
    if encoder is None:
        return made
    first = _network(cast("list[Layer]", encoder), None, arrangement)
    assert isinstance(first, Network), "an encoder has none of its own"
    return SetNetwork(arrangement.columns, first, made)


def policy_text(policy: NetworkPolicy) -> str:
    """The text of `WEIGHTS`."""
    network = policy.network
    value = {
        "names": list(policy.statistics.names),
        "mean": policy.statistics.mean.tolist(),
        "deviation": policy.statistics.deviation.tolist(),
        "scaling": [policy.scaling.offset, policy.scaling.factor],
        "layers": _layers(network.rater if isinstance(network, SetNetwork) else network),
    }
    if isinstance(network, SetNetwork):
        value["encoder"] = _layers(network.encoder)
    return json.dumps(value) + "\n"


def _layers(network: Network) -> list[Layer]:
    return [
        {"weights": weight.tolist(), "biases": bias.tolist()}
        for weight, bias in zip(network.weights, network.biases, strict=True)
    ]
