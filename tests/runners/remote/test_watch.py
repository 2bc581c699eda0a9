# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Watch`: which time counts towards a deadline."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from passpilot.runners.remote import watch


class Recorder(watch.Watch):
    """Says when the deadline has passed."""

    __slots__ = ("woken",)

    def __init__(self, timeout: float) -> None:
        self.woken = threading.Event()
        super().__init__("a test", timeout)

    def _wake(self) -> None:
        self.woken.set()


def test_the_time_for_which_a_process_was_stopped_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock jumps by a thousand seconds at the fourth look; sixteen looks are within the deadline."""
    looks = 0

    def monotonic() -> float:
        nonlocal looks
        looks += 1
        return looks / 100 + (1000 if looks > 4 else 0)

    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=monotonic))
    waiting = Recorder(0.16)
    waiting.steps = 1
    assert waiting.woken.wait(60)
    assert looks > 14
    waiting.stop()
