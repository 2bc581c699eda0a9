# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`turns`: answers the questions of one gRPC stream, with one event of grpcio for each.

grpcio's public iterators take two events for each question: the answer has been sent, and the next question
has come. At each of them one thread wakes another. grpcio's internal calls can wait for both events at once,
which makes a round trip a third shorter. `turns` uses them if this grpcio has them, and the public iterators
otherwise.
"""

from __future__ import annotations

from queue import SimpleQueue
from typing import Any, Final

from passpilot.runners.remote import grpc_messages  # noqa: F401  (before grpc: it sets grpc's verbosity)

from grpc import _server  # isort: skip
from grpc._cython import cygrpc  # type: ignore[attr-defined]  # isort: skip

from collections.abc import Callable, Iterator

import grpc

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
        stream = _Stream(context)
        question = stream.next(())
    except (AttributeError, TypeError):  # another grpcio; nothing has been read
        yield from map(answer, requests)
        return
    while question is not None:
        question = stream.next((cygrpc.SendMessageOperation(answer(question), 0),))


class _Stream:
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
