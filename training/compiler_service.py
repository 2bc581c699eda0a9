# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve-compiler`: the compiler as a gRPC service, for agents that learn from it.

`compiler.proto` defines the messages. One event loop serves all streams; worker processes compile the
episodes (`passpilot.training.pool`). A stream holds a worker only during an episode, so that an idle agent
costs nothing; whatever ends the stream gives the worker back.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

import grpc
from google.protobuf.message import DecodeError

from passpilot.plugin.errors import CompilationError, Error, InputError, PeerError
from passpilot.runners.remote import wire
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage, Start
from passpilot.training.messages import default_start, failure
from passpilot.training.rewards import improvement

if TYPE_CHECKING:
    from passpilot.runners.serving.connections import Connections, Stream
    from passpilot.runners.serving.guard import Share
    from passpilot.training.pool import EpisodeWorker, Pool

    Context = grpc.aio.ServicerContext[bytes, CompilerMessage]

SERVICE: Final = "passpilot.v1.Compiler"
REMEMBERED: Final = 4096
"""The most baselines that are kept; the least recently used one is dropped first."""


class Baselines:
    """The measured values of the compiler's own default, once per module and options."""

    def __init__(self) -> None:
        self._values: OrderedDict[bytes, float] = OrderedDict()
        self._measuring: dict[bytes, asyncio.Lock] = {}

    def __len__(self) -> int:
        return len(self._values)

    async def value(self, key: bytes, measure: Callable[[], Awaitable[float]]) -> float:
        """The value of `key`; `measure` finds it the first time."""
        lock = self._measuring.setdefault(key, asyncio.Lock())
        try:
            async with lock:
                if key not in self._values:
                    self._values[key] = await measure()
        finally:
            if not lock.locked():
                self._measuring.pop(key, None)
        self._values.move_to_end(key)
        while len(self._values) > REMEMBERED:
            self._values.popitem(last=False)
        return self._values[key]


class ServedFolder:
    """The folder whose files agents may name; None allows no files."""

    def __init__(self, folder: str | None) -> None:
        self._folder = None if folder is None else os.path.realpath(folder)
        if folder is not None and not os.path.isdir(folder):
            raise InputError(f"--modules: expected a folder, got {folder}")

    def read(self, path: str) -> bytes:
        """Read a file of the folder.

        Raises:
            InputError: it is missing, not a regular file, or outside the folder, also by a link.
        """
        if self._folder is None:
            msg = f"path {path!r:.80}: expected the module's bytes, got a path, and the service has no corpus"
            raise InputError(f"{msg}; start it with --modules DIR")
        try:
            place = os.path.realpath(os.path.join(self._folder, path))
            if os.path.isabs(path) or os.path.commonpath([place, self._folder]) != self._folder:
                raise InputError(f"path {path!r:.80} is outside the corpus")
            with open(place, "rb", opener=_open) as file:
                status = os.fstat(file.fileno())
                if not stat.S_ISREG(status.st_mode):
                    raise InputError(f"path {path!r:.80}: expected a regular file of the corpus, got another")
                if status.st_size > wire.LARGEST:
                    most = f"at most {wire.LARGEST >> 20} MiB, got {status.st_size >> 20}"
                    raise InputError(f"path {path!r:.80}: expected a file of the corpus of {most}")
                return file.read()
        except (OSError, ValueError) as error:  # ValueError: a null character
            why = getattr(error, "strerror", None) or error
            raise InputError(f"path {path!r:.80}: expected a file of the corpus, got: {why}") from error


def _open(path: str, flags: int) -> int:
    """An opener for `open` that follows no link and does not block on a FIFO."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW)


class CompilerService:
    """Serves episodes: an agent has `timeout` seconds for an action, a compiler `limit` for an answer."""

    def __init__(
        self,
        pool: Pool,
        corpus: ServedFolder,
        timeout: float,
        limit: float,
        connections: Connections,
        share: Share,
    ) -> None:
        self.pool = pool
        self._connections, self._share = connections, share
        self.corpus = corpus
        self.timeout = timeout
        self.limit = limit
        self.baselines = Baselines()

    def handler(self) -> grpc.GenericRpcHandler:
        """The service's methods, for a gRPC server."""
        method: grpc.RpcMethodHandler[bytes, CompilerMessage] = grpc.stream_stream_rpc_method_handler(
            self._episodes,
            None,  # a malformed message gets an answer
            CompilerMessage.SerializeToString,
        )
        return grpc.method_handlers_generic_handler(SERVICE, {"Episodes": method})

    async def _episodes(self, _messages: object, context: Context) -> None:
        with self._share.place(context) as free, self._connections.call(context.peer()) as stream:
            if not free:
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, self._share.refusal)
            await _AgentStream(self, context, stream).run()


class _AgentStream:
    """Serves one agent's episodes, one after the other."""

    def __init__(self, service: CompilerService, context: Context, stream: Stream) -> None:
        self._service = service
        self._stream = stream
        self._pool = service.pool
        self._context = context
        self._worker: EpisodeWorker | None = None  # during an episode
        self._start = Start()

    async def run(self) -> None:
        """Answer until the agent leaves; its death cancels this at any await."""
        try:
            while isinstance(data := await self._next(), bytes):
                self._stream.take(len(data))
                answer = await self._answer(data)
                await self._within(self._service.timeout, self._context.write(answer), "it to take an answer")
        finally:
            self._leave(done=False)

    async def _next(self) -> object:
        seconds = self._service.timeout if self._worker else None
        return await self._within(seconds, self._context.read(), "an action")

    async def _within(self, seconds: float | None, wait: Awaitable[object], what: str) -> object:
        try:
            async with asyncio.timeout(seconds):
                return await wait
        except TimeoutError:
            self._leave(done=False)  # an agent that reads nothing blocks the abort, too
            msg = f"agent: expected {what} within {seconds:g} s, got silence; see --timeout"
            await self._context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, msg)

    async def _answer(self, data: bytes) -> CompilerMessage:
        try:
            message = AgentMessage.FromString(data)
            if message.HasField("start"):
                return await self._begin(message.start)
            if self._worker is None:
                raise InputError("agent: no episode is under way; send a start first")
            message.action.SetInParent()  # an empty message is an action without a value
            return await self._ask(self._worker, message)
        except Error as error:
            return failure(error)
        except DecodeError:
            return failure(PeerError(f"agent: expected a message of compiler.proto, got {data[:40]!r}"))

    async def _begin(self, start: Start) -> CompilerMessage:
        self._worker = await self._free_worker()
        try:
            if not start.point:
                raise InputError("point: expected the name of a decision point, got none")
            if start.WhichOneof("module") is None:
                raise InputError("module: expected bitcode, assembly or a path, got none")
            if start.HasField("path"):
                start.code = await asyncio.to_thread(self._service.corpus.read, start.path)
        except Error:
            self._leave(done=True)
            raise
        self._start = start
        return await self._ask(self._worker, AgentMessage(start=start))

    async def _free_worker(self) -> EpisodeWorker:
        """The worker of the present episode, which ends, or another one."""
        if self._worker is not None:
            try:
                await self._worker.abandon()
            except CompilationError:
                self._bury()
            else:
                return self._worker
        return await self._pool.borrow()

    async def _ask(self, worker: EpisodeWorker, message: AgentMessage) -> CompilerMessage:
        """Send a message to the worker and return its answer; give it back after the last answer."""
        try:
            worker.send(message)
            answer = await worker.receive(self._service.limit)
            if answer.result.HasField("value"):
                await self._compare(worker, answer)
        except CompilationError:
            self._bury()
            raise
        if answer.HasField("result") or (answer.HasField("failure") and not answer.failure.retry):
            self._leave(done=True)
        return answer

    async def _compare(self, worker: EpisodeWorker, answer: CompilerMessage) -> None:
        """Add baseline and reward to a result."""
        default = default_start(self._start)
        key = hashlib.sha256(default.SerializeToString(deterministic=True)).digest()

        async def measure() -> float:
            worker.send(AgentMessage(start=default))
            measured = await worker.receive(self._service.limit)
            if measured.HasField("failure"):
                msg = f"the default's compilation: {measured.failure.failure.error}"
                raise CompilationError(msg)
            return measured.result.value

        result = answer.result
        result.baseline = await self._service.baselines.value(key, measure)
        result.reward = improvement(result.value, result.baseline)

    def _leave(self, *, done: bool) -> None:
        """End the episode, if any, and give its worker back."""
        self._start = Start()
        worker, self._worker = self._worker, None
        if worker is not None:
            self._pool.give_back(worker, done=done)

    def _bury(self) -> None:
        """End the episode, if any, and its worker process."""
        self._start = Start()
        worker, self._worker = self._worker, None
        if worker is not None:
            self._pool.end(worker)
