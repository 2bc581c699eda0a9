# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs and watches a child program, and handles the signals that end this process and the child.

The child has its own session, so that its forks (clang runs itself as cc1) end with it, and Ctrl-C reaches it
only through this process. It inherits the standard streams.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.process_end import heeded

_STOPS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GRACE: Final = 2.0
"""Seconds for a child to clean up after SIGTERM, before SIGKILL."""
_NAP: Final = 0.005
_BEGINNING: Final = 60.0
"""Seconds in which a valid program has started."""
_LAUNCH: Final = """
import ctypes, os, signal, sys

parent, refusal, program = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
os.set_inheritable(refusal, False)
PR_SET_PDEATHSIG = 1
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the program would inherit that
    signal.signal(number, signal.SIG_DFL)
if os.getppid() == parent:
    try:
        os.execvp(program[0], program)
    except OSError as error:
        os.write(refusal, (error.strerror or str(error)).encode())
"""
"""Turns into the program, which gets SIGTERM whenever this process dies: without its peer it would hang or
spin. `preexec_fn` cannot do this, as gRPC's threads forbid it.
"""


class Child:
    """A running program and its forks.

    Raises:
        InputError: the program cannot be run.
    """

    def __init__(self, command: Sequence[str]) -> None:
        reader, writer = os.pipe2(os.O_CLOEXEC)
        with open(reader, "rb") as refusal:
            launch = [sys.executable, "-I", "-S", "-c", _LAUNCH, str(os.getpid()), str(writer), *command]
            try:
                self._process = subprocess.Popen(launch, start_new_session=True, pass_fds=(writer,))
            except (OSError, ValueError) as error:
                raise _refused(command, getattr(error, "strerror", None) or str(error)) from error
            finally:
                os.close(writer)
            begun = select.select([refusal], [], [], _BEGINNING)[0]  # closes when the program starts
            if got := refusal.read().decode() if begun else "none that begins":
                self._process.kill()
                self._process.wait()
                raise _refused(command, got)
        self.fd = os.pidfd_open(self._process.pid)
        """Readable once the program has ended."""

    @property
    def ended(self) -> bool:
        """Whether the program has ended; its forks may go on."""
        return bool(select.select([self.fd], [], [], 0)[0])

    def finish(self) -> int:
        """Wait for the program and kill its remaining forks; return the exit code, or minus the signal."""
        select.select([self.fd], [], [])
        self._signal(signal.SIGKILL)  # not reaped yet, so no other process can have its number
        return self._reap()

    def stop(self) -> None:
        """End the program and its forks, unless it has ended already.

        Sends SIGTERM, on which LLVM's tools remove unfinished outputs, then SIGKILL.
        """
        if self.fd < 0:
            return
        deadline = time.monotonic() + _GRACE
        self._signal(signal.SIGTERM)
        select.select([self.fd], [], [], _GRACE)
        if not self.ended:
            self._signal(signal.SIGKILL)
        self._reap()
        while self._signal(0) and time.monotonic() < deadline:  # its forks clean up, too
            time.sleep(_NAP)
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> bool:
        """Signal the whole session; False if no process of it is left."""
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        return True

    def _reap(self) -> int:
        descriptor, self.fd = self.fd, -1
        os.close(descriptor)
        return self._process.wait()


def _refused(command: Sequence[str], got: str) -> InputError:
    return InputError(f"{command[0]}: expected a program that can be run, got: {got}")


class Wake:
    """Waits for signals that end this process, and for calls from other threads."""

    def __init__(self, reader: int, writer: int) -> None:
        self._reader = reader
        self._writer = writer

    def __call__(self) -> None:
        """Make `wait` return; from any thread."""
        with contextlib.suppress(BlockingIOError):  # the pipe is full, so `wait` returns anyway
            os.write(self._writer, b"\0")

    def wait(self, fd: int, seconds: float) -> int:
        """Wait for `fd`, a call, a signal, or the end of the time; return the signal's number, or 0."""
        if self._reader not in select.select([self._reader, fd], [], [], seconds)[0]:
            return 0
        return max(os.read(self._reader, select.PIPE_BUF))


@contextlib.contextmanager
def waking() -> Iterator[Wake]:
    """Let SIGINT, SIGTERM and SIGHUP only wake `Wake.wait`; ignored signals stay ignored."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    before = {number: signal.signal(number, _heed) for number in heeded(*_STOPS)}
    try:
        yield Wake(reader, writer)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(woken)
        os.close(reader)
        os.close(writer)


def _heed(_number: int, _frame: object) -> None:
    """Does nothing: Python has written the number into the pipe."""
