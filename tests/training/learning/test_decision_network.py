# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks that decide in this process, and the file of their weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.learning.decision_network import DecisionNetwork
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import Network
from passpilot.training.learning.set_network import SetNetwork, fresh_network
from tests.training.learning.examples import arranged

FEW = TensorSpec("few", "int64", (2,))


def policy(domain: Domain, weights: list[list[float]], *, scaling: Scaling | None = None) -> DecisionNetwork:
    """A linear policy of two features that are not scaled; a row of weights for each output."""
    network = Network([np.array(weights, np.float32).T], [np.zeros(len(weights), np.float32)])
    statistics = FeatureStatistics(("few[0]", "few[1]"), np.zeros(2, np.float32), np.ones(2, np.float32))
    return DecisionNetwork(arranged(domain, FEW), statistics, network, scaling or Scaling())


def observed(*values: int, **more: list[int]) -> dict[str, np.ndarray]:
    """An observation."""
    return {name: np.array(each) for name, each in {"few": list(values), **more}.items()}


def test_a_flag_is_decided_from_zero_on() -> None:
    made = policy(Flag(), [[1, -1]])
    assert made.features == ("few",)
    answers = [made.decide(observed(*values)) for values in ((5, 5), (5, 4), (4, 5))]
    assert answers == [1, 1, 0]
    assert all(type(each) is int for each in answers)


def test_the_best_legal_choice_is_taken() -> None:
    made = policy(Choice(3, mask="legal"), [[1, 0], [2, 0], [3, 0]])
    assert made.features == ("few", "legal")
    assert made.decide(observed(7, 0, legal=[1, 1, 1])) == 2
    assert made.decide(observed(7, 0, legal=[1, 1, 0])) == 1
    assert made.decide(observed(7, 0, legal=[1, 0, 0])) == 0


def test_a_mask_that_is_a_feature_is_read_once() -> None:
    arrangement = arranged(Choice(2, mask="few"), FEW)
    assert DecisionNetwork(
        arrangement, FeatureStatistics((), *np.zeros((2, 0), np.float32)), Network([], []), Scaling()
    ).features == ("few",)


def test_numbers_are_scaled_and_within_their_limits() -> None:
    made = policy(Number(-10, 10), [[1, 0]], scaling=Scaling(2, 3))
    value = made.decide(observed(1, 0))
    assert value == pytest.approx(2 + 3 * np.log(2))
    assert type(value) is float
    assert made.decide(observed(10**6, 0)) == 10
    assert made.decide(observed(-(10**6), 0)) == -10


def written(folder: Path, made: DecisionNetwork, **changes: object) -> str:
    """A folder with the weights."""
    value = {**json.loads(made.to_json()), **changes}
    (folder / "network.json").write_text(json.dumps(value))
    return str(folder)


@pytest.mark.parametrize("kind", ["network", "linear"])
def test_weights_are_read_as_they_were_written(kind: str, tmp_path: Path) -> None:
    arrangement = arranged(Number(0, 9), FEW)
    statistics = FeatureStatistics(
        ("few[0]", "few[1]"), np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    )
    network = fresh_network(kind, arrangement, (5, 3), 1)
    again = DecisionNetwork.read(
        written(tmp_path, DecisionNetwork(arrangement, statistics, network, Scaling(5, 6))), arrangement
    )
    assert (again.network.vector() == network.vector()).all()
    assert again.describe() == network.describe()
    assert (again.scaling.offset, again.scaling.factor) == (5, 6)
    assert (again.statistics.mean.tolist(), again.statistics.deviation.tolist()) == ([1, 2], [3, 4])


def test_wrong_weights_are_refused(tmp_path: Path) -> None:
    made = policy(Flag(), [[1, -1]])
    with pytest.raises(InputError, match=r"network\.json: expected a network, got: No such file.*; give the"):
        DecisionNetwork.read(str(tmp_path), made.arrangement)
    folder = written(tmp_path, made, names=["few[1]", "few[0]"])
    told = r"expected a network of the features few\[0\], few\[1\], got one of few\[1\], few\[0\]"
    with pytest.raises(InputError, match=told):
        DecisionNetwork.read(folder, made.arrangement)
    changes: list[dict[str, object]] = [{"layers": 3}, {"scaling": [1]}, {"mean": ["x"]}, {"layers": [{}]}]
    for wrong in changes:
        with pytest.raises(InputError, match="expected a network, got "):
            DecisionNetwork.read(written(tmp_path, made, **wrong), made.arrangement)
    (tmp_path / "network.json").write_text("{")
    with pytest.raises(InputError, match="expected a network, got "):
        DecisionNetwork.read(str(tmp_path), made.arrangement)


def test_kinds_of_networks() -> None:
    flag = arranged(Flag(), FEW)
    whole = fresh_network("network", flag, (5, 3), 1)
    assert whole.describe() == "network of 2-5-3-1, 37 weights"
    assert fresh_network("linear", flag, (5, 3), 1).describe() == "linear model of 2-1, 3 weights"
    assert isinstance(whole, Network)
    assert np.abs(whole.weights[-1]).max() < 0.1 < np.abs(whole.weights[0]).max()
    assert (fresh_network("network", flag, (5, 3), 2).vector() != whole.vector()).any()
    columns = arranged(Choice(2), FEW)
    found = fresh_network("set", columns, (5, 3), 1)
    assert isinstance(found, SetNetwork)
    assert found.describe() == "set network, 1-5-3 for columns, 6-3-1 for scores, 53 weights"
    assert np.abs(found.encoder.weights[-1]).max() > 0.1
    copy = found.copy()
    copy.assign(np.zeros(copy.size, np.float32))
    assert found.vector().any()
    with pytest.raises(InputError, match="policy set: expected a hidden layer, got none"):
        fresh_network("set", columns, (), 1)
