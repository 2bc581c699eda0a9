# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`stop_on_signals`: ends a server on SIGTERM, SIGINT and SIGHUP, even if a runner swallows exceptions."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Final

from passpilot.plugin.process_end import heeded, is_vulnerable

_REPEAT_EVERY: Final = 0.05


class Stopped(KeyboardInterrupt):
    """A signal asks the server to end. It is not an Exception, so that no `except Exception` swallows it."""


def stop_signals() -> tuple[signal.Signals, ...]:
    """The signals that end a server: SIGTERM, and SIGINT and SIGHUP unless they are ignored."""
    return signal.SIGTERM, *heeded(signal.SIGINT, signal.SIGHUP)


@contextlib.contextmanager
def stop_on_signals(*more: signal.Signals) -> Iterator[threading.Event]:
    """Let `stop_signals` and `more` raise `Stopped` in the main thread, once; set the event that it yields.

    The event tells the server to stop if a runner swallows `Stopped`.
    If a signal comes just before a blocking system call, Python's handler does not run. Therefore another
    thread notices the signal, too, and repeats it until it is handled.
    """
    numbers = (*stop_signals(), *more)
    stopping = threading.Event()

    def stop(number: int, frame: FrameType | None) -> None:
        if is_vulnerable(frame):
            return  # the signal is repeated
        for other in numbers:
            signal.signal(other, signal.SIG_IGN)  # no signal may interrupt the clean-up
        stopping.set()
        raise Stopped(number)

    handlers = {number: signal.signal(number, stop) for number in numbers}
    try:
        with _repeated(numbers):
            yield stopping
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _repeated(numbers: tuple[signal.Signals, ...]) -> Iterator[None]:
    """After the first of these signals, repeat it to this thread until the end of the block."""
    reader, writer = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(writer, False)
    ended = threading.Event()
    thread = threading.get_ident()

    def repeat() -> None:
        while not ended.is_set():
            for number in os.read(reader, 16):
                while number in numbers and not ended.wait(_REPEAT_EVERY):
                    signal.pthread_kill(thread, number)

    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    repeater = threading.Thread(target=repeat, name="passpilot-serve-signals", daemon=True)
    repeater.start()
    try:
        yield
    finally:
        ended.set()
        os.write(writer, b"\0")
        repeater.join()
        signal.set_wakeup_fd(woken)
        os.close(reader)
        os.close(writer)
