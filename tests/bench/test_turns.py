# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The yardstick of a machine's speed: what `STARTS` take, relative to a quiet machine."""

from __future__ import annotations

import pytest

from bench.lib.turns import QUIET, STARTS, in_turns, slowness, starts


def test_a_round_times_every_start() -> None:
    times = in_turns(starts(), 2)
    assert times.keys() == STARTS.keys()
    assert all(len(seconds) == 2 and min(seconds) > 0 for seconds in times.values())


@pytest.mark.parametrize(("factor", "slower"), [(0.5, 1), (1, 1), (3, 3)])
def test_slowness_is_that_of_the_least_starts(factor: float, slower: float) -> None:
    share = factor * QUIET / len(STARTS)
    times = dict.fromkeys(STARTS, (9 * share, share, 2 * share))
    assert slowness(times) == pytest.approx(slower)
