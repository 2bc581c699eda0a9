# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Pool`: the service's compiler processes, each lent to one episode at a time.

If LLVM crashes or hangs in a worker process, only one episode is lost. `passpilot.training.worker` is the
process's end.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final, NamedTuple

from passpilot.plugin.errors import CompilationError, PeerError
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage
from passpilot.training.messages import LENGTH
from passpilot.training.scratch import ScratchFolder, remove_left_overs

GRACE: Final = 2.0
"""Seconds in which a worker must abandon its episode, or be killed."""

_BEGIN: Final = 60.0
"""Seconds in which a worker must start and load its files."""

_TAIL: Final = 300

_PYTHON: Final = (sys.executable, "-P", "-m")
"""Runs a module, but never one from the current folder."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What a worker loads at its start, and whether modules and pipelines may read and write files.

    `llvm_options` are LLVM's own options for all its compilations.
    """

    load: Sequence[str] = ()
    allow_files: bool = False
    llvm_options: Sequence[str] = ()
    targets: Sequence[str] = ()
    """Beginnings of triples that modules may have if they may use no files; empty for this machine's."""

    @property
    def arguments(self) -> list[str]:
        """The worker's arguments after the socket."""
        files = str(int(self.allow_files))
        targets = ",".join(self.targets)
        return [files, targets, str(len(self.llvm_options)), *self.llvm_options, *self.load]


class MessageReader:
    """Reads a worker's messages; a call of `read` that is cancelled loses nothing."""

    def __init__(self, stream: asyncio.StreamReader) -> None:
        self._stream, self._size = stream, -1

    async def read(self) -> bytes | None:
        """The next message; None if the worker has gone."""
        try:
            if self._size < 0:
                (self._size,) = LENGTH.unpack(await self._stream.readexactly(LENGTH.size))
            data = await self._stream.readexactly(self._size)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        self._size = -1
        return data


class LaunchedProcess(NamedTuple):
    """A compiler process, our end of its socket, and the file of what it prints."""

    process: subprocess.Popen[bytes]
    socket: socket.socket
    output: IO[bytes]


def launch(options: WorkerOptions, stack: contextlib.ExitStack) -> LaunchedProcess:
    """Start a compiler process with its own temporary folder; `stack` removes the folder.

    Raises:
        OSError: it cannot be started.
    """
    enter = stack.enter_context
    folder = enter(contextlib.closing(ScratchFolder())).path
    output = enter(tempfile.TemporaryFile())  # noqa: SIM115
    service_end, worker_end = socket.socketpair()
    enter(service_end)
    with worker_end:
        process = subprocess.Popen(
            [*_PYTHON, "passpilot.training.worker", str(worker_end.fileno()), *options.arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[worker_end.fileno()],
            env={**os.environ, "TMPDIR": folder, "OPENBLAS_NUM_THREADS": "1"},
        )
    return LaunchedProcess(process, service_end, output)


def obituary(process: subprocess.Popen[bytes], output: IO[bytes]) -> str:
    """Kill and reap a process whose socket is closed; how it died, and the end of its output."""
    process.kill()
    code = process.wait()
    how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
    output.seek(max(0, os.fstat(output.fileno()).st_size - _TAIL))
    tail = " ".join(output.read().decode("utf-8", "surrogateescape").split())
    msg = f"compiler: expected it to finish, got its death by {how}"
    return f"{msg}: ...{tail}" if tail else msg


class EpisodeWorker:
    """One compiler process, made by `start`, with its own temporary folder."""

    _reader: MessageReader
    _writer: asyncio.StreamWriter | None = None

    def __init__(self, options: WorkerOptions) -> None:
        self._owed = 0
        with contextlib.ExitStack() as stack:
            self._process, self._socket, self._output = launch(options, stack)
            self._held = stack.pop_all()

    @classmethod
    async def start(cls, options: WorkerOptions) -> tuple[EpisodeWorker, CompilerMessage]:
        """Start a worker; return it and its first message.

        Raises:
            CompilationError: it does not start.
        """
        worker = cls(options)
        try:
            stream, worker._writer = await asyncio.open_connection(sock=worker._socket)
            worker._reader = MessageReader(stream)
            return worker, await worker.receive(_BEGIN)
        except BaseException:
            worker.end()
            raise

    def send(self, message: AgentMessage) -> None:
        """Send one message; `receive` notices a dead worker."""
        assert self._writer is not None, "it has started"
        data = message.SerializeToString()
        self._writer.write(LENGTH.pack(len(data)) + data)

    async def receive(self, timeout: float) -> CompilerMessage:
        """The next message; after a cancellation, another call waits for the same message.

        Raises:
            CompilationError: the process has died, or sends nothing within `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                data = await self._reader.read()
        except TimeoutError:
            msg = f"compiler: expected it to ask or to finish within {timeout:g} s, got silence; it was ended"
            raise CompilationError(msg) from None
        if data is None:
            raise CompilationError(obituary(self._process, self._output))
        return CompilerMessage.FromString(data)

    async def abandon(self) -> None:
        """Make the worker abandon its episode, so that it is ready for another start.

        Raises:
            CompilationError: it does not within `GRACE` seconds.
        """
        self.send(AgentMessage())
        self._owed += 1  # more than one if an earlier call was cancelled
        while self._owed:
            if not (await self.receive(GRACE)).WhichOneof("kind"):
                self._owed -= 1

    def forget(self) -> None:
        """Drop the process's output so far; later output belongs to another episode."""
        self._output.seek(0)
        self._output.truncate()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        """Kill and reap the process, and remove its files."""
        self._process.kill()
        self._process.wait()
        if self._writer is not None:
            self._writer.transport.abort()
        self._held.close()


class Pool:
    """At most `limit` workers; up to one idle worker per processor is kept."""

    def __init__(self, options: WorkerOptions, limit: int) -> None:
        self._options = options
        self._limit = limit
        self._idle: list[EpisodeWorker] = []
        self._lent: set[EpisodeWorker] = set()
        self._starting = 0
        self._leaving: set[asyncio.Task[None]] = set()
        self._spare = os.cpu_count() or 1

    async def borrow(self) -> EpisodeWorker:
        """Lend a worker that waits for a start.

        Raises:
            PeerError: all workers are in use.
            CompilationError: a new worker cannot be started.
        """
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                worker.forget()
                break
            worker.end()
        else:
            worker = await self._start()
        self._lent.add(worker)
        return worker

    async def _start(self) -> EpisodeWorker:
        if len(self._lent) + self._starting >= self._limit:
            msg = f"compiler service: expected fewer than {self._limit} episodes at a time, got one more"
            raise PeerError(f"{msg}; try again later, or see --episodes")
        self._starting += 1
        try:
            worker, greeting = await EpisodeWorker.start(self._options)
        except OSError as error:
            msg = f"compiler service: expected to start a compiler, got: {error}"
            raise CompilationError(msg) from error
        finally:
            self._starting -= 1
        if greeting.HasField("failure"):
            worker.end()
            raise CompilationError(greeting.failure.failure.error)
        return worker

    def give_back(self, worker: EpisodeWorker, *, done: bool) -> None:
        """Take a worker back; unless `done`, it must first abandon its episode, or is ended."""
        if worker not in self._lent:
            return  # the pool has been closed
        if done:
            self._keep(worker)
        else:
            task = asyncio.get_running_loop().create_task(self._calm(worker))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    def end(self, worker: EpisodeWorker) -> None:
        self._lent.discard(worker)
        worker.end()

    async def _calm(self, worker: EpisodeWorker) -> None:
        try:
            await worker.abandon()
        except CompilationError:
            self.end(worker)
        else:
            self._keep(worker)

    def _keep(self, worker: EpisodeWorker) -> None:
        self._lent.discard(worker)
        if len(self._idle) < self._spare:
            self._idle.append(worker)
        else:
            worker.end()

    async def warm(self) -> None:
        """Start one worker, so that files that cannot be loaded show at once; remove left-overs first.

        Raises:
            CompilationError: it cannot be started.
        """
        remove_left_overs()
        self.give_back(await self.borrow(), done=True)

    def close(self) -> None:
        for task in self._leaving:
            task.cancel()
        for worker in (*self._idle, *self._lent):
            worker.end()
        self._idle.clear()
        self._lent.clear()
