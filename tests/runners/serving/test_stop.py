# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Signals that end a server or an attached compiler, and that nothing of them stays behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from passpilot.runners.attach.child import Wake, waking
from passpilot.runners.serving.sessions import Tally
from passpilot.runners.serving.stop import Stopped, stop_on_signals, stop_signals
from tests.command import GENEROUS

ALL = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def held() -> tuple[list[object], int]:
    """The handlers and the wake-up descriptor."""
    woken = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(woken)
    handlers: list[object] = [signal.getsignal(number) for number in ALL]
    return handlers, woken


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    before, descriptors = held(), len(os.listdir("/proc/self/fd"))
    yield
    assert held() == before
    assert len(os.listdir("/proc/self/fd")) <= descriptors
    assert "passpilot-serve-signals" not in [thread.name for thread in threading.enumerate()]


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)
    threading.Event().wait(GENEROUS)  # the signal interrupts this


@pytest.mark.parametrize("number", ALL)
def test_a_signal_stops_the_server(number: signal.Signals) -> None:
    with stop_on_signals() as stopping:
        assert not stopping.is_set()
        with pytest.raises(Stopped) as caught:
            send(number)
        assert caught.value.args == (number,)
        assert not isinstance(caught.value, Exception)
        assert stopping.is_set()
        for other in ALL:
            os.kill(os.getpid(), other)  # no signal disturbs the end


def test_a_signal_at_the_end_of_a_session_waits_until_it_is_counted() -> None:
    said: list[str] = []

    def interrupted(line: str) -> None:
        if "decision" in line:
            os.kill(os.getpid(), signal.SIGTERM)
            os.getpid()  # Python handles the signal here
        said.append(line)

    tally = Tally(interrupted, verbose=True)

    def serve() -> None:
        with tally.session("a") as count:
            count.decisions += 1
        threading.Event().wait(GENEROUS)

    with stop_on_signals(), pytest.raises(Stopped):
        serve()
    assert [line.partition(" in ")[0] for line in said] == ["session 1: a", "session 1: 1 decision, 0 errors"]
    assert str(tally) == "1 session, 1 decision, 0 errors"


def test_without_a_signal_all_is_as_before() -> None:
    with stop_on_signals() as stopping:
        assert all(callable(signal.getsignal(number)) for number in ALL)
    assert not stopping.is_set()
    with pytest.raises(ValueError, match="by itself"), stop_on_signals():
        raise ValueError("by itself")


def test_ignored_signals_stay_ignored() -> None:
    assert stop_signals() == ALL
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert stop_signals() == (signal.SIGTERM, signal.SIGINT)
        with stop_on_signals() as stopping, waking():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGHUP)
            assert not stopping.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


def waited(wake: Wake, descriptor: int) -> int:
    return wake.wait(descriptor, GENEROUS)


@pytest.mark.parametrize("number", ALL)
def test_a_signal_wakes_who_watches_a_compiler(number: signal.Signals) -> None:
    reader, writer = os.pipe()
    with waking() as wake:
        assert wake.wait(reader, 0) == 0
        wake()
        assert waited(wake, reader) == 0
        os.kill(os.getpid(), number)
        wake()
        assert waited(wake, reader) == number
        assert wake.wait(reader, 0) == 0
        os.write(writer, b"x")
        assert waited(wake, reader) == 0
        for _ in range((1 << 16) + 1):  # more than the pipe holds
            wake()
        assert waited(wake, reader) == 0
    os.close(reader)
    os.close(writer)
