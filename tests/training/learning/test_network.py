# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The network's slopes are those of its loss; normalization and losses are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from passpilot.features.domain import Choice, Domain, Flag, Number
from passpilot.features.spec import TensorSpec
from passpilot.training.data.matrix import Arrangement, Examples
from passpilot.training.data.normalization import LIMIT, FeatureStatistics
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.metrics import loss
from passpilot.training.learning.network import Network
from passpilot.training.learning.network_learner import NetworkLearner, loss_slope
from passpilot.training.learning.set_network import fresh_network
from passpilot.training.learning.settings import NetworkSettings

ROWS = 6


def examples(domain: Domain, scores: int) -> Examples:
    random = np.random.default_rng(1)
    labels = random.integers(0, scores if scores > 1 else 2, ROWS).astype(np.float64)
    mask = None
    if isinstance(domain, Choice):
        mask = random.random((ROWS, scores)) < 0.6
        mask[np.arange(ROWS), labels.astype(int)] = True
    arrangement = Arrangement("p", (TensorSpec("a", "float32", (4,)),), domain)
    flat = random.standard_normal((ROWS, 4)).astype(np.float32)
    weights = random.uniform(0.5, 1.5, ROWS)
    return Examples(
        arrangement, flat, labels, labels, mask, weights, np.zeros(ROWS, np.int32), ["p"], weights
    )


@pytest.mark.parametrize(("domain", "scores"), [(Flag(), 1), (Choice(5), 5), (Number(-1, 1), 1)])
def test_slopes_are_those_of_the_loss(domain: Domain, scores: int) -> None:
    data = examples(domain, scores)
    network = Network.random((4, 7, 3, scores), np.random.default_rng(2))
    for each in network.parameters:
        each += np.random.default_rng(3).standard_normal(each.shape).astype(np.float32) * 0.3

    def at(vector: np.ndarray) -> float:
        network.assign(vector)
        return loss(data, network.scores(data.flat), Scaling())

    start = network.vector().astype(np.float64)
    values = network.layers(data.flat)
    slope = loss_slope(domain, values[-1], data.labels, data.mask)
    slope *= (data.weights / data.weights.sum()).astype(np.float32)[:, None]
    slopes = np.concatenate([each.reshape(-1) for each in network.gradients(values, slope)])
    if isinstance(domain, Number):
        slopes = slopes * 2  # the loss is the square, the slope that of its half
    for place in np.random.default_rng(4).permutation(len(start))[:25]:
        near = np.zeros_like(start)
        near[place] = 1e-2
        measured = (at(start + near) - at(start - near)) / 2e-2
        assert slopes[place] == pytest.approx(measured, abs=2e-3)


def test_features_come_to_one_scale() -> None:
    random = np.random.default_rng(0)
    rows = np.stack([random.integers(0, 10_000, 500), -random.integers(0, 3, 500), np.full(500, 7)], 1)
    floats = rows.astype(np.float32)
    parts = FeatureStatistics.of(("a", "b", "c"), [floats[:100], floats[100:103], floats[103:], floats[:0]])
    whole = FeatureStatistics.of(("a", "b", "c"), [floats])
    assert parts.mean == pytest.approx(whole.mean, rel=1e-5)
    assert parts.deviation == pytest.approx(whole.deviation, rel=1e-5)
    scaled = whole.normalize(floats)
    assert scaled.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-5)
    assert scaled.std(axis=0) == pytest.approx([1, 1, 0], abs=1e-4)
    assert np.abs(whole.normalize(np.full((1, 3), 1e30, np.float32))).max() <= LIMIT


COLUMNS = 5


def in_columns(count: int, seed: int) -> Examples:
    """Decisions for the column whose number is next to the mean of all: no column tells alone."""
    random = np.random.default_rng(seed)
    flat = (random.standard_normal((count, COLUMNS)) + random.standard_normal((count, 1)) * 3).astype("f4")
    labels = np.abs(flat - flat.mean(axis=1, keepdims=True)).argmin(axis=1).astype(np.float64)
    arrangement = Arrangement("p", (TensorSpec("a", "float32", (1, COLUMNS)),), Choice(COLUMNS))
    zeros, ones = np.zeros(count), np.ones(count)
    programs = np.zeros(count, np.int32)
    return Examples(arrangement, flat, labels, zeros, None, ones, programs, ["p"], zeros)


def learned(policy: str) -> float:
    train, other = in_columns(1500, 1), in_columns(500, 2)
    settings = NetworkSettings((16,), 30, 32, 1e-2)
    first = fresh_network(policy, train.arrangement, settings.hidden, 3)
    learner = NetworkLearner(settings, first, 3, train, other, Scaling())
    learner.advance(settings.rounds)
    return float((other.decide(learner.validation_scores()) == other.labels).mean())


def test_a_set_network_compares_columns() -> None:
    assert learned("network") < 0.5 < 0.8 < learned("set")


def test_slopes_of_a_set_network_are_those_of_the_loss() -> None:
    data = in_columns(ROWS, 5)
    network = fresh_network("set", data.arrangement, (7, 3), 2)
    for each in network.parameters:
        each += np.random.default_rng(3).standard_normal(each.shape).astype(np.float32) * 0.3

    def scores(vector: np.ndarray) -> np.ndarray:
        network.assign(vector)
        return network.scores(data.flat.reshape(-1, 1)).reshape(-1, COLUMNS)

    start = network.vector().astype(np.float64)
    values = network.layers(data.flat.reshape(-1, 1))
    slope = loss_slope(Choice(COLUMNS), values[-1].reshape(-1, COLUMNS), data.labels, None)
    slopes = network.gradients(values, slope.reshape(-1, 1) / np.float32(ROWS))
    whole = np.concatenate([each.reshape(-1) for each in slopes])
    for place in np.random.default_rng(4).permutation(len(start))[:40]:
        near = np.zeros_like(start)
        near[place] = 2e-3
        ends = [loss(data, scores(start + step), Scaling()) for step in (near, -near)]
        assert whole[place] == pytest.approx((ends[0] - ends[1]) / 4e-3, abs=3e-3)


def test_the_order_of_columns_changes_nothing() -> None:
    data = in_columns(ROWS, 6)
    network = fresh_network("set", data.arrangement, (8,), 2)
    order = np.random.default_rng(1).permutation(COLUMNS)
    scores, moved = (
        network.scores(flat.reshape(-1, 1)).reshape(-1, COLUMNS) for flat in (data.flat, data.flat[:, order])
    )
    assert moved == pytest.approx(scores[:, order], abs=1e-6)
