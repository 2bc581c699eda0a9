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
from passpilot.training.learning.network import Network, loss_slope

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
