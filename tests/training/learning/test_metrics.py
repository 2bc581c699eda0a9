# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Agreement`: how a policy treats decisions beside their labels."""

from __future__ import annotations

import numpy as np

from passpilot.features.point import find_point
from passpilot.training.data.matrix import Arrangement, Examples
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.metrics import Agreement


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
