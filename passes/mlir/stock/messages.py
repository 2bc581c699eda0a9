# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages between `passpilot.passes.mlir.stock.door` and `passpilot.passes.mlir.stock.worker`.

Wire format: a message is a frame of JSON, then a frame of IR as text. A request is the name of one of the
classes below with its fields, and for `RunRequest` the operation. An answer has the diagnostics and the new
operation, empty if there is none or it has not changed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from multiprocessing.connection import Connection

    from passpilot.passes.advisor import OnError

Place = tuple[str, int, int]
"""File, line and column; empty and 0 if unknown."""

Told = tuple[str, str, Place]
"""A diagnostic: severity, such as ``error``, text and place."""


class RunRequest(NamedTuple):
    """The request to run a pass."""

    compilation: int
    """The number of the compilation; 0 if it has no advisors."""
    operation: str
    """The name of the operation."""
    name: str
    """The name of the pass."""
    element: str
    """The pass with its options."""
    inside: bool
    """Whether the text is a module whose first operation is the one to run on."""


class AdviseRequest(NamedTuple):
    """The request to let a runner decide at a point, in all passes of a compilation."""

    compilation: int
    point: str
    runner: str
    log: str
    """The path of the log; empty for none."""
    on_error: OnError
    timeout: float


class EndRequest(NamedTuple):
    """The request to end the advisors of a compilation."""

    compilation: int
    good: bool
    """Whether the compilation has succeeded."""
    stats: bool
    """Whether to print the advisors' counts."""


Request = RunRequest | AdviseRequest | EndRequest

_REQUESTS: Final[Mapping[str, type[Request]]] = {
    each.__name__: each for each in (RunRequest, AdviseRequest, EndRequest)
}


class Reply(NamedTuple):
    """The diagnostics of a run, and the new operation, empty if unchanged."""

    told: Sequence[Told]
    text: bytes = b""


def send_request(connection: Connection, request: Request, text: bytes = b"") -> None:
    """Ask the worker for something."""
    _send(connection, (type(request).__name__, request), text)


def receive_request(connection: Connection) -> tuple[Request, bytes]:
    """The next request and its operation."""
    (kind, fields), text = _receive(connection)
    return _REQUESTS[kind](*fields), text


def send_answer(connection: Connection, answer: Reply) -> None:
    """Answer the last request."""
    _send(connection, answer.told, answer.text)


def receive_answer(connection: Connection) -> Reply:
    """The answer to the last request."""
    told, text = _receive(connection)
    return Reply([(kind, said, (file, line, column)) for kind, said, (file, line, column) in told], text)


def _send(connection: Connection, fields: object, text: bytes) -> None:
    connection.send_bytes(json.dumps(fields).encode())
    connection.send_bytes(text)


def _receive(connection: Connection) -> tuple[Any, bytes]:
    return json.loads(connection.recv_bytes()), connection.recv_bytes()
