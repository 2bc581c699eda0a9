# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages between `passpilot.passes.mlir.stock.door` and `passpilot.passes.mlir.stock.worker`.

Wire format: a message is a frame of JSON, then a frame of IR as text. A request has the fields of `Request`
and the operation; an answer has the diagnostics and the new operation, empty if it has not changed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

Place = tuple[str, int, int]
"""File, line and column; empty and 0 if unknown."""

Told = tuple[str, str, Place]
"""A diagnostic: severity, such as ``error``, text and place."""


class Request(NamedTuple):
    """The request to run a pass."""

    operation: str
    """The name of the operation."""
    name: str
    """The name of the pass."""
    element: str
    """The pass with its options."""
    inside: bool
    """Whether the text is a module whose first operation is the one to run on."""


class Reply(NamedTuple):
    """The diagnostics of a run, and the new operation, empty if unchanged."""

    told: Sequence[Told]
    text: bytes


def send_request(connection: Connection, request: Request, text: bytes) -> None:
    """Ask the worker to run a pass on the operation in `text`."""
    _send(connection, request, text)


def receive_request(connection: Connection) -> tuple[Request, bytes]:
    """The next request and its operation."""
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
