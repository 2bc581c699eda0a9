# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machines of an engine."""

from __future__ import annotations

import os
import time

import pytest

from passpilot.plugin.errors import CompilationError, UsageError
from passpilot.training.machines.local import Machines, machines


def test_this_machine_has_its_processors_unless_told_otherwise() -> None:
    with machines("local") as whole, machines("local", jobs=3) as some:
        assert whole == Machines(len(os.sched_getaffinity(0)))
        assert some == Machines(3)
    with pytest.raises(UsageError, match="has no effect without --engine=ray"), machines("local", "host:1"):
        pass


def test_results_come_in_order_and_are_told_at_once() -> None:
    told: list[tuple[int, object]] = []
    calls = [lambda number=number: number * 2 for number in range(5)]
    for together in (1, 3):
        told.clear()
        made = Machines(2).run("test", calls, 60, lambda index, each: told.append((index, each)), together)
        assert made == [0, 2, 4, 6, 8]
        assert sorted(told) == list(enumerate(made))


def test_a_call_that_takes_too_long_is_an_error() -> None:
    (slow,) = Machines(2).run("test", [lambda: time.sleep(60)], 0.2)
    assert isinstance(slow, CompilationError)
    assert str(slow).startswith("test, isolated: expected it to end within 0.2 s, got silence")
