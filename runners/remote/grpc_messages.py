# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages of advisor.proto and the channel options, for clients and servers.

Both ends know the size of a question and its answer, and therefore encode and decode them without protobuf
objects: in protobuf's encoding, a frame follows a fixed head, and an advice is 8 bytes after a head of one.
Protobuf handles all other messages.
"""

from __future__ import annotations

import os
import re
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from google.protobuf.json_format import MessageToJson, Parse

from passpilot.plugin.errors import UsageError
from passpilot.plugin.failures import printable
from passpilot.runners.remote import wire
from passpilot.runners.remote.advisor_pb2 import Answer, Failure, Hello, Question

TESTED: Final = (1, 66), (1, 85)
"""The first and the last tested version of grpcio."""

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from passpilot.features.point import Point
    from passpilot.features.spec import TensorSpec


def _let_waiting_threads_poll() -> None:
    """Switch gRPC's event engine off, unless the user has set GRPC_EXPERIMENTS.

    Its threads read from the connection and hand every message to the thread that waits for it. Without them
    that thread reads by itself, and a round trip takes about half the time. Both ways are in the grpcio that
    `TESTED` names; another might complain about the names. No thread waits for a connection that is
    being made: gRPC looks at it at an interval, by default five seconds.
    """
    place = find_spec("grpc")
    text = Path(place.origin).with_name("_grpcio_metadata.py").read_text() if place and place.origin else ""
    version = re.search(r"(\d+)\.(\d+)", text)
    if version and TESTED[0] <= (int(version[1]), int(version[2])) <= TESTED[1]:
        os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")
        os.environ.setdefault("GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS", "50")


os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # grpc reads this when imported; passpilot reports its errors
_let_waiting_threads_poll()

SERVICE: Final = "passpilot.v1.Advisor"
METHOD: Final = "Advise"
CLIENT_OPTIONS: Final = (
    ("grpc.enable_http_proxy", 0),  # connect to HOST:PORT itself: a proxy would read the token
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)
"""The options of all clients' channels, besides `options`."""

_ADDRESS: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[\w.-]*):)?(\d{1,5})", re.ASCII)
_FRAME, _INTEGER, _NUMBER = 0x12, 0x11, 0x19
"""Protobuf's tags of the fields: number and wire type."""


def options(largest: int, timeout: float = 10.0) -> tuple[tuple[str, int], ...]:
    """The options of a channel or server whose peers send messages of at most `largest` bytes.

    A peer has `timeout` seconds for its handshake, that of TLS included.
    """
    return (
        ("grpc.max_send_message_length", wire.LARGEST),
        ("grpc.max_receive_message_length", largest),
        # gRPC bounds a message before it expands it, and a gigabyte of zeros is a megabyte.
        ("grpc.compression_enabled_algorithms_bitset", 1),
        ("grpc.per_message_decompression", 0),
        ("grpc.server_handshake_timeout_ms", int(timeout * 1000)),
    )


def hello(point: Point) -> bytes:
    """The compiler's first message."""
    text = wire.hello(point).decode()
    return Question(hello=Parse(text, Hello(), ignore_unknown_fields=True)).SerializeToString()


def as_json(message: Message) -> bytes:
    """The message as the equivalent line of `passpilot.runners.remote.wire`."""
    return MessageToJson(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    ).encode()


def frame_head(size: int) -> bytes:
    """The bytes before a frame of `size` bytes."""
    head = bytearray([_FRAME])
    while size > 0x7F:  # protobuf's varint: seven bits at a time, the lowest first
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*head, size])


class AdviceCode:
    """Encodes and decodes the answers that hold an advice of `spec`."""

    def __init__(self, spec: TensorSpec) -> None:
        self.field = "number" if spec.dtype.startswith("float") else "integer"
        self.head = _NUMBER if self.field == "number" else _INTEGER
        self._struct = struct.Struct("<Bd" if self.field == "number" else "<Bq")
        self.size = self._struct.size
        self.unpack = self._struct.unpack

    def pack(self, advice: int | float) -> bytes:
        """Encode the answer."""
        return self._struct.pack(self.head, advice)


def failure(error: str, kind: str) -> bytes:
    """The answer that reports an error of the class `kind`."""
    text = wire.text_message(printable(error or "error")).decode()
    return Answer(failure=Failure(error=text, kind=kind)).SerializeToString()


def split_address(text: str, who: str) -> tuple[str, int]:
    """Host and port of HOST:PORT, [HOST]:PORT, :PORT or PORT; the default host is this machine.

    Raises:
        UsageError: the text has another form.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise UsageError(f"{who}: expected HOST:PORT, got {text!r}")
    if int(found[2]) >= 1 << 16:
        raise UsageError(f"{who}: expected a port below 65536, got {found[2]}")
    return found[1] or "127.0.0.1", int(found[2])
