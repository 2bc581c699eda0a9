# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A policy for `advised-vectorize`: width 4, interleaved twice, where that is allowed."""

from passpilot import VECTOR_PLANS

CHOICE = VECTOR_PLANS.index((4, 2))


def four_twice(obs):
    return CHOICE if obs["mask"][0, CHOICE] else 0
