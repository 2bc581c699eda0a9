# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Geometric means with intervals, and ratios of pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from passpilot.training.evaluation.results import mean_ratio
from passpilot.training.timing.paired_times import paired_ratio


def test_a_geometric_mean() -> None:
    made = mean_ratio([0.5, 2.0, 1.0])
    assert made
    assert made["ratio"] == pytest.approx(1.0)
    assert made["low"] is not None
    assert made["high"] is not None
    assert made["low"] == pytest.approx(0.5)
    assert made["high"] == pytest.approx(2.0)
    assert made["programs"] == 3
    assert mean_ratio([]) is None


def test_few_values_have_no_interval() -> None:
    made = mean_ratio([0.9, 0.8])
    assert made
    assert (made["low"], made["high"]) == (None, None)


def test_the_bootstrap_covers_as_it_says() -> None:
    """Of intervals over 30 draws from a known distribution, nearly 95 % hold its mean."""
    draw = np.random.default_rng(4)
    held = 0
    for _ in range(80):
        made = mean_ratio(np.exp(draw.normal(-0.05, 0.04, 30)).tolist())
        assert made
        assert made["low"] is not None
        assert made["high"] is not None
        held += made["low"] <= math.exp(-0.05) <= made["high"]
    assert 68 <= held <= 79


def test_a_ratio_of_pairs_ignores_what_slows_both() -> None:
    load = [1.0, 3.0, 0.5, 2.0, 1.5]
    made = paired_ratio([0.9 * each for each in load], load)
    assert made
    assert made["ratio"] == pytest.approx(0.9)
    assert made["low"] == pytest.approx(0.9)
    assert made["pairs"] == 5


def test_a_ratio_of_pairs_has_students_interval() -> None:
    made = paired_ratio([1.1, 0.9, 1.0], [1.0, 1.0, 1.0])
    assert made
    assert made["low"] is not None
    logs = np.log([1.1, 0.9, 1.0])
    half = 4.303 * logs.std(ddof=1) / math.sqrt(3)
    assert made["low"] == pytest.approx(math.exp(logs.mean() - half))
    assert paired_ratio([], []) is None


@pytest.mark.parametrize(
    ("pairs", "quantile"), [(3, 4.303), (4, 3.182), (16, 2.131), (30, 2.045), (31, 2.042), (32, 1.96)]
)
def test_the_interval_has_the_quantile_of_its_pairs(pairs: int, quantile: float) -> None:
    times = [1 + 0.01 * number for number in range(pairs)]
    made = paired_ratio(times, [1.0] * pairs)
    assert made
    logs = np.log(times)
    half = quantile * logs.std(ddof=1) / math.sqrt(pairs)
    assert made["low"] == pytest.approx(math.exp(logs.mean() - half))
    assert made["high"] == pytest.approx(math.exp(logs.mean() + half))


def test_pairs_without_a_time_do_not_count() -> None:
    made = paired_ratio([2.0, 0.0, 3.0], [1.0, 1.0, 0.0])
    assert made == {"ratio": pytest.approx(2.0), "low": None, "high": None, "pairs": 1}
    assert paired_ratio([0.0], [1.0]) is None
    assert paired_ratio([1.0], [0.0]) is None
