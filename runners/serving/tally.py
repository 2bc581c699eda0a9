# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Tally`: counts the sessions, decisions and errors of a model server."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from passpilot.runners.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class SessionCount:
    """The counts of one session; its thread changes them."""

    __slots__ = ("decisions", "errors")

    def __init__(self) -> None:
        self.decisions = 0
        """The questions that were answered with an advice."""
        self.errors = 0
        """The questions that were answered with an error."""

    def __str__(self) -> str:
        return f"{counted(self.decisions, 'decision')}, {counted(self.errors, 'error')}"


class Tally:
    """The counts of all sessions that have ended; any thread may call it.

    With `verbose`, `notice` is called with a line at the beginning and the end of each session.
    """

    def __init__(self, notice: Callable[[str], object], *, verbose: bool = False) -> None:
        self._notice = notice if verbose else lambda _: None
        self._lock = threading.Lock()
        self._sessions = 0
        self._total = SessionCount()

    @contextmanager
    def session(self, client: str) -> Iterator[SessionCount]:
        """Count a session while the block serves `client`."""
        with self._lock:
            self._sessions += 1
            name = f"session {self._sessions}"
        self._notice(f"{name}: {client}")
        count, begin = SessionCount(), time.monotonic()
        try:
            yield count
        finally:
            with self._lock:
                self._total.decisions += count.decisions
                self._total.errors += count.errors
            self._notice(f"{name}: {count} in {time.monotonic() - begin:.1f} s")

    def __str__(self) -> str:
        with self._lock:
            return f"{counted(self._sessions, 'session')}, {self._total}"
