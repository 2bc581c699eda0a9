# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import errno
import os
import socket
import threading

import pytest

from passpilot.plugin.errors import PeerError
from passpilot.runners.remote.fifo import FifoChannel
from passpilot.runners.remote.watch import LATE, Watch, pipe_watch
from tests.runners.serving.serving import GENEROUS


class Woken(Watch):
    """Fails at its first attempt to wake the reader."""

    def __init__(self) -> None:
        self.tries = 0
        self.woken = threading.Event()
        super().__init__("x", 0.05, self.wake)

    def wake(self) -> None:
        self.tries += 1
        if self.tries < 3:
            raise OSError(errno.EMFILE, "Too many open files")
        self.woken.set()


def test_a_reader_that_cannot_be_woken_at_first_is_woken_later() -> None:
    watch = Woken()
    watch.steps += 1
    try:
        assert watch.woken.wait(GENEROUS)
    finally:
        watch.stop()
    assert (watch.tries, watch.fired) == (3, True)


class Clock:
    """Replaces `time` in the watch, whose thread polls it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tick = 0.0
        """How much later it is at every look; the watch looks every 0.003 seconds."""
        self._looks = threading.Semaphore(0)

    def monotonic(self) -> float:
        self._looks.release()
        self.now += self.tick
        return self.now

    def seen(self) -> None:
        """Wait until the watch has seen the current state: until its third look from now."""
        while self._looks.acquire(blocking=False):
            pass
        for _ in range(3):
            assert self._looks.acquire(timeout=GENEROUS)

    def passes(self, seconds: float) -> None:
        """Go on in steps that are shorter than the watch's looks are apart."""
        for _ in range(round(seconds / 0.002)):
            self.now += 0.002
            self.seen()


def test_questions_may_take_longer_together(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("passpilot.runners.remote.watch.time", clock)
    watch = Woken()
    try:
        for _ in range(4):
            watch.steps += 1
            clock.seen()
            clock.passes(0.04)
            watch.steps += 1
        assert watch.tries == 0
        watch.steps += 1
        clock.seen()
        clock.tick = 0.002
        assert watch.woken.wait(GENEROUS)
    finally:
        watch.stop()


def test_the_time_for_which_a_process_was_stopped_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr("passpilot.runners.remote.watch.time", clock)
    watch = Woken()
    try:
        watch.steps += 1
        clock.seen()
        clock.now += 1000
        clock.seen()
        assert watch.tries == 0
    finally:
        watch.stop()


def test_a_late_question_ends_by_what_the_watch_writes() -> None:
    channel = FifoChannel("pipe:x", *os.pipe())
    watch = pipe_watch(channel, 0.05)
    watch.steps += 1
    try:
        assert channel.reader.read(100) == LATE
    finally:
        watch.stop()
        channel.close()


def test_an_end_that_cannot_be_written_to_is_refused_at_once() -> None:
    ours, theirs = socket.socketpair()
    channel = FifoChannel("pipe:x", ours.detach(), os.open(os.devnull, os.O_WRONLY))
    with theirs, pytest.raises(PeerError, match=r"pipe:x: expected /proc/self/fd/\d+ to write to, got: "):
        pipe_watch(channel, GENEROUS)
    channel.close()


def test_a_process_that_ends_does_not_wait_for_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Daemon threads stand still then, with or without the lock."""
    watch = Watch("test", GENEROUS, lambda: None)
    with monkeypatch.context() as patch, watch.lock:
        patch.setattr("passpilot.runners.remote.watch.sys.is_finalizing", lambda: True)
        ended = threading.Thread(target=watch.stop, daemon=True)
        ended.start()
        ended.join(GENEROUS)
        assert not ended.is_alive()
    watch.stop()
