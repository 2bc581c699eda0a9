# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages of advisor.proto as both ends use them, and what their channels have in common.

A question and an answer of every decision have a size known to both ends. So they are made and read as bytes,
without a protobuf object: as protobuf writes them, a frame is bytes after a fixed head, and an advice 8 bytes
after one. Whatever does not look like this is left to protobuf.
"""

from __future__ import annotations

import os
import re
import struct
from typing import TYPE_CHECKING, Final

from google.protobuf.json_format import MessageToJson, Parse

from passpilot.plugin.errors import UsageError
from passpilot.runners.remote import wire
from passpilot.runners.remote.advisor_pb2 import Answer, Failure, Hello, Question

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from passpilot.features.point import Point
    from passpilot.features.spec import TensorSpec

os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # read when grpc is imported; its errors become ours

SERVICE: Final = "passpilot.v1.Advisor"
METHOD: Final = "Advise"
LARGEST: Final = 200 << 20
"""The bytes of a message, at most."""

OPTIONS: Final = (
    ("grpc.max_send_message_length", LARGEST),
    ("grpc.max_receive_message_length", LARGEST),
)
_ADDRESS: Final = re.compile(r"(?:(\[[0-9A-Fa-f:.]+(?:%\w+)?\]|[\w.-]*):)?(\d{1,5})", re.ASCII)
_FRAME, _INTEGER, _NUMBER = 0x12, 0x11, 0x19
"""Number and type of a field, as protobuf writes them."""


def hello(point: Point) -> bytes:
    """The compiler's first question."""
    text = wire.hello(point).decode()
    return Question(hello=Parse(text, Hello(), ignore_unknown_fields=True)).SerializeToString()


def as_json(message: Message) -> bytes:
    """A message as the line of `passpilot.runners.remote.wire` that says the same."""
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
    """The answers that hold an advice of `spec`."""

    def __init__(self, spec: TensorSpec) -> None:
        self.field = "number" if spec.dtype.startswith("float") else "integer"
        self.head = _NUMBER if self.field == "number" else _INTEGER
        self._struct = struct.Struct("<Bd" if self.field == "number" else "<Bq")
        self.size = self._struct.size
        self.unpack = self._struct.unpack

    def pack(self, advice: int | float) -> bytes:
        """The answer."""
        return self._struct.pack(self.head, advice)


def failure(error: str, kind: str) -> bytes:
    """The answer that tells an error of the class `kind`."""
    text = wire.text_message(error or "error").decode()
    return Answer(failure=Failure(error=text, kind=kind)).SerializeToString()


def split_address(text: str, who: str) -> tuple[str, int]:
    """Host and port of HOST:PORT, [HOST]:PORT, :PORT or PORT; without a host, this machine's own.

    Raises:
        UsageError: it is none of these.
    """
    found = _ADDRESS.fullmatch(text)
    if found is None or int(found[2]) >= 1 << 16:
        raise UsageError(f"{who}: expected HOST:PORT, got {text!r}")
    return found[1] or "127.0.0.1", int(found[2])
