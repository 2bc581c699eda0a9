# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guards a gRPC server: who must send the token, and how much of the server one client can occupy.

The token is needed for every call, also for health checks and reflection. A call without it is answered at
once and occupies nothing. Health checks and reflection have a few places of their own and a deadline, so that
they take no place from sessions.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, Final, TypeAlias, TypeVar, cast

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest

from passpilot.runners.remote.auth import has_token
from passpilot.runners.serving.connections import Connections, address_of, peer_of

Details = grpc.HandlerCallDetails

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")

LOOKERS: Final = 16
"""The most health checks and reflections at a time, for all clients together."""

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Context: TypeAlias = "grpc.ServicerContext | grpc.aio.ServicerContext[Any, Any]"

_CROWDED: Final = f"expected at most {LOOKERS} health checks and reflections at a time, got one more"
_UNKNOWN: Final = "expected a question about a service that is here, got another or none"
_LATE: Final = "health checks and reflections must end earlier"
_REFUSED: Final = "expected the token of this server in `authorization: Bearer TOKEN`"


class Lookers:
    """Bounds the calls of other services than `service`, which are health checks and reflection.

    They share `LOOKERS` places and end after `timeout` seconds. All become streams: gRPC would wait for the
    message of a unary call before anybody counts the call, or keeps its deadline.
    """

    def __init__(self, service: str, timeout: float, connections: Connections) -> None:
        self.service, self.timeout = service, timeout
        self._connections = connections
        self._lock = threading.Lock()
        self._count = 0

    @contextlib.contextmanager
    def place(self, context: grpc.ServicerContext | grpc.aio.ServicerContext[Any, Any]) -> Iterator[bool]:
        """A place for the call of this block; false if there is none."""
        with self._lock:
            self._count += 1
            free = self._count <= LOOKERS
        try:
            with self._connections.call(context.peer()):
                yield free
        finally:
            with self._lock:
                self._count -= 1

    def unknown(self, asked: object) -> bool:
        """Whether it is a question about a service that is not here: gRPC's health checks keep the names."""
        return isinstance(asked, HealthCheckRequest) and asked.service not in ("", self.service)


class TokenGuard(grpc.ServerInterceptor):
    """Refuses all calls without the server's token, and bounds `lookers`."""

    def __init__(self, token: str, lookers: Lookers) -> None:
        self._token, self._lookers = token, lookers
        self._refusal: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(_refuse)

    def intercept_service(
        self,
        continuation: Callable[[Details], grpc.RpcMethodHandler[Asked, Answered] | None],
        details: Details,
    ) -> grpc.RpcMethodHandler[Asked, Answered] | None:
        if not has_token(details.invocation_metadata, self._token):
            return cast("grpc.RpcMethodHandler[Asked, Answered]", self._refusal)
        handler = continuation(details)
        if handler is None or details.method.startswith(f"/{self._lookers.service}/"):
            return handler
        return _as_stream(handler, self._answer)

    def _answer(
        self, handler: Handler, requests: Iterator[object], context: grpc.ServicerContext
    ) -> Iterator[object]:
        with self._lookers.place(context) as free, cancelled_after(self._lookers.timeout, context):
            if not free:
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, _CROWDED)
            asked = requests if handler.request_streaming else next(requests, None)
            if asked is None or self._lookers.unknown(asked):
                context.abort(grpc.StatusCode.NOT_FOUND, _UNKNOWN)
            answer = _behaviour(handler)(asked, context)
            if handler.response_streaming:
                yield from cast("Iterator[object]", answer)
            else:
                yield answer


def _as_stream(handler: Handler, answer: Callable[..., object]) -> Handler:
    codecs = (handler.request_deserializer, handler.response_serializer)
    return grpc.stream_stream_rpc_method_handler(functools.partial(answer, handler), *codecs)


def _behaviour(handler: Handler) -> Callable[[object, object], object]:
    kinds = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
    return cast(
        "Callable[[object, object], object]", next(filter(None, (getattr(handler, k) for k in kinds)))
    )


@contextlib.contextmanager
def cancelled_after(seconds: float, context: grpc.ServicerContext) -> Iterator[None]:
    """Cancel a call whose block takes too long."""
    timer = threading.Timer(seconds, context.cancel)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class AsyncTokenGuard(grpc.aio.ServerInterceptor):
    """The guard of a server with an event loop."""

    def __init__(self, token: str, lookers: Lookers) -> None:
        self._token, self._lookers = token, lookers
        self._refusal: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(
            _refuse_later
        )

    async def intercept_service(
        self,
        continuation: Callable[[Details], Awaitable[grpc.RpcMethodHandler[Asked, Answered] | None]],
        details: Details,
    ) -> grpc.RpcMethodHandler[Asked, Answered] | None:
        if not has_token(details.invocation_metadata, self._token):
            return cast("grpc.RpcMethodHandler[Asked, Answered]", self._refusal)
        handler = await continuation(details)
        if handler is None or details.method.startswith(f"/{self._lookers.service}/"):
            return handler
        return _as_stream(handler, self._answer)

    async def _answer(
        self,
        handler: Handler,
        requests: AsyncIterator[object],
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> None:
        with self._lookers.place(context) as free:
            if not free:
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, _CROWDED)
            try:
                async with asyncio.timeout(self._lookers.timeout):
                    await self._look(handler, requests, context)
            except TimeoutError:
                await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, _LATE)

    async def _look(
        self,
        handler: Handler,
        requests: AsyncIterator[object],
        context: grpc.aio.ServicerContext[Any, Any],
    ) -> None:
        asked = requests if handler.request_streaming else await anext(requests, None)
        if asked is None or self._lookers.unknown(asked):
            await context.abort(grpc.StatusCode.NOT_FOUND, _UNKNOWN)
        answer = _behaviour(handler)(asked, context)
        if isinstance(answer, AsyncIterator):
            async for part in answer:
                await context.write(part)
        elif (value := await cast("Awaitable[object]", answer)) is not None:
            await context.write(value)


class Share:
    """Counts the sessions of each peer, so that one does not take all places; `peer_of` says who is one.

    `most` is the most sessions of one peer at a time.
    """

    def __init__(self, most: int) -> None:
        self.refusal = f"expected at most {most} sessions of one peer at a time, got one more"
        self._most = most
        self._lock = threading.Lock()
        self._of: Counter[str] = Counter()

    @contextlib.contextmanager
    def place(self, context: grpc.ServicerContext | grpc.aio.ServicerContext[Any, Any]) -> Iterator[bool]:
        """A place for the session of this block; false if the client has no more."""
        peer = peer_of(address_of(context.peer())[0])
        with self._lock:
            self._of[peer] += 1
            free = self._of[peer] <= self._most
        try:
            yield free
        finally:
            with self._lock:
                self._of[peer] -= 1
                if not self._of[peer]:
                    del self._of[peer]


def _refuse(_: object, context: grpc.ServicerContext) -> Iterator[bytes]:
    context.set_code(grpc.StatusCode.UNAUTHENTICATED)
    context.set_details(_REFUSED)
    return iter(())


async def _refuse_later(_: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, _REFUSED)
