# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`LocalCompiler`: episodes on this machine, in a process of their own or in a thread, without gRPC.

It has the interface of `CompilerClient`. The process, or the thread, is that of `passpilot.training.worker`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import subprocess
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import IO, Final, Literal, NoReturn

from passpilot.plugin.errors import CompilationError, Error, InputError
from passpilot.plugin.files import read_regular
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage, Start
from passpilot.training.episode import CompilerClient
from passpilot.training.messages import LENGTH, MessageStream, default_start, failure
from passpilot.training.pool import GRACE, WorkerOptions, launch, obituary
from passpilot.training.rewards import improvement
from passpilot.training.worker import AgentChannel, serve

Where = Literal["process", "thread"]

_BEGIN: Final = 60.0
"""Seconds in which a worker must start and load its files."""

REMEMBERED: Final = 4096
"""The most baselines that are kept."""


class LocalCompiler(CompilerClient):
    """Takes the decisions of compilations on this machine, one episode after the other.

    A crash of LLVM in a process ends the episode with a `CompilationError`; in a thread it ends the program.

    Args:
        where: ``process`` or ``thread``.
        load: Python files that register features and passes.
        timeout: seconds that one step of the compiler may take.
        llvm_options: LLVM's own options for the process, such as ``-regalloc=advised``.

    Raises:
        InputError: an argument is wrong.
    """

    def __init__(
        self,
        where: Where = "process",
        *,
        load: Sequence[str] = (),
        timeout: float = 300.0,
        llvm_options: Sequence[str] = (),
    ) -> None:
        self._who = "compiler"
        self._begin()
        if where not in ("process", "thread"):
            raise InputError(f"compiler: expected process or thread, got {where!r}")
        if not timeout > 0:
            raise InputError(f"compiler: expected a timeout of more than 0 seconds, got {timeout}")
        if llvm_options and where == "thread":
            msg = "compiler: expected a process with LLVM's options, which are a process's own, got a thread"
            raise InputError(f"{msg}; use a process, or set them for this one with passpilot.llvm_options")
        options = WorkerOptions(tuple(load), allow_files=True, llvm_options=tuple(llvm_options))
        self._stream = _LocalStream(where, options, timeout)


class _LocalStream(MessageStream):
    """Sends messages to a worker, which starts with the first one; see `MessageStream`."""

    def __init__(self, where: Where, options: WorkerOptions, timeout: float) -> None:
        super().__init__("compiler")
        self._where, self._options, self._timeout = where, options, timeout
        self._worker: _Worker | None = None
        self._start = Start()
        self._busy = False
        self._baselines: OrderedDict[bytes, float] = OrderedDict()

    def exchange(self, message: AgentMessage) -> CompilerMessage:
        """The worker's answer; an error becomes the failure of the episode, as in the service."""
        try:
            if message.HasField("start"):
                self._begin(message.start)
            answer = self._ask(message)
            if answer.result.HasField("value"):
                self._compare(answer)
        except CompilationError as error:
            self.close()
            return failure(error)
        except Error as error:
            return failure(error)
        self._busy = answer.HasField("observation") or (answer.HasField("failure") and answer.failure.retry)
        return answer

    def _begin(self, start: Start) -> None:
        if self._busy:
            self._abandon()
        if start.HasField("path"):
            try:
                start.code = read_regular(start.path)
            except OSError as error:
                raise InputError(f"{start.path}: expected a module, got: {error.strerror}") from error
        self._start = start

    def _abandon(self) -> None:
        """Make the worker ready for another start, or end it."""
        self._busy = False
        worker = self._worker
        if worker is None:
            return
        try:
            worker.send(AgentMessage())
            while worker.receive(GRACE).WhichOneof("kind"):
                pass
        except CompilationError:
            self.close()

    def _ask(self, message: AgentMessage) -> CompilerMessage:
        if self._worker is None:
            worker = (
                _ProcessWorker(self._options) if self._where == "process" else _ThreadWorker(self._options)
            )
            greeting = worker.receive(_BEGIN)
            if greeting.HasField("failure"):
                worker.end()
                raise CompilationError(greeting.failure.failure.error)
            self._worker = worker
        self._worker.send(message)
        return self._worker.receive(self._timeout)

    def _compare(self, answer: CompilerMessage) -> None:
        """Add baseline and reward to a result."""
        default = default_start(self._start)
        key = hashlib.sha256(default.SerializeToString(deterministic=True)).digest()
        if key not in self._baselines:
            measured = self._ask(AgentMessage(start=default))
            if measured.HasField("failure"):
                raise CompilationError(f"the default's compilation: {measured.failure.failure.error}")
            self._baselines[key] = measured.result.value
            while len(self._baselines) > REMEMBERED:
                self._baselines.popitem(last=False)
        answer.result.baseline = self._baselines[key]
        answer.result.reward = improvement(answer.result.value, answer.result.baseline)

    def close(self) -> None:
        worker, self._worker, self._busy = self._worker, None, False
        if worker is not None:
            worker.end()


class _Worker:
    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._data = bytearray()

    def send(self, message: AgentMessage) -> None:
        data = message.SerializeToString()
        with contextlib.suppress(OSError):
            self._end.settimeout(None)
            self._end.sendall(LENGTH.pack(len(data)) + data)

    def receive(self, timeout: float) -> CompilerMessage:
        """The next message."""
        deadline = time.monotonic() + timeout
        while len(self._data) < LENGTH.size or len(self._data) < self._needed():
            self._end.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                more = self._end.recv(1 << 20)
            except TimeoutError:
                msg = f"compiler: expected it to ask or to finish within {timeout:g} s, got silence"
                raise CompilationError(f"{msg}; it was ended") from None
            except OSError:
                more = b""
            if not more:
                raise CompilationError(self._death())
            self._data += more
        end = self._needed()
        message = CompilerMessage.FromString(bytes(self._data[LENGTH.size : end]))
        del self._data[:end]
        return message

    def _needed(self) -> int:
        return LENGTH.size + int(LENGTH.unpack_from(self._data)[0])

    def _death(self) -> str:
        return "compiler: it ended before it answered"

    def end(self) -> None:
        self._end.close()


class _ProcessWorker(_Worker):
    def __init__(self, options: WorkerOptions) -> None:
        self._process: subprocess.Popen[bytes]
        self._output: IO[bytes]
        try:
            with contextlib.ExitStack() as stack:
                self._process, end, self._output = launch(options, stack)
                held = stack.pop_all()
        except OSError as error:
            raise CompilationError(f"compiler: expected to start it, got: {error}") from error
        super().__init__(end)
        self._finish = weakref.finalize(self, _finish, self._process, held, os.getpid())

    def _death(self) -> str:
        return obituary(self._process, self._output)

    def end(self) -> None:
        """Kill and reap the process, and remove its files; at the latest when nobody has this any more."""
        self._finish()


def _finish(process: subprocess.Popen[bytes], held: contextlib.ExitStack, owner: int) -> None:
    if os.getpid() == owner:  # and not in a copy of the process
        process.kill()
        process.wait()
        held.close()


class _ThreadChannel(AgentChannel):
    """The end of a worker in a thread, which ends the thread when the other end is closed."""

    def _gone(self) -> NoReturn:
        raise SystemExit  # in a thread it ends only that

    def send(self, message: CompilerMessage) -> None:
        """Send one message, unless nobody reads it any more."""
        with contextlib.suppress(OSError):
            super().send(message)


class _ThreadWorker(_Worker):
    """A worker in a thread of this process."""

    def __init__(self, options: WorkerOptions) -> None:
        end, other = socket.socketpair()
        super().__init__(end)
        channel = _ThreadChannel(other)
        self._thread = threading.Thread(
            target=_run_thread, args=(channel, options), name="passpilot compiler", daemon=True
        )
        self._thread.start()

    def end(self) -> None:
        """Close the socket, and wait for the thread: LLVM ends its compilation first."""
        super().end()
        self._thread.join(GRACE)


def _run_thread(channel: AgentChannel, options: WorkerOptions) -> None:
    with contextlib.closing(channel), contextlib.suppress(SystemExit):
        serve(channel, options.load, allow_files=True)
