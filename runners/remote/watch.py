# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The deadline of a question to another process, at no system call per question."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import PeerError
from passpilot.runners.remote.wire import ANSWER_SIZE

if TYPE_CHECKING:
    from passpilot.runners.remote.fifo import FifoChannel

LATE: Final = b"\xff" * ANSWER_SIZE


class Watch(ABC):
    """Ends a question that has lasted for `timeout` seconds, though its thread blocks in a read.

    A poll before each read would cost a fifth of a whole round trip over a pipe. So the runner counts
    `steps`, odd while it waits, and a thread looks at the count now and then. When it has been the same odd
    number for too long, the thread makes the read return.
    """

    __slots__ = ("__weakref__", "_stopped", "_thread", "_timeout", "fired", "lock", "steps")

    def __init__(self, who: str, timeout: float) -> None:
        self.steps = 0
        self.fired = False
        self.lock = threading.Lock()
        self._timeout = timeout
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"passpilot-{who}", daemon=True)
        self._thread.start()

    @abstractmethod
    def _wake(self) -> None:
        """Make the read return that the runner blocks in."""

    def stop(self) -> None:
        """Stop watching; what `_wake` needs is not touched any more."""
        with self.lock:
            self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        seen = since = 0.0
        while not self._stopped.wait(min(1.0, self._timeout / 16)):
            now = time.monotonic()
            if self.steps != seen or seen % 2 == 0:
                seen, since = self.steps, now
            elif now - since >= self._timeout and self._fire(seen):
                return

    def _fire(self, seen: float) -> bool:
        with self.lock:
            if self.steps != seen or self._stopped.is_set():
                return False
            self.fired = True
            with contextlib.suppress(OSError):  # no descriptor is left now; the next look tries again
                self._wake()
                return True
            return False


class PipeWatch(Watch):
    """Writes bytes of its own, which no server sends, into the FIFO that the runner reads from."""

    __slots__ = ("_own_end",)

    def __init__(self, channel: FifoChannel, timeout: float) -> None:
        self._own_end = f"/proc/self/fd/{channel.reader.fileno()}"  # its name has been removed
        try:
            self._write(b"")
        except OSError as error:
            msg = f"{channel.who}: expected {self._own_end} to write to, got: {error.strerror}; "
            raise PeerError(f"{msg}pipe: needs a mounted /proc, and FIFOs of one's own") from error
        super().__init__(channel.who, timeout)

    def _wake(self) -> None:
        self._write(LATE)

    def _write(self, data: bytes) -> None:
        descriptor = os.open(self._own_end, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
