# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `passpilot.passes.mlir.stock.door` and `passpilot.passes.mlir.stock.worker` say to each other.

Each message is a frame of JSON, and one of IR as text. A request is a `Request`, and the operation. An answer
is what is to be told, and the operation that results; nothing if it is the same as before.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

Place = tuple[str, int, int]
"""File, line and column, as far as known."""

Told = tuple[str, str, Place]
"""A kind, such as ``error``, a text, and where."""


class Request(NamedTuple):
    """A run of a pass."""

    operation: str
    """The name of the operation."""
    name: str
    """That of the pass."""
    element: str
    """The pass with its options."""
    inside: bool
    """Whether the text is that of a module, in which the operation comes first."""


class Reply(NamedTuple):
    """What has come of it."""

    told: Sequence[Told]
    text: bytes


def send_request(connection: Connection, request: Request, text: bytes) -> None:
    """Ask for a run of a pass on the operation that is `text`."""
    _send(connection, request, text)


def receive_request(connection: Connection) -> tuple[Request, bytes]:
    """The next request, and the operation."""
    fields, text = _receive(connection)
    return Request(*fields), text


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
