# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`InteractiveChannel`: answers an unmodified compiler in LLVM's interactive mode, over a pair of FIFOs.

    BASE.in     our answers; the compiler opens it first        BASE.out    the compiler's questions

`passpilot.runners.foreign.mlgo` defines the messages. The compiler opens both names again for every session.
A compilation has no session, one, or several: a second inliner in the pipeline, the next file of a clang.
LLVM spins or hangs when its peer goes away, so we hold both FIFOs until the compiler is dead. We also open
BASE.in for reading, so that opening and writing never block; of BASE.out we hold only the reading end, so
that we see the end of a session.

One thread per channel blocks in the read, directly into the runner's buffers: a question costs two system
calls. The thread that watches the compiler polls `overdue`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import termios
import threading
import time
from collections.abc import Callable
from typing import Final

from passpilot.plugin.errors import ModelError, PeerError
from passpilot.runners.attach.answers import Answers
from passpilot.runners.foreign import mlgo
from passpilot.runners.remote.wire import MAX_LINE

_CHUNK: Final = 1 << 16
_HEADER: Final = b'{"features"'
_NEWLINE: Final = ord("\n")
_STOP: Final = b"\0"
"""Written by us into BASE.out to end a read; no message begins with it."""
_PARTING: Final = 1.0
"""Seconds to wait for the thread to end; a thread in a function that never returns is abandoned."""


class InteractiveChannel:
    """One decision point's channel to a compiler, from before its start until after its end.

    The thread calls `wake` when it ends. `timeout` in seconds bounds a message from its first byte on; an
    answer may take twice as long, so that a runner's own deadlines come first.
    """

    def __init__(self, base: str, answers: Answers, timeout: float, wake: Callable[[], object]) -> None:
        self.failure: BaseException | None = None
        self.cut: PeerError | None = None
        """The error if a session ended within a message; the compiler's exit code may explain it better."""
        self._out = f"{base}.out"
        self._who = f"{answers.point.name} channel"
        self._answers = answers
        self._timeout = timeout
        self._wake = wake
        self._header: mlgo.Header | None = None
        self._context = ""
        self._numbers: dict[str, int] = {}
        """The next observation's number per context; `_number` is that of the current context."""
        self._pieces: list[memoryview] = []
        self._buffers: list[bytearray | memoryview] = []
        """Buffers of a message: its first line, then the pieces."""
        self._line = bytearray()
        self._question = False
        """Whether the pieces hold a question."""
        self._steps, self._partial, self._seen = 0, 0, (0, 0.0)
        self._stopping, self._stop_written = False, False
        self._stop_lock, self._released = threading.Lock(), threading.Event()
        for name in (f"{base}.in", self._out):
            os.mkfifo(name, 0o600)
        self._write_fd = os.open(f"{base}.in", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._read_fd = self._opened()
        self._thread = threading.Thread(target=self._run, name=f"passpilot-{self._who}", daemon=True)
        self.start = self._thread.start
        """Begin to answer; start the compiler first, as forks and threads do not mix."""

    def _opened(self) -> int:
        return os.open(self._out, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def overdue(self) -> Exception | None:
        """The timeout error, if one is due; call periodically.

        `_steps` is odd while we wait for the compiler to finish a message, or for our runner to answer.
        """
        steps, since = self._seen
        now = time.monotonic()
        if self._steps != steps or steps % 2 == 0:
            self._seen = (self._steps, now)
            return None
        waited = now - since
        if self._partial and waited >= self._timeout:
            return PeerError(
                f"{self._who}: expected the rest of a message within {self._timeout:g} s, got "
                f"{self._partial} bytes of it; see whether the compiler hangs, or raise --timeout"
            )
        if not self._partial and waited >= 2 * self._timeout:
            return ModelError(
                f"{self._answers.where}: expected an answer within {2 * self._timeout:g} s, got none; "
                "see whether the decision function ends, or raise --timeout"
            )
        return None

    def stop(self) -> None:
        """Stop answering; the compiler is dead, and the names still exist."""
        with self._stop_lock:
            self._stopping = True
            with contextlib.suppress(OSError):  # stopped before, or full: the thread is not blocked
                writer = os.open(self._out, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                try:
                    self._stop_written = os.write(writer, _STOP) == len(_STOP)
                finally:
                    os.close(writer)
        self._released.set()
        if self._thread.ident is None:
            self._close()
        else:
            self._thread.join(_PARTING)

    def _run(self) -> None:
        try:
            while not self._is_over():
                self._await_session()
                pending = bytearray()
                while self._asked(pending):
                    pending = self._answer_all()
        except BaseException as error:  # noqa: BLE001  (the watching thread raises it)
            self.failure = error
        if not self._released.is_set():
            self._wake()
            self._released.wait()
        self._close()

    def _close(self) -> None:
        for descriptor in (self._read_fd, self._write_fd):
            with contextlib.suppress(OSError):  # closed before
                os.close(descriptor)
        self._read_fd = self._write_fd = -1

    def _await_session(self) -> None:
        """Wait until a compiler opens BASE.out again, after the last session closed it.

        An old descriptor still reports the last session's end, so open a new one, before closing the old: we
        must always hold one.
        """
        before, self._read_fd = self._read_fd, self._opened()
        os.close(before)
        select.select([self._read_fd], [], [])
        os.set_blocking(self._read_fd, True)

    def _is_over(self) -> bool:
        """Whether the compiler is dead, and we have read its last byte and our `_STOP`.

        The lock keeps us from looking after `stop` has begun and before it has written.
        """
        with self._stop_lock:
            return self._stopping and not any(fcntl.ioctl(self._read_fd, termios.FIONREAD, bytes(4)))

    def _asked(self, pending: bytearray) -> bool:
        """Take messages up to a question, first those in `pending`; False if the session ends before one."""
        over = False
        while True:
            if not over and (over := self._is_over()) and self._stop_written and pending.endswith(_STOP):
                del pending[-1:]
            if pending and self._take(pending):
                self._partial = 0
                if self._question:
                    break
                continue
            self._partial = len(pending)
            if over:
                break
            self._steps += bool(pending) != self._steps % 2
            more = os.read(self._read_fd, _CHUNK)
            if not more:
                break
            pending += more
        if self._partial:
            msg = f"{self._who}: expected a whole message, got its end after {self._partial} bytes"
            self.cut = PeerError(msg)
        self._partial = 0
        self._steps += self._steps % 2
        asked, self._question = self._question, False
        return asked

    def _take(self, pending: bytearray) -> bool:
        """Take one message off the front of `pending`; False if it is incomplete."""
        end = pending.find(b"\n") + 1
        if not pending.startswith(b"{") or (not end and len(pending) > MAX_LINE):
            raise PeerError(f"{self._who}: expected LLVM's interactive protocol, got {bytes(pending[:80])!r}")
        if not end:
            return False
        line = bytes(pending[:end])
        if line.startswith(_HEADER) or self._header is None:
            self._begin_session(mlgo.read_header(line, self._who))
        elif isinstance(event := mlgo.read_event(line, self._who), str):
            self._switch_context(event)
        else:
            end += self._header.nbytes + 1
            if len(pending) < end:
                return False
            self._take_question(event, bytes(pending[len(line) :]))
        del pending[:end]
        return True

    def _expect(self, number: int) -> None:
        self._number = number
        self._expected = mlgo.observation_line(number)
        if len(self._line) != len(self._expected):
            self._line = bytearray(len(self._expected))
            self._buffers = [self._line, *self._pieces]
            self._size = sum(map(len, self._buffers))

    def _begin_session(self, header: mlgo.Header) -> None:
        if self._header is None:
            self._pieces = [*self._answers.bind(header), memoryview(bytearray(1))]
        elif header != self._header:
            raise PeerError(f"{self._who}: expected the header of the sessions before, got another one")
        elif _opened_elsewhere(self._out) > 1:
            raise self._two_sessions("a second header before the end of the first session")
        self._header = header
        with contextlib.suppress(BlockingIOError):  # a session that died may have left an answer
            os.read(self._write_fd, _CHUNK)
        self._answers.sessions += 1
        self._numbers = {}
        self._context = ""
        self._expect(0)

    def _switch_context(self, name: str) -> None:
        self._numbers[self._context] = self._number
        self._context = name
        self._partial = 0
        self._steps += 1 + self._steps % 2  # back to even in _asked
        self._answers.switch_context(name)
        self._expect(self._numbers.get(name, 0))

    def _take_question(self, number: int, block: bytes) -> None:
        if number != self._number:
            raise self._two_sessions(f"observation {number} instead of {self._number}")
        size = sum(map(len, self._pieces))
        if (behind := block[size : size + len(_HEADER)]) and _HEADER.startswith(behind):
            raise self._two_sessions("the header of another one behind a question")
        if block[size - 1] != _NEWLINE or len(block) > size:
            msg = f"{self._who}: expected a newline after the tensors, then a wait for the answer, got "
            raise PeerError(f"{msg}{block[size - 1 :][:80]!r}")
        start = 0
        for piece in self._pieces:
            piece[:] = block[start : start + len(piece)]
            start += len(piece)
        self._question = True

    def _answer_all(self) -> bytearray:
        """Answer the question in the pieces, and all that follow as expected; return what else arrives."""
        read, write, answer, end = os.readv, os.write, self._answers.answer, self._pieces[-1]
        reader, writer = self._read_fd, self._write_fd
        try:
            while True:
                self._steps += 1
                write(writer, answer())  # so few bytes are never written in part
                self._steps += 1
                self._expect(self._number + 1)
                got = read(reader, self._buffers)
                if got != self._size or self._line != self._expected or end[0] != _NEWLINE:
                    return bytearray(b"".join(self._buffers)[:got])
        except BlockingIOError:
            msg = f"{self._who}: the compiler asks and does not read the answers"
            raise PeerError(msg) from None

    def _two_sessions(self, got: str) -> PeerError:
        return PeerError(
            f"{self._who}: expected one session after the other, got {got}; LLVM has one channel per "
            "process: compile on one thread (--thinlto-jobs=1)"
        )


def _opened_elsewhere(path: str) -> int:
    """The number of descriptors of `path` in other processes."""
    count = 0
    for process in filter(str.isdigit, os.listdir("/proc")):
        folder = f"/proc/{process}/fd"
        with contextlib.suppress(OSError):  # another user's process, or it has ended
            if int(process) != os.getpid():
                for name in os.listdir(folder):
                    with contextlib.suppress(OSError):  # closed meanwhile
                        count += os.readlink(f"{folder}/{name}") == path
    return count
