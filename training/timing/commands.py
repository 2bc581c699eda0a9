# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Commands`: runs commands for several threads, each with a deadline, and can end all of them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from passpilot.plugin.errors import CompilationError
from passpilot.plugin.process_end import uninterrupted
from passpilot.training.corpus.front_end import failure

_TAIL: Final = 4096
"""The bytes of standard error that are kept."""

TIED: Final = ("setpriv", "--pdeathsig", "KILL", "--")
"""In front of a command, it lets the system kill the command if this process dies. It is in util-linux."""

_LINGER: Final = 2.0
"""Seconds in which a command's own children may still write after its end."""


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What came of a command."""

    code: int
    """The exit code; negative for a signal."""
    seconds: float
    """The processor time of the command and of its children."""
    stderr: bytes
    """The end of its standard error."""
    is_late: bool
    """Whether it was ended at its deadline."""
    stdout_sha256: str
    """The hash of its standard output."""

    def check(self, expected: str, deadline: float) -> None:
        """Make sure that the command has succeeded.

        Raises:
            CompilationError: it has not; begins with `expected`, such as ``a.c: expected an object``.
        """
        if self.is_late:
            raise CompilationError(f"{expected} within {deadline:g} s, got none")
        if self.code:
            raise CompilationError(f"{expected}, got {failure(self.code, self.stderr)}")


class Commands:
    """Runs commands; every one is a process group of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._is_stopped = False

    def run(
        self,
        words: Sequence[str],
        deadline: float,
        *,
        directory: str | None = None,
        environment: Mapping[str, str] | None = None,
        processor: int | None = None,
    ) -> CommandResult:
        """Run a command and wait for its end; it is killed after `deadline` seconds.

        `processor` is the only one on which the command may run.

        Raises:
            CompilationError: it cannot be started, or `stop` was called before.
        """
        with tempfile.TemporaryFile() as errors, _pinned(processor):
            process = self._start(words, errors.fileno(), directory, environment)
            try:
                digest, is_late = _follow(process, deadline)
            finally:
                code, seconds = self._end(process)
            size = os.fstat(errors.fileno()).st_size
            tail = os.pread(errors.fileno(), _TAIL, max(0, size - _TAIL))
        return CommandResult(code, seconds, tail, is_late, digest)

    def _start(
        self,
        words: Sequence[str],
        errors: int,
        directory: str | None,
        environment: Mapping[str, str] | None,
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._is_stopped:
                raise CompilationError(f"{words[0]}: not run, since the evaluation has ended")
            try:
                process = uninterrupted(
                    lambda: subprocess.Popen(
                        words,
                        cwd=directory,
                        env=environment,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.PIPE,
                        stderr=errors,
                        start_new_session=True,
                    )
                )
            except OSError as error:
                msg = f"{words[0]}: expected to run it, got: {error.strerror} {error.filename or ''}"
                raise CompilationError(msg.rstrip()) from error
            self._running.add(process.pid)
        return process

    def _end(self, process: subprocess.Popen[bytes]) -> tuple[int, float]:
        """Kill what is left of the group and reap the process; its exit code and processor time."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        _, status, used = os.wait4(process.pid, 0)
        with self._lock:
            self._running.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.stdout:
            process.stdout.close()
        return process.returncode, used.ru_utime + used.ru_stime

    def stop(self) -> None:
        """Kill all commands, and let no other start."""
        with self._lock:
            self._is_stopped = True
            for group in self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


class CommandPool(ThreadPoolExecutor):
    """A pool whose block may end early: then running commands are killed and the rest is dropped."""

    def __init__(self, jobs: int, commands: Commands) -> None:
        super().__init__(jobs)
        self._stop = commands.stop

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._stop()
        self.shutdown(cancel_futures=kind is not None)


def _follow(process: subprocess.Popen[bytes], deadline: float) -> tuple[str, bool]:
    """Read the standard output until the process has ended; its hash, and whether the deadline has passed."""
    assert process.stdout is not None
    output, digest = process.stdout.fileno(), hashlib.sha256()
    is_open = is_alive = True
    end = time.monotonic() + deadline
    death = os.pidfd_open(process.pid)
    poll = select.poll()
    poll.register(output, select.POLLIN)
    poll.register(death, select.POLLIN)
    try:
        while is_open or is_alive:
            left = end - time.monotonic()
            if left <= 0:
                return digest.hexdigest(), is_alive
            ready = {descriptor for descriptor, _ in poll.poll(left * 1000)}
            if output in ready:
                data = os.read(output, 1 << 16)
                digest.update(data)
                if not data:
                    poll.unregister(output)
                    is_open = False
            elif death in ready:
                poll.unregister(death)
                is_alive = False
                end = min(end, time.monotonic() + _LINGER)  # its own children may hold the pipe
        return digest.hexdigest(), False
    finally:
        os.close(death)


@contextlib.contextmanager
def _pinned(processor: int | None) -> Iterator[None]:
    """Let this thread, and what it starts, run on one processor only."""
    if processor is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
