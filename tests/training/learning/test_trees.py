# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boosted trees: where they begin, when they end, and what they keep."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.spec import TensorSpec
from passpilot.training.data.matrix import Examples
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.settings import TreeSettings
from passpilot.training.learning.trees import PER_THREAD, TreeLearner
from tests.command import run
from tests.training.learning.examples import arranged, decided

QUICK = TreeSettings(rounds=7, leaves=3, least_rows=1)


def learner_of(
    data: Examples, settings: TreeSettings = QUICK, other: Examples | None = None, jobs: int = 1
) -> TreeLearner:
    """A learner of decisions."""
    return TreeLearner(settings, 1, data, other, Scaling(), jobs)


def flags(count: int = 40) -> Examples:
    """Decisions that are yes for every fourth, and for large numbers."""
    numbers = [[float(at)] for at in range(count)]
    return decided(arranged(Flag()), numbers, [float(at % 4 == 0 or at > 30) for at in range(count)])


def sigmoid(values: np.ndarray) -> list[float]:
    """Probabilities."""
    return (1 / (1 + np.exp(-values.astype(np.float64)))).ravel().tolist()


def test_before_the_first_round_the_scores_are_those_of_all_decisions() -> None:
    weighed = decided(arranged(Flag()), [[1], [2], [3]], [1, 0, 0], weights=[3, 1, 0])
    made = learner_of(weighed)
    assert sigmoid(made.scores(weighed.flat)) == pytest.approx([0.75] * 3)
    assert sigmoid(made.validation_scores()) == pytest.approx([0.75] * 3)
    assert made.describe() == "0 boosted trees of up to 3 leaves (LightGBM)"
    always = decided(arranged(Flag()), [[1], [2]], [1, 1])
    assert sigmoid(learner_of(always).scores(always.flat)) == pytest.approx([1 - 1e-6] * 2)
    numbers = decided(arranged(Number(0, 99)), [[1], [2]], [2, 6], weights=[3, 1])
    assert learner_of(numbers).scores(numbers.flat).tolist() == [[3], [3]]
    choices = decided(arranged(Choice(3)), [[1], [2]], [2, 0], weights=[3, 1])
    (row, _) = np.exp(learner_of(choices).scores(choices.flat))
    assert row.tolist() == pytest.approx([0.25, 0, 0.75], abs=1e-3)
    assert row[1] > 0


def test_no_more_rounds_are_made_than_the_settings_want() -> None:
    made = learner_of(flags())
    counts = []
    for _ in range(4):
        made.advance(3)
        counts.append(made.rounds)
    assert counts == [3, 6, 7, 7]
    assert (made.most_rounds, made.describe()) == (7, "7 boosted trees of up to 3 leaves (LightGBM)")


def test_training_ends_where_no_tree_can_be_split() -> None:
    same = decided(arranged(Flag()), [[1]] * 40, [0, 1] * 20)
    made = learner_of(same)
    made.advance(3)
    assert made.rounds == made.most_rounds < 7
    again = learner_of(same)
    again.restore(made.state())
    assert again.most_rounds == made.rounds


def test_scores_of_validation_are_those_of_its_decisions() -> None:
    other = decided(arranged(Flag()), [[4], [35], [7]], [1, 1, 0])
    made, alone = learner_of(flags(), other=other), learner_of(flags())
    for each in (made, alone):
        each.advance(2)
        each.advance(2)
    assert made.validation_scores() == pytest.approx(made.scores(other.flat), abs=1e-6)
    assert len(made.validation_scores()) == 3
    assert alone.validation_scores() == pytest.approx(alone.scores(flags().flat), abs=1e-6)


def test_a_state_goes_on_as_it_would_have() -> None:
    whole, first = learner_of(flags()), learner_of(flags())
    for each in (whole, first):
        each.advance(2)
        each.advance(1)
    second = learner_of(flags())
    second.advance(5)
    second.restore(first.state())
    assert second.rounds == 3
    for each in (whole, second):
        each.advance(2)
    assert (second.scores(flags().flat) == whole.scores(flags().flat)).all()
    assert (second.validation_scores() == whole.validation_scores()).all()


def test_columns_are_rated_by_the_legal_ones() -> None:
    columns = TensorSpec("x", "float32", (1, 3))
    random = np.random.default_rng(1)
    flat = random.integers(0, 50, (60, 3)).astype(float)
    mask = np.ones((60, 3), int)
    mask[::2, 2] = 0
    labels = np.where(mask > 0, flat, -1).argmax(axis=1)
    data = decided(arranged(Choice(3), columns), flat.tolist(), labels.tolist(), mask=mask.tolist())
    made = learner_of(data, TreeSettings(rounds=40, leaves=7, least_rows=1))
    made.advance(40)
    assert (data.decide(made.scores(data.flat)) == labels).mean() > 0.9
    unmasked = decided(arranged(Choice(3), columns), flat.tolist(), flat.argmax(axis=1).tolist())
    whole = learner_of(unmasked, TreeSettings(rounds=40, leaves=7, least_rows=1))
    whole.advance(40)
    assert (unmasked.decide(whole.scores(unmasked.flat)) == flat.argmax(axis=1)).mean() > 0.9


@pytest.mark.parametrize(
    ("rows", "jobs", "threads"),
    [(10, 8, 1), (2 * PER_THREAD, 8, 2), (2 * PER_THREAD - 1, 8, 1), (4 * PER_THREAD, 3, 3)],
)
def test_threads_are_worth_their_rows(rows: int, jobs: int, threads: int) -> None:
    data = decided(arranged(Flag()), np.zeros((rows, 1)).tolist(), [0.0] * rows)
    assert learner_of(data, jobs=jobs)._parameters(0)["num_threads"] == threads


def test_all_settings_reach_lightgbm() -> None:
    settings = TreeSettings(9, 5, 0.25, 4, 1.5, 0.75, 0.5, 63, extra=True, smoothing=2.0)
    told = learner_of(flags(), settings)._parameters(2)
    wanted = {
        "objective": "binary", "num_leaves": 5, "learning_rate": 0.25, "min_data_in_leaf": 4,
        "lambda_l2": 1.5, "feature_fraction": 0.75, "bagging_fraction": 0.5, "bagging_freq": 1,
        "max_bin": 63, "extra_trees": True, "path_smooth": 2.0, "deterministic": True, "seed": 1_000_005,
    }  # fmt: skip
    assert {name: told[name] for name in wanted} == wanted
    assert "bagging_fraction" not in learner_of(flags())._parameters(0)
    numbers = decided(arranged(Number(0, 9)), [[1], [2]], [2, 6])
    choices = decided(arranged(Choice(3)), [[1], [2]], [2, 0])
    assert learner_of(numbers)._parameters(0)["objective"] == "regression"
    assert learner_of(choices)._parameters(0)["num_class"] == 3


def test_a_system_without_shared_memory_is_no_news(tmp_path: Path) -> None:
    """LightGBM imports joblib, whose warning showed its own source; training has no use for semaphores."""
    code = (
        "import errno, _multiprocessing\n"
        "def refused(*_, **__): raise OSError(errno.EROFS, 'Read-only file system')\n"
        "_multiprocessing.SemLock = refused\n"
        "import passpilot.training.learning.trees, joblib._multiprocessing_helpers as joblib\n"
        "assert joblib.mp is None\n"
    )
    done = run(sys.executable, "-c", code, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
