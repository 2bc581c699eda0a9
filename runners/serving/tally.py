# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Tally`: counts the sessions, decisions and errors of a model server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from passpilot.plugin.failures import describe_failure
from passpilot.runners.plurals import counted

LONGEST_NOTICE: Final = 1000
"""The most characters of an error in a server's own output."""


class SessionCount:
    """The counts of one session; its thread changes them."""

    __slots__ = ("_tally", "decisions", "errors")

    def __init__(self, tally: Tally | None = None) -> None:
        self._tally = tally
        self.decisions = 0
        """The questions that were answered with an advice."""
        self.errors = 0
        """The questions that were answered with an error."""

    def fail(self, error: BaseException) -> str:
        """Count an error, which goes back to the client as this text; the server shows a session's first."""
        text = describe_failure(error)
        if self._tally and not self.errors:
            self._tally.notice(text)
        self.errors += 1
        return text

    def __str__(self) -> str:
        return f"{counted(self.decisions, 'decision')}, {counted(self.errors, 'error')}"


class Tally:
    """The counts of all sessions that have ended; any thread may call it.

    `notice` is called with one line about every session that fails; with `verbose` also at the beginning and
    the end of each session.
    """

    def __init__(self, notice: Callable[[str], object] = lambda _: None, *, verbose: bool = False) -> None:
        self._notice = notice
        self._verbose = verbose
        self._lock = threading.Lock()
        self._sessions = 0
        self._total = SessionCount()

    def notice(self, text: str) -> None:
        """Show a line in the server's own output."""
        self._notice(text[:LONGEST_NOTICE])

    @contextmanager
    def session(self, client: str) -> Iterator[SessionCount]:
        """Count a session while the block serves `client`."""
        with self._lock:
            self._sessions += 1
            name = f"session {self._sessions}"
        if self._verbose:
            self.notice(f"{name}: {client}")
        count, begin = SessionCount(self), time.monotonic()
        try:
            yield count
        finally:
            with self._lock:
                self._total.decisions += count.decisions
                self._total.errors += count.errors
            if self._verbose:
                self.notice(f"{name}: {count} in {time.monotonic() - begin:.1f} s")

    def __str__(self) -> str:
        with self._lock:
            return f"{counted(self._sessions, 'session')}, {self._total}"
