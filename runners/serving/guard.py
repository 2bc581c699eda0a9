# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Guards a gRPC server: who must send the token, and how much of the server one client can occupy.

The token is needed for every call, also for health checks and reflection. A call without it is answered at
once and occupies nothing. Health checks and reflection have a few places of their own and a deadline, so that
they take no place from sessions.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, TypeVar, cast

import grpc

from passpilot.runners.remote.auth import has_token

Details = grpc.HandlerCallDetails

Asked = TypeVar("Asked")
Answered = TypeVar("Answered")

LOOKERS: Final = 16
"""The most health checks and reflections at a time, for all clients together."""

_REFUSED: Final = "expected the token of this server in `authorization: Bearer TOKEN`"


class TokenGuard(grpc.ServerInterceptor):
    """Refuses all calls without the server's token.

    Calls of other services than `service`, which are health checks and reflection, share `LOOKERS` places
    and end after `timeout` seconds.
    """

    def __init__(self, token: str, service: str, timeout: float) -> None:
        self._token, self._prefix, self._timeout = token, f"/{service}/", timeout
        self._places = threading.BoundedSemaphore(LOOKERS)
        self._refusal: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(_refuse)

    def intercept_service(
        self,
        continuation: Callable[[Details], grpc.RpcMethodHandler[Asked, Answered] | None],
        details: Details,
    ) -> grpc.RpcMethodHandler[Asked, Answered] | None:
        """The handler of a call."""
        if not has_token(details.invocation_metadata, self._token):
            return cast("grpc.RpcMethodHandler[Asked, Answered]", self._refusal)
        handler = continuation(details)
        if handler is None or details.method.startswith(self._prefix):
            return handler
        return self._bounded(handler)

    def _bounded(
        self, handler: grpc.RpcMethodHandler[Asked, Answered]
    ) -> grpc.RpcMethodHandler[Asked, Answered]:
        """The handler with a place and a deadline."""
        for kind in ("unary_unary", "unary_stream", "stream_unary", "stream_stream"):
            if (behaviour := getattr(handler, kind)) is not None:
                make = getattr(grpc, f"{kind}_rpc_method_handler")
                wrap = self._streaming if kind.endswith("stream") else self._single
                codecs = (handler.request_deserializer, handler.response_serializer)
                return make(wrap(behaviour), *codecs)  # type: ignore[no-any-return]
        return handler

    def _single(self, behaviour: Callable[..., object]) -> Callable[..., object]:
        def answer(request: object, context: grpc.ServicerContext) -> object:
            with self._place(context):
                return behaviour(request, context)

        return answer

    def _streaming(self, behaviour: Callable[..., Iterator[object]]) -> Callable[..., object]:
        def answer(request: object, context: grpc.ServicerContext) -> Iterator[object]:
            with self._place(context):
                yield from behaviour(request, context)

        return answer

    @contextlib.contextmanager
    def _place(self, context: grpc.ServicerContext) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            text = f"expected at most {LOOKERS} health checks and reflections at a time, got one more"
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, text)
        try:
            with cancelled_after(self._timeout, context):
                yield
        finally:
            self._places.release()


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
    """Refuses all calls without the token of a server with an event loop."""

    def __init__(self, token: str) -> None:
        self._token = token
        self._refusal: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(
            _refuse_later
        )

    async def intercept_service(
        self,
        continuation: Callable[[Details], Awaitable[grpc.RpcMethodHandler[Asked, Answered] | None]],
        details: Details,
    ) -> grpc.RpcMethodHandler[Asked, Answered] | None:
        """The handler of a call."""
        if has_token(details.invocation_metadata, self._token):
            return await continuation(details)
        return cast("grpc.RpcMethodHandler[Asked, Answered]", self._refusal)


class Share:
    """Counts the sessions of each address, so that one does not take all places.

    `most` is the most sessions of one address at a time.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._of: Counter[str] = Counter()

    @contextlib.contextmanager
    def place(self, context: grpc.ServicerContext) -> Iterator[bool]:
        """A place for the session of this block; false if the client's address has no more."""
        address = context.peer().rpartition(":")[0]
        with self._lock:
            self._of[address] += 1
            free = self._of[address] <= self.most
        try:
            yield free
        finally:
            with self._lock:
                self._of[address] -= 1
                if not self._of[address]:
                    del self._of[address]


def _refuse(_: object, context: grpc.ServicerContext) -> Iterator[bytes]:
    context.set_code(grpc.StatusCode.UNAUTHENTICATED)
    context.set_details(_REFUSED)
    return iter(())


async def _refuse_later(_: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
    await context.abort(grpc.StatusCode.UNAUTHENTICATED, _REFUSED)
