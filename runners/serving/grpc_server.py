# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot serve RUNNER --grpc HOST:PORT`: a model server for many compilers, the other end of `grpc:`.

advisor.proto defines the messages. Every session has its own thread and runner, so that a slow decision
function delays no other compiler: a class is instantiated for every compiler, a function may run on several
threads at once. A compiler that dies ends only its session; a runner's error goes back to the compiler as
text, and the session goes on.
"""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from google.protobuf.message import DecodeError

from passpilot.runners.remote import grpc_messages, wire  # before grpc: it sets grpc's verbosity

import grpc  # isort: skip
from collections.abc import Iterator

from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from passpilot.features.domain import Flag
from passpilot.features.point import Point
from passpilot.plugin.errors import PeerError
from passpilot.plugin.failures import describe_failure
from passpilot.runners.base import Runner, tensor_views
from passpilot.runners.remote.advisor_pb2 import Answer, Done, Question, Welcome
from passpilot.runners.remote.frame_changes import FrameReader
from passpilot.runners.remote.grpc_stream import turns
from passpilot.runners.serving.connections import Connections, Stream, descriptors
from passpilot.runners.serving.guard import LOOKERS, Lookers, Share, TokenGuard, cancelled_after
from passpilot.runners.serving.sessions import FRAME, SessionCount, Supply, Tally
from passpilot.runners.spec import RunnerLike

MOST: Final = 1000
"""The most sessions at a time, half of them of one peer; one more is refused, not queued."""

_OWN_DESCRIPTORS: Final = 40
"""Descriptors that are no client's."""

_PATIENCE: Final = 1.0
OPTIONS: Final = (
    ("grpc.so_reuseport", 0),  # a port that is taken is an error
    ("grpc.max_concurrent_streams", 128),
    ("grpc.max_connection_idle_ms", 60_000),
)
"""Options of a server."""

TOTAL: Final = 64
"""All unfinished messages together have at most as many bytes as so many largest ones."""

_CONTEXT_HEAD: Final = 4
"""Bytes of protobuf before the name of a context: the tag and a length of at most three bytes."""

_LAST_WORDS: Final = 0.5
"""Seconds for sending them."""

_DONE: Final = Answer(done=Done()).SerializeToString()


class GrpcServer:
    """Serves the runner that `spec` names at `address`, HOST:PORT, from the `with` statement on.

    `timeout` in seconds bounds the wait for a handshake, and for the end of a message; between questions a
    compiler may be silent without limit. `frame` bounds the bytes of a client's tensors. If `token` is set,
    clients must send it; `tls` is the certificate chain and its private key, both
    PEM.

    Raises:
        Error: the runner cannot be made.
        PeerError: the port cannot be used.
    """

    def __init__(
        self,
        spec: RunnerLike,
        address: str,
        *,
        point: str = "inline",
        timeout: float = 10.0,
        frame: int = FRAME,
        token: str = "",
        tls: tuple[bytes, bytes] | None = None,
        tally: Tally | None = None,
    ) -> None:
        self._tally = tally or Tally()
        self._who = f"serve --grpc {address}"
        self._timeout = timeout
        self._sessions = 0
        self._changed = threading.Condition()
        self.ended = threading.Event()
        self._supply = Supply(spec, point, timeout, frame)
        largest = max(wire.MAX_LINE, self._supply.frame) + wire.MAX_TEXT
        most = places(MOST)
        self._share = Share(most // 2)
        self._threads = ThreadPoolExecutor(most + LOOKERS, "passpilot-serve")
        self._connections = Connections(wire.MAX_LINE, TOTAL * largest, timeout, self._tally.notice)
        lookers = Lookers(grpc_messages.SERVICE, timeout, self._connections)
        self._server = grpc.server(
            self._threads,
            options=(*OPTIONS, *grpc_messages.options(largest, timeout)),
            maximum_concurrent_rpcs=most + LOOKERS,
            interceptors=[TokenGuard(token, lookers)],
        )
        self._offer()
        try:
            self.port = listen(self._server, address, self._who, tls)
        except BaseException:
            self._supply.close()
            raise

    def _offer(self) -> None:
        handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(self._advise)
        service = grpc.method_handlers_generic_handler(grpc_messages.SERVICE, {grpc_messages.METHOD: handler})
        self._server.add_generic_rpc_handlers((service,))
        state = health.HealthServicer(experimental_non_blocking=False)  # else `Watch` would evade the guard
        health_pb2_grpc.add_HealthServicer_to_server(state, self._server)
        state.set(grpc_messages.SERVICE, health_pb2.HealthCheckResponse.SERVING)
        names = (grpc_messages.SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)

    def __enter__(self) -> GrpcServer:
        self._server.start()
        self._connections.start(self.port)
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> bool:
        """End all sessions; False if a session has not ended, as its runner does not return."""
        self._connections.stop()
        # A session that has ended may not have sent its last words yet.
        stopped = self._server.stop(None if self._sessions else _LAST_WORDS)
        self._supply.close()
        with self._changed:
            done = self._changed.wait_for(lambda: not self._sessions, _PATIENCE)
        done = stopped.wait(_PATIENCE) and done
        self._threads.shutdown(wait=False)
        return done

    @property
    def sessions(self) -> int:
        return self._sessions

    def _advise(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        self._count(1)
        try:
            with self._share.place(context) as free, self._connections.call(context.peer()) as stream:
                if free:
                    yield from self._session(requests, context, stream)
                else:
                    context.set_code(grpc.StatusCode.RESOURCE_EXHAUSTED)
                    context.set_details(self._share.refusal)
        except grpc.RpcError:
            pass  # the client is gone
        except (Exception, SystemExit) as error:  # noqa: BLE001  (it ends one session only)
            self._tally.notice(describe_failure(error))
        finally:
            self._count(-1)
            if not context.add_callback(self.ended.set):  # else after the last answer is sent
                self.ended.set()

    def _count(self, change: int) -> None:
        with self._changed:
            self._sessions += change
            self._changed.notify_all()

    def _session(
        self, requests: Iterator[bytes], context: grpc.ServicerContext, stream: Stream
    ) -> Iterator[bytes]:
        with cancelled_after(self._timeout, context):
            hello = next(requests, None)
        if hello is None:
            return
        stream.take(len(hello))
        with contextlib.ExitStack() as stack:
            try:
                point = _read_hello(hello)
                runner = stack.enter_context(self._supply.runner_for(point))
                count = stack.enter_context(self._tally.session(f"a client at {context.peer()}"))
                session = _GrpcSession(runner, point, count, stream)
            except (Exception, SystemExit) as error:  # noqa: BLE001  (it ends one session only)
                text = describe_failure(error)
                self._tally.notice(f"{self._who}: refused a client at {context.peer()}: {text}")
                yield grpc_messages.failure(text, type(error).__name__)
                return
            yield session.welcome(self._supply.name)
            yield from turns(requests, context, session.answer)


def _read_hello(data: bytes) -> Point:
    if len(data) > wire.MAX_LINE:
        raise PeerError(f"handshake: expected at most {wire.MAX_LINE} bytes, got {len(data)}")
    try:
        question = Question.FromString(data)
    except DecodeError as error:
        raise PeerError(f"handshake: expected a Question of advisor.proto, got {data[:80]!r}") from error
    if question.WhichOneof("kind") != "hello":
        raise PeerError(f"handshake: expected a hello, got {data[:80]!r}")
    return wire.read_hello(grpc_messages.as_json(question.hello))


class _GrpcSession:
    """The questions of one client after the handshake."""

    def __init__(self, runner: Runner, point: Point, count: SessionCount, stream: Stream) -> None:
        self._runner = runner
        self._count = count
        self._stream = stream
        self._domain = point.domain
        code = grpc_messages.AdviceCode(point.advice)
        self._pack = code.pack
        self._yes = code.pack(1) if isinstance(point.domain, Flag) else b""
        self._reader = FrameReader(wire.frame_size(runner.inputs))
        stream.declare(self._reader.frame.nbytes + wire.MAX_TEXT)
        self._tensors = tensor_views(runner.inputs, self._reader.seen)
        runner.bind(self._tensors, self._reader.frame)

    def welcome(self, name: str) -> bytes:
        """The answer to the handshake; `name` is the runner's text."""
        inputs = [spec.name for spec in self._runner.inputs]
        welcome = Welcome(inputs=inputs, runner=name, changes=self._reader.changes)
        return Answer(welcome=welcome).SerializeToString()

    def answer(self, request: bytes) -> bytes:
        self._stream.take(len(request))
        try:
            if not self._reader.read_whole(request) and self._other(request):
                return _DONE
            advice = self._runner.evaluate()
            answer = (advice is True and self._yes) or self._pack(self._domain.accept(advice, self._tensors))
            self._count.decisions += 1
            return answer
        except BaseException as error:  # noqa: BLE001  (sent to the compiler)
            self._reader.forget()
            return grpc_messages.failure(self._count.fail(error), type(error).__name__)

    def _other(self, request: bytes) -> bool:
        """Read a question that is no whole frame; whether it needs no advice."""
        try:
            question = Question.FromString(request)
        except DecodeError:
            question = Question()
        kind = question.WhichOneof("kind")
        if kind == "changes":
            self._reader.change(question.changes)
            return False
        if kind == "context":
            if len(request) > wire.MAX_TEXT + _CONTEXT_HEAD:
                most = f"a context's name of at most {wire.MAX_TEXT} bytes"
                raise PeerError(f"question: expected {most}, got {len(request)}")
            self._runner.switch_context(question.context)
            return True
        got = f"one of {len(question.frame)}" if kind == "frame" else f"{request[:80]!r}"
        size = self._reader.frame.nbytes
        raise PeerError(f"question: expected a frame of {size} bytes, or a context, got {got}")


def listen(
    server: grpc.Server | grpc.aio.Server, address: str, who: str, tls: tuple[bytes, bytes] | None
) -> int:
    """Let the server listen at HOST:PORT; return the port.

    Raises:
        UsageError: the address is malformed.
        PeerError: the port cannot be used, or certificate or key are invalid.
    """
    host, port = grpc_messages.split_address(address, who)
    if host == "localhost":  # gRPC would accept one free address, even if the other's port is taken
        host = "127.0.0.1"
    try:
        if tls is None:
            return server.add_insecure_port(f"{host}:{port}")
        chain, key = tls
        return server.add_secure_port(f"{host}:{port}", grpc.ssl_server_credentials([(key, chain)]))
    except RuntimeError as error:
        hint = "see whether another server has it" + (", and the certificate and key" if tls else "")
        raise PeerError(f"{who}: expected to listen there, got: {error}; {hint}") from error


def places(most: int) -> int:
    """The most sessions at a time, as far as this process may have descriptors for them."""
    return max(2, min(most, descriptors() - _OWN_DESCRIPTORS))


def announce(address: str, port: int) -> None:
    """Print the server's port, if `address` lets the system choose it (port 0)."""
    if grpc_messages.split_address(address, "address")[1] == 0:
        print(port, flush=True)
