# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model server's sessions: `Supply` makes the runner of each, `Tally` counts their decisions and errors."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from passpilot.features.point import Point, find_point
from passpilot.plugin.errors import SpecMismatchError, restated
from passpilot.plugin.failures import describe_failure, shown
from passpilot.plugin.process_end import uninterrupted
from passpilot.runners.base import Runner
from passpilot.runners.plurals import counted
from passpilot.runners.remote import wire
from passpilot.runners.spec import RunnerLike, make_runner

_MODELS: Final = ("aot", "onnx")
"""The schemes whose models have fixed inputs."""
FRAME: Final = 1 << 20
"""Bytes of the largest frame, unless the runner reads more or the user wants it."""
LONGEST_NOTICE: Final = 1000
"""The most characters of an error in a server's own output."""
MOST_NOTICES: Final = 50
"""The most such lines in a minute, so that clients cannot fill a log, or a pipe that nobody reads."""


class Notices:
    """Shows lines about clients by `show`: at most `most` in a minute, and how many were left out."""

    def __init__(self, show: Callable[[str], object], most: float = MOST_NOTICES) -> None:
        self._show, self._most = show, most
        self._lock = threading.Lock()
        self._minute = 0
        self._count = 0

    def __call__(self, text: str) -> None:
        minute = int(time.monotonic() // 60)
        with self._lock:
            left_out = self._count - self._most
            self._count = self._count + 1 if minute == self._minute else 1
            self._minute = minute
            count = self._count
        if left_out > 0 and count == 1:
            self._show(f"{counted(int(left_out), 'line')} about clients left out")
        if count <= self._most:
            self._show(text[:LONGEST_NOTICE])


class Supply:
    """Makes the runners that `spec` names; any thread may call it.

    The first runner is made at once, so that a wrong spec shows early; the first session takes it. A session
    whose frame would have more than `frame` bytes is refused, unless the first runner's is as large.

    Raises:
        SpecMismatchError: the runner is a model that reads what `point` does not offer.
        Error: the runner cannot be made.
    """

    def __init__(self, spec: RunnerLike, point: str, timeout: float, frame: int = FRAME) -> None:
        self.frame = frame
        """Bytes of the largest frame."""
        self.name = shown(str(spec))
        """The runner's text, for people."""
        self._spec = spec
        self._timeout = timeout
        self._point = find_point(point)
        self._lock = threading.Lock()
        self._spare: Runner | None = None
        try:
            self._spare = make_runner(spec, self._point, timeout=timeout)
            self.frame = max(frame, wire.frame_size(self._spare.inputs))
        except SpecMismatchError as error:
            if str(spec).partition(":")[0] in _MODELS:
                hint = "name another point with --point, or the file of its custom features with --load"
                raise restated(error, f"{error}; {hint}") from error
            # A decision function may ask for features that only its clients have registered.

    def runner_for(self, point: Point) -> Runner:
        """A runner for a client that offers the tensors of `point`.

        Raises:
            SpecMismatchError: the client has another decision point, or offers too little.
            Error: the runner cannot be made.
        """
        spare = self._take_spare()
        if spare is not None:
            if point == self._point:
                return spare
            spare.close()
        if point.name != self._point.name:
            msg = f"expected a client of the decision point {self._point.name}, got one of {point.name}"
            raise SpecMismatchError(msg)
        runner = make_runner(self._spec, point, timeout=self._timeout)
        if (size := wire.frame_size(runner.inputs)) > self.frame:
            runner.close()
            msg = f"expected tensors of at most {self.frame} bytes, got {size}; see serve --frame"
            raise SpecMismatchError(msg)
        return runner

    def close(self) -> None:
        """Close the runner that no session took. Idempotent."""
        if (spare := self._take_spare()) is not None:
            spare.close()

    def _take_spare(self) -> Runner | None:
        with self._lock:
            spare, self._spare = self._spare, None
        return spare


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
        self.notice: Final = Notices(notice, math.inf if verbose else MOST_NOTICES)
        """Shows a line in the server's own output."""
        self._verbose = verbose
        self._lock = threading.Lock()
        self._sessions = 0
        self._total = SessionCount()

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
            uninterrupted(lambda: self._end(name, count, time.monotonic() - begin))

    def _end(self, name: str, count: SessionCount, seconds: float) -> None:
        with self._lock:
            self._total.decisions += count.decisions
            self._total.errors += count.errors
        if self._verbose:
            self.notice(f"{name}: {count} in {seconds:.1f} s")

    def __str__(self) -> str:
        with self._lock:
            return f"{counted(self._sessions, 'session')}, {self._total}"
