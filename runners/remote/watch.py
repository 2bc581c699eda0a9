# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Watch`: keeps the deadline of questions to another process without a system call per question."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from passpilot.plugin.errors import PeerError
from passpilot.runners.remote.fifo import FifoChannel
from passpilot.runners.remote.wire import ANSWER_SIZE

LATE: Final = b"\xff" * ANSWER_SIZE


class Watch:
    """Ends a question that takes longer than `timeout` seconds, although its thread blocks in a read.

    A poll before each read would cost a fifth of a round trip over a pipe. Instead the runner counts `steps`,
    odd while it waits, and a thread looks at the count now and then. When the count has been the same odd
    number for too long, the thread calls `wake`, which makes the read return. Between two looks hardly more
    time counts than they are apart: a process or machine that was stopped for a while goes on waiting.
    """

    __slots__ = ("__weakref__", "_stopped", "_thread", "_timeout", "_wake", "fired", "lock", "steps")

    def __init__(self, who: str, timeout: float, wake: Callable[[], object]) -> None:
        self.steps = 0
        self.fired = False
        self.lock = threading.Lock()
        self._timeout = timeout
        self._wake = wake
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"passpilot-{who}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; `wake` is not called any more."""
        if sys.is_finalizing():  # daemon threads stand still where they are; Python 3.13 would wait for them
            return
        with self.lock:
            self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        apart = min(1.0, self._timeout / 16)
        seen, waited, last = 0, 0.0, time.monotonic()
        while not self._stopped.wait(apart):
            now = time.monotonic()
            if self.steps != seen or seen % 2 == 0:
                seen, waited = self.steps, 0.0
            else:
                waited += min(now - last, 2 * apart)
                if waited >= self._timeout and self._fire(seen):
                    return
            last = now

    def _fire(self, seen: int) -> bool:
        with self.lock:
            if self.steps != seen or self._stopped.is_set():
                return False
            self.fired = True
            with contextlib.suppress(OSError):  # no descriptor is free now; the next look tries again
                self._wake()
                return True
            return False


def pipe_watch(channel: FifoChannel, timeout: float) -> Watch:
    """A watch that writes `LATE`, which no server sends, into the FIFO that the runner reads from.

    Raises:
        PeerError: the FIFO cannot be written to.
    """
    own_end = f"/proc/self/fd/{channel.reader.fileno()}"  # the FIFO has no other name any more
    try:
        _write(own_end, b"")
    except OSError as error:
        expected = f"{channel.who}: expected {own_end} to write to, got: {error.strerror}"
        raise PeerError(f"{expected}; pipe: needs a mounted /proc and FIFOs that this user owns") from error
    return Watch(channel.who, timeout, partial(_write, own_end, LATE))


def _write(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
