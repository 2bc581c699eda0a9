# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`NetworkLearner`: its steps are Adam's, its rate falls, and it sees all decisions in batches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.spec import TensorSpec
from passpilot.training.data.matrix import Examples
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.network import Network
from passpilot.training.learning.network_learner import NetworkLearner, sigmoid, softmax
from passpilot.training.learning.settings import NetworkSettings
from tests.training.learning.examples import arranged, decided


def learner_of(
    data: Examples, settings: NetworkSettings, other: Examples | None = None, scaling: Scaling | None = None
) -> NetworkLearner:
    """A linear model that begins at zero."""
    inputs = len(data.arrangement.names)
    network = Network([np.zeros((inputs, 1), np.float32)], [np.zeros(1, np.float32)])
    return NetworkLearner(settings, network, 1, data, other, scaling or Scaling())


def stepped(l2: float) -> np.ndarray:
    """The weight and the bias after the first round, which began at 2 and -2."""
    network = Network([np.full((1, 1), 2, np.float32)], [np.full(1, -2, np.float32)])
    settings = NetworkSettings((), 2, 4, learning_rate=0.5, l2=l2)
    made = NetworkLearner(settings, network, 1, flags(), None, Scaling())
    made.advance(1)
    return made.network.vector()


def flags(weights: list[float] | None = None) -> Examples:
    """Four decisions."""
    numbers = [[-1], [0], [1], [3]]
    return decided(arranged(Flag()), numbers, [0, 0, 1, 1], weights=weights or [])


def test_the_first_step_of_adam_is_the_rate_and_the_decay_of_weights() -> None:
    assert stepped(0) == pytest.approx([2.5, -1.5], abs=1e-4)
    assert stepped(0.1) == pytest.approx([2.5 - 0.1 * 2, -1.5], abs=1e-4), "not that of biases"


def test_steps_are_those_of_adam() -> None:
    data, rounds, rate = flags([1, 2, 1, 1]), 5, 0.05
    made = learner_of(data, NetworkSettings((), rounds, 4, rate, 0.0))
    made.advance(rounds)
    rows = made.statistics.normalize(data.flat).astype(np.float64)
    weight = np.zeros(2)
    mean, square = np.zeros(2), np.zeros(2)
    for step in range(rounds):
        score = rows[:, 0] * weight[0] + weight[1]
        slope = (1 / (1 + np.exp(-score)) - data.labels) * data.weights / 4
        slopes = np.array([(slope * rows[:, 0]).sum(), slope.sum()])
        mean = 0.9 * mean + 0.1 * slopes
        square = 0.999 * square + 0.001 * slopes**2
        change = mean / (1 - 0.9 ** (step + 1)) / (np.sqrt(square / (1 - 0.999 ** (step + 1))) + 1e-8)
        share = 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * step / rounds))
        weight -= rate * share * change
    assert made.network.vector() == pytest.approx(weight, abs=1e-4)


def test_a_decision_counts_by_its_weight() -> None:
    """Decisions that contradict each other: the heavier one wins."""
    for weights, sign in (([3.0, 1.0], 1), ([1.0, 3.0], -1)):
        data = decided(arranged(Flag()), [[0], [0]], [1, 0], weights=weights)
        made = learner_of(data, NetworkSettings((), 30, 2, 0.1))
        made.advance(30)
        assert np.sign(made.scores(data.flat)).ravel().tolist() == [sign] * 2


def test_numbers_are_learned_on_their_scale() -> None:
    data = decided(arranged(Number(-1e6, 1e6)), [[0]] * 2, [1300, 1300])
    made = learner_of(data, NetworkSettings((), 300, 2, 0.1, 0), scaling=Scaling(1000, 100))
    made.advance(300)
    assert made.scores(data.flat) == pytest.approx(np.full((2, 1), 3), abs=0.05)


def test_every_decision_is_seen_once_in_a_round() -> None:
    data = decided(arranged(Flag()), [[at] for at in range(7)], [0.0] * 7)
    made = learner_of(data, NetworkSettings((), 3, 3))
    made.advance(2)
    assert made.state()["counts"].tolist() == [2, 6], "three batches in a round: of three, three and one"
    made.advance(9)
    assert (made.rounds, made.most_rounds) == (3, 3)


def test_scores_for_validation_are_those_of_its_decisions() -> None:
    other = decided(arranged(Flag()), [[9], [8]], [0, 1])
    made = learner_of(flags(), NetworkSettings((), 3, 2), other)
    made.advance(3)
    assert (made.validation_scores() == made.scores(other.flat)).all()
    assert len(learner_of(flags(), NetworkSettings()).validation_scores()) == 4


def test_the_scale_of_columns_is_that_of_the_legal_ones() -> None:
    columns = TensorSpec("x", "float32", (1, 2))
    flat, mask = [[1, 1000], [3, 1000]], [[1, 0], [1, 0]]
    legal = decided(arranged(Choice(2), columns), flat, [0, 0], mask=mask)
    whole = decided(arranged(Choice(2), columns), flat, [0, 0])
    means = [learner_of(each, NetworkSettings()).statistics.mean.item() for each in (legal, whole)]
    assert means[0] == pytest.approx((math.log(2) + math.log(4)) / 2, rel=1e-5)
    assert means[1] == pytest.approx((math.log(2) + math.log(4) + 2 * math.log(1001)) / 4, rel=1e-5)


def test_a_state_is_a_copy() -> None:
    made = learner_of(flags(), NetworkSettings((), 9, 4, 0.1))
    made.advance(2)
    state, scores = made.state(), made.scores(flags().flat)
    made.advance(2)
    assert (made.scores(flags().flat) != scores).any()
    made.restore(state)
    assert (made.rounds, (made.scores(flags().flat) == scores).all()) == (2, True)


def test_probabilities() -> None:
    assert sigmoid(np.array([0, 2, -1000, 1000], np.float32)) == pytest.approx(
        [0.5, 1 / (1 + math.exp(-2)), 0, 1], abs=1e-6
    )
    scores = np.array([[1, 2, 900], [0, 0, 0]], np.float32)
    mask = np.array([[True, True, False], [False, False, False]])
    made = softmax(scores, mask)
    assert made[0].tolist() == pytest.approx([1 / (1 + math.e), math.e / (1 + math.e), 0])
    assert made[1].tolist() == [0, 0, 0], "nothing is legal"
    assert softmax(scores, None)[1].tolist() == pytest.approx([1 / 3] * 3)
