# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Agreement`: how a policy treats decisions beside their labels."""

from __future__ import annotations

import numpy as np
import pytest

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.point import find_point
from passpilot.training.data.matrix import Arrangement, Examples
from passpilot.training.learning.learner import Scaling, loss_name
from passpilot.training.learning.metrics import Agreement, loss
from tests.training.learning.examples import arranged, decided


def test_wrong_deviations_cost_what_the_compilers_decision_gains() -> None:
    count = 4
    examples = Examples(
        Arrangement.of(find_point("inline"), ["cost_estimate"]),
        np.zeros((count, 1), np.float32),
        labels=np.array([1.0, 1.0, 0.0, 1.0]),
        default=np.array([0.0, 0.0, 0.0, 1.0]),
        mask=None,
        weights=np.ones(count),
        programs=np.zeros(count, np.int32),
        names=["program"],
        gains=np.array([10.0, 6.0, 4.0, 3.0]),
    )
    made = Agreement.of(examples, np.array([[1], [-1], [1], [1]], np.float32), Scaling())
    assert (made.agreement, made.default, made.changed) == (0.5, 0.5, 2)
    assert (made.found, made.right) == (0.5, 0.5)
    assert made.kept == (10 - 4) / (10 + 6)


def scores_of(*rows: float | list[float]) -> np.ndarray:
    """Scores [N, columns]."""
    return np.array([np.atleast_1d(row) for row in rows], np.float32)


def test_numbers_agree_within_a_thousandth_of_their_deviation() -> None:
    labels = [100.0, 300.0, 500.0, 500.0]
    deviation = float(np.std(labels))
    data = decided(arranged(Number(0, 600)), [[0]] * 4, labels, default=[100, 300, 500, 0])
    scaling = Scaling(300, 200)
    near, far = (share * deviation / 200 for share in (0.9e-3, 1.1e-3))
    made = Agreement.of(data, scores_of(-1 + near, far, 1, 1), scaling)
    assert made.agreement == 0.75
    assert (made.default, made.changed, made.found) == (0.5, 1, 1)
    same = decided(arranged(Number(0, 600)), [[0]] * 2, [7, 7])
    assert Agreement.of(same, scores_of(0.0009, 0.0011), Scaling(7, 1)).agreement == 0.5


def test_numbers_are_measured_as_the_domain_allows() -> None:
    data = decided(arranged(Number(-1, 1)), [[0]] * 2, [1, -1])
    assert Agreement.of(data, scores_of(50, -50), Scaling()).agreement == 1


def test_without_changes_and_gains_nothing_is_found_or_kept() -> None:
    data = decided(arranged(Flag()), [[0]] * 2, [0, 1], default=[0, 1], gains=[5, 5])
    made = Agreement.of(data, scores_of(-1, 1), Scaling())
    assert (made.agreement, made.found, made.right, made.kept) == (1, 0, 0, 0)
    assert made.text() == "100.00% of 2 decisions as labelled"
    changed = decided(arranged(Flag()), [[0]] * 2, [1, 1], default=[0, 1])
    made = Agreement.of(changed, scores_of(1, 1), Scaling())
    assert made.text() == "100.00% of 2 decisions as labelled; of 1 that are not the compiler's own, 100.0%"
    gaining = decided(arranged(Flag()), [[0]] * 2, [1, 0], default=[0, 1], gains=[3, 1])
    made = Agreement.of(gaining, scores_of(1, 1), Scaling())
    assert made.text().endswith("; of 2 that are not the compiler's own, 50.0%; 75% of their gain")


def test_yes_is_from_zero_on() -> None:
    data = decided(arranged(Flag()), [[0]] * 2, [1, 0])
    assert Agreement.of(data, scores_of(0, -1e-6), Scaling()).agreement == 1


def test_the_losses() -> None:
    flags = decided(arranged(Flag()), [[0]] * 2, [1, 0], weights=[3, 1])
    assert loss(flags, scores_of(2, 0), Scaling()) == pytest.approx(
        (3 * np.log(1 + np.exp(-2)) + np.log(2)) / 4
    )
    numbers = decided(arranged(Number(0, 99)), [[0]] * 2, [30, 10], weights=[1, 3])
    assert loss(numbers, scores_of(1, 0), Scaling(10, 5)) == pytest.approx((3**2 + 0) / 4)
    free = decided(arranged(Choice(3)), [[0]], [2])
    assert loss(free, scores_of([1, 2, 3]), Scaling()) == pytest.approx(
        np.log(np.exp([1, 2, 3]).sum()) - 3, abs=1e-6
    )
    masked = decided(arranged(Choice(3)), [[0]], [1], mask=[[1, 1, 0]])
    assert loss(masked, scores_of([500, 500, 900]), Scaling()) == pytest.approx(np.log(2))


def test_what_losses_are_called() -> None:
    names = [loss_name(each) for each in (Flag(), Choice(2), Number(0, 1))]
    assert names == ["log loss", "log loss", "mean squared error"]
