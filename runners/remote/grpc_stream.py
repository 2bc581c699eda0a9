# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A gRPC stream of byte strings both ways: `GrpcStream` asks at the client, `turns` answers at the server.

grpcio's public calls hand every question and answer to other threads, which makes a round trip half as
expensive again. grpcio also has internal calls that need no other thread, but its public API uses them only
for one question with many answers. `GrpcStream` uses these internal calls; one thread asks and waits.

At the server, grpcio's public iterators take two events for each question: the answer has been sent, and the
next question has come. At each of them one thread wakes another. `turns` waits for both events at once, which
makes a round trip a third shorter; with another grpcio it uses the public iterators. No other file knows
grpcio's internal calls.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, Final

from passpilot.runners.remote import grpc_messages, wire  # before grpc: it sets grpc's verbosity

import grpc  # isort: skip
from grpc import _server
from grpc._cython import cygrpc  # type: ignore[attr-defined]

from passpilot.plugin.errors import PeerError
from passpilot.plugin.failures import for_terminal

KNOWN: Final = " to ".join(f"{major}.{minor}" for major, minor in grpc_messages.TESTED)
"""The tested versions of grpcio."""

_REFUSED: Final = ("refused", "before receiving SETTINGS frame")
"""Occur in gRPC's status text when nobody listens, or a server is too busy to greet."""
_NAP: Final = 0.05
_CODES: Final = {code.value[0]: code.name for code in grpc.StatusCode}
_ENDED: Final = 1
_ANSWERED: Final = 2
_CANCELLED: Final = grpc.StatusCode.CANCELLED.value[0]


def connect(
    target: str, certificates: bytes | None = None, *, largest: int = wire.MAX_LINE + wire.MAX_TEXT
) -> grpc.Channel:
    """Make a client's channel to `target`, with TLS if there are certificates; sends nothing yet.

    The server's messages may have at most `largest` bytes.
    """
    options = (*grpc_messages.CLIENT_OPTIONS, *grpc_messages.options(largest))
    if certificates is None:
        return grpc.insecure_channel(target, options)
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(certificates), options)


def reached(channel: grpc.Channel, timeout: float) -> bool:
    """Whether the server of a channel takes the connection; grpcio's own wait trusts the wall clock."""
    ready = threading.Event()

    def look(state: grpc.ChannelConnectivity) -> None:
        if state is grpc.ChannelConnectivity.READY:
            ready.set()

    channel.subscribe(look, try_to_connect=True)
    try:
        return ready.wait(timeout)
    finally:
        channel.unsubscribe(look)


class GrpcStream:
    """A stream of `method` on `channel`, which it owns; `metadata` is sent when it opens.

    One thread opens, asks and closes; any thread may call `cancel`.
    """

    status = ""
    """Why the stream ended: gRPC's status code by name, and its text."""

    refused = ""
    """The last status that said that nobody listens."""

    def __init__(self, channel: grpc.Channel, method: str, metadata: Sequence[tuple[str, str]]) -> None:
        self._channel = channel
        self._method = method.encode()
        self._metadata = tuple(metadata)
        self._call: cygrpc.SegregatedCall = None
        self._due = 0
        self._cancelled = False

    def open(self, question: bytes) -> bytes | None:
        """Open the stream with the first question and return its answer; None if the stream ended.

        May be called again after the stream has ended.

        Raises:
            PeerError: this grpcio has other internal calls.
        """
        self.status = ""
        try:
            self._call = self._start(question)
        except (AttributeError, TypeError) as error:
            msg = f"grpcio {grpc.__version__}: expected the calls that {KNOWN} have inside, got: {error}"
            raise PeerError(f"{msg}; install one of these") from error
        self._due = 2
        if self._cancelled:
            self.cancel()
        return self._answer()

    def open_when_listening(self, question: bytes, patient: Callable[[], bool]) -> bytes | None:
        """Like `open`, but try again while nobody listens and `patient()` is true.

        If a cancellation ends the wait, `refused` still says why nobody was reached.
        """
        while (answer := self.open(question)) is None and any(text in self.status for text in _REFUSED):
            self.refused = self.status
            if not patient():
                break
            time.sleep(_NAP)
        return answer

    def _start(self, question: bytes) -> cygrpc.SegregatedCall:
        ending = (cygrpc.ReceiveStatusOnClientOperation(0),)
        asking = (
            cygrpc.SendInitialMetadataOperation(self._metadata, 0),
            cygrpc.ReceiveInitialMetadataOperation(0),
            cygrpc.SendMessageOperation(question, 0),
            cygrpc.ReceiveMessageOperation(0),
        )
        return self._channel._channel.segregated_call(  # type: ignore[attr-defined]
            0, self._method, None, None, self._metadata, None, ((ending, _ENDED), (asking, _ANSWERED)), None
        )

    def ask(self, question: bytes) -> bytes | None:
        """The answer to the next question; None if the stream has ended, and `status` says why."""
        asking = (cygrpc.SendMessageOperation(question, 0), cygrpc.ReceiveMessageOperation(0))
        if not self._call.operate(asking, _ANSWERED):
            return None
        self._due += 1
        return self._answer()

    def _answer(self) -> bytes | None:
        event = self._next()
        if event.tag == _ENDED:
            event = self._next()
        answer: bytes | None = event.batch_operations[-1].message()
        if answer is None and not self.status:
            self._next()
        return answer

    def _next(self) -> cygrpc.BaseEvent:
        due, self._due = self._due, 0  # an interruption makes cygrpc drop the call
        event = self._call.next_event()
        self._due = due - 1
        if event.tag == _ENDED:
            (end,) = event.batch_operations
            self.status = for_terminal(f"{_CODES.get(end.code(), end.code())}: {end.details()}")
        return event

    def cancel(self) -> None:
        """End the stream; a thread that waits for an answer gets None."""
        self._cancelled = True
        if self._call is not None:
            self._call.cancel(_CANCELLED, "cancelled")

    def close(self) -> None:
        """End the stream and close its channel. Idempotent."""
        self.cancel()
        while self._due:
            self._next()
        self._channel.close()


_DUE: Final = "passpilot's turn"
"""Names the pending event among those that grpcio waits for before it ends a call."""


def turns(
    requests: Iterator[bytes], context: grpc.ServicerContext, answer: Callable[[bytes], bytes]
) -> Iterator[bytes]:
    """Answer all questions; yields only the answers that grpcio itself must send.

    Raises:
        grpc.RpcError: the client is gone.
    """
    try:
        stream = _ServerStream(context)
        question = stream.next(())
    except (AttributeError, TypeError):  # another grpcio; nothing has been read
        yield from map(answer, requests)
        return
    while question is not None:
        question = stream.next((cygrpc.SendMessageOperation(answer(question), 0),))


class _ServerStream:
    """The stream of one call; its thread waits for the events that grpcio's own thread reports."""

    def __init__(self, context: Any) -> None:
        self._call, self._state = context._rpc_event.call, context._state
        self._condition, self._due = self._state.condition, self._state.due
        self._active, self._finish = _server._is_rpc_state_active, _server._possibly_finish_call
        self._arrived: SimpleQueue[bytes | None] = SimpleQueue()

    def next(self, sends: tuple[cygrpc.Operation, ...]) -> bytes | None:
        """Send, and wait for the next question; None if there is none."""
        operations = (*sends, cygrpc.ReceiveMessageOperation(0))
        with self._condition:
            if not self._active(self._state):
                return None
            self._call.start_server_batch(operations, self._done)
            self._due.add(_DUE)
        return self._arrived.get()

    def _done(self, event: cygrpc.BaseEvent) -> object:
        """Called by grpcio's thread once all is sent and a question has come, or the call has ended."""
        question = event.batch_operations[-1].message()
        with self._condition:
            finished = self._finish(self._state, _DUE)
        self._arrived.put(question)
        return finished
