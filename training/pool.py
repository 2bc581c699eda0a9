# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Pool`: the compiler processes of the service, lent to one episode each and used again.

What happens in a compilation happens in a process of its own: LLVM may crash or never end, and that costs
one episode. The other end is `passpilot.training.worker`.
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
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import CompilationError, PeerError
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage
from passpilot.training.messages import LENGTH

if TYPE_CHECKING:
    from collections.abc import Sequence

GRACE: Final = 2.0
"""Seconds in which a worker must leave what it is at, or be killed."""

_BEGIN: Final = 60.0
"""Seconds in which a worker must have started and loaded its files."""

_TAIL: Final = 300

_PYTHON: Final = (sys.executable, "-P", "-m")
"""Runs a module; not one of the folder in which the service was started."""


class _Link(asyncio.Protocol):
    """The service's end of a worker's socket; cuts what comes into `messages`, the last of which is None."""

    transport: asyncio.WriteTransport | None = None

    def __init__(self) -> None:
        self.messages: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._data = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while len(self._data) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self._data)[0]
            if len(self._data) < end:
                return
            self.messages.put_nowait(bytes(self._data[LENGTH.size : end]))
            del self._data[:end]

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        self.messages.put_nowait(None)


class EpisodeWorker:
    """One compiler process, which `start` makes; its temporary files are in a folder that goes with it."""

    def __init__(self, load: Sequence[str]) -> None:
        self._owed = 0
        with contextlib.ExitStack() as stack:
            enter = stack.enter_context
            folder = enter(tempfile.TemporaryDirectory(prefix="passpilot-", ignore_cleanup_errors=True))
            self._said = enter(tempfile.TemporaryFile())  # noqa: SIM115
            ours, theirs = socket.socketpair()
            self._socket = enter(ours)
            with theirs:
                self._process = subprocess.Popen(
                    [*_PYTHON, "passpilot.training.worker", str(theirs.fileno()), *load],
                    stdin=subprocess.DEVNULL,
                    stdout=self._said,
                    stderr=self._said,
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, "TMPDIR": folder, "OPENBLAS_NUM_THREADS": "1"},
                )
            self._held = stack.pop_all()
        self._link = _Link()

    @classmethod
    async def start(cls, load: Sequence[str]) -> tuple[EpisodeWorker, CompilerMessage]:
        """A worker and its first message.

        Raises:
            CompilationError: it does not start.
        """
        worker = cls(load)
        try:
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: worker._link, sock=worker._socket)
            return worker, await worker.receive(_BEGIN)
        except BaseException:
            worker.end()
            raise

    def send(self, message: AgentMessage) -> None:
        """Send one message; a dead worker is noticed when it is to answer."""
        assert self._link.transport is not None, "it has started"
        data = message.SerializeToString()
        self._link.transport.write(LENGTH.pack(len(data)) + data)

    async def receive(self, timeout: float) -> CompilerMessage:
        """The next message; a wait that was cancelled goes on with the next call.

        Raises:
            CompilationError: the process has died, or says nothing within `timeout` seconds.
        """
        try:
            async with asyncio.timeout(timeout):
                data = await self._link.messages.get()
        except TimeoutError:
            msg = f"compiler: expected it to ask or to finish within {timeout:g} s, got silence; it was ended"
            raise CompilationError(msg) from None
        if data is None:
            raise CompilationError(self._obituary())
        return CompilerMessage.FromString(data)

    async def abandon(self) -> None:
        """Make it leave what it is at, so that it is ready for another start.

        Raises:
            CompilationError: it does not.
        """
        self.send(AgentMessage())
        self._owed += 1  # more than one if a call before was cancelled
        while self._owed:
            if not (await self.receive(GRACE)).WhichOneof("kind"):
                self._owed -= 1

    def forget(self) -> None:
        """Drop what it said; what comes next belongs to another episode."""
        self._said.seek(0)
        self._said.truncate()

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def _obituary(self) -> str:
        self._process.kill()
        code = self._process.wait()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        self._said.seek(max(0, os.fstat(self._said.fileno()).st_size - _TAIL))
        said = " ".join(self._said.read().decode("utf-8", "replace").split())
        msg = f"compiler: expected it to finish, got its death by {how}"
        return f"{msg}: ...{said}" if said else msg

    def end(self) -> None:
        """Kill and reap the process, and remove what it left."""
        self._process.kill()
        self._process.wait()
        if self._link.transport is not None:
            self._link.transport.abort()
        self._held.close()


class Pool:
    """At most `limit` workers, of which as many wait for work as there are processors."""

    def __init__(self, load: Sequence[str], limit: int) -> None:
        self._load = load
        self._limit = limit
        self._idle: list[EpisodeWorker] = []
        self._lent: set[EpisodeWorker] = set()
        self._starting = 0
        self._leaving: set[asyncio.Task[None]] = set()
        self._spare = os.cpu_count() or 1

    async def borrow(self) -> EpisodeWorker:
        """A worker that waits for a start.

        Raises:
            PeerError: all are in use.
            CompilationError: it cannot be started.
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
            worker, greeting = await EpisodeWorker.start(self._load)
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
        """Take a worker back; one that is not `done` has to leave its work first, or is ended."""
        if worker not in self._lent:
            return  # the pool has been closed
        if done:
            self._keep(worker)
        else:
            task = asyncio.get_running_loop().create_task(self._calm(worker))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    def end(self, worker: EpisodeWorker) -> None:
        """End a worker that is lent."""
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
        """Start one worker, so that files which cannot be loaded show at once.

        Raises:
            CompilationError: it cannot be started.
        """
        self.give_back(await self.borrow(), done=True)

    def close(self) -> None:
        """End all workers."""
        for task in self._leaving:
            task.cancel()
        for worker in (*self._idle, *self._lent):
            worker.end()
        self._idle.clear()
        self._lent.clear()
