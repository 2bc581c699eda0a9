# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Hostile clients of a gRPC server: each kind is a function of a port that yields while it does its worst."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Final

import grpc
from grpc_health.v1 import health_pb2

from passpilot.features.point import find_point
from passpilot.runners.remote import grpc_messages
from tests.runners.serving.grpc_serving import advise

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)
"""How a client of HTTP/2 begins, with empty settings."""
ADVISE: Final = f"/{grpc_messages.SERVICE}/{grpc_messages.METHOD}"
WATCH: Final = "/grpc.health.v1.Health/Watch"
CHECK: Final = "/grpc.health.v1.Health/Check"
HELLO: Final = grpc_messages.hello(find_point("inline"))

_PIECE: Final = 16384
_LONGEST: Final = 3.0


def framed(kind: int, flags: int, stream: int, data: bytes) -> bytes:
    """A frame of HTTP/2."""
    return struct.pack(">I", len(data))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + data


def headers(path: str, stream: int = 1) -> bytes:
    """The frame that opens a call of gRPC, without compression of the fields."""
    fields = {
        ":method": "POST",
        ":scheme": "http",
        ":path": path,
        ":authority": "here",
        "content-type": "application/grpc",
        "te": "trailers",
    }
    block = b"".join(
        b"\x00" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
        for name, value in fields.items()
    )
    return framed(1, 4, stream, block)


def message(data: bytes, size: int | None = None) -> bytes:
    """A message of gRPC that says it has `size` bytes."""
    return b"\x00" + struct.pack(">I", len(data) if size is None else size) + data


def opened(port: int, path: str = "", begin: bytes = b"", sender: str = "127.0.0.1") -> socket.socket:
    """A connection on which a call was opened, and a message has begun."""
    made = socket.create_connection(("127.0.0.1", port), 10, (sender, 0))
    made.sendall(PREFACE if path else b"")
    if path:
        made.sendall(headers(path) + (framed(0, 0, 1, begin) if begin else b""))
    return made


def pour(connection: socket.socket, size: int) -> None:
    """Send the bytes of an endless message, as fast as the server takes them, until it closes."""
    connection.settimeout(20)
    with contextlib.suppress(OSError):
        for _ in range(size // _PIECE):
            connection.sendall(framed(0, 0, 1, bytes(_PIECE)))
            drain(connection)


def drain(connection: socket.socket) -> None:
    """Take what the server has sent, such as its windows."""
    if select.select([connection], [], [], 0)[0] and not connection.recv(1 << 16):
        raise ConnectionResetError


def closed(connection: socket.socket, seconds: float = 30.0) -> bool:
    """Wait until the server has closed a connection."""
    connection.settimeout(seconds)
    try:
        while connection.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


def wait_for_end(connection: socket.socket) -> None:
    """Wait until the server has ended the only call."""
    connection.settimeout(30)
    got = b""
    while b"grpc-status" not in got and framed(3, 0, 1, bytes(4))[:9] not in got:
        got += (more := connection.recv(1 << 16))
        assert more


Attack = Callable[[int], contextlib.AbstractContextManager[object]]


def _silent(port: int) -> socket.socket:
    return opened(port)


def _halted(port: int) -> socket.socket:
    return opened(port, ADVISE)


def _unfinished(port: int) -> socket.socket:
    return opened(port, ADVISE, message(HELLO[:40], len(HELLO)))


@contextlib.contextmanager
def _pouring(port: int, path: str, first: bytes = b"") -> Iterator[None]:
    with opened(port, path, first + message(b"", 199 << 20)) as connection:
        thread = threading.Thread(target=pour, args=(connection, 200 << 20))
        thread.start()
        try:
            yield
        finally:
            thread.join(_LONGEST)  # a server that bounds what it receives ends it earlier
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join()


def _large_hello(port: int) -> contextlib.AbstractContextManager[None]:
    return _pouring(port, ADVISE)


def _large_question(port: int) -> contextlib.AbstractContextManager[None]:
    return _pouring(port, ADVISE, message(HELLO))


def _unary_without_message(port: int) -> socket.socket:
    return opened(port, CHECK)


def _garbage(port: int) -> socket.socket:
    made = opened(port)
    made.sendall(b"\x16\x03\x01\x02\x00\x01" + bytes(range(256)) * 8)
    return made


@contextlib.contextmanager
def _watching(port: int) -> Iterator[None]:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        ask: grpc.UnaryStreamMultiCallable[health_pb2.HealthCheckRequest, bytes] = channel.unary_stream(
            WATCH, health_pb2.HealthCheckRequest.SerializeToString
        )
        calls = [ask(health_pb2.HealthCheckRequest(service=f"{i}" + "x" * 500_000)) for i in range(6)]
        yield
        for call in calls:
            call.cancel()


@contextlib.contextmanager
def _expanding(port: int) -> Iterator[None]:
    with grpc.insecure_channel(f"127.0.0.1:{port}", compression=grpc.Compression.Gzip) as channel:
        call = advise(channel)(iter([bytes(100 << 20)]))
        yield
        call.cancel()


@contextlib.contextmanager
def _greedy(port: int) -> Iterator[None]:
    """A session whose compiler offers a hundred tensors of a gigabyte, by a made-up hello."""
    rows = b"".join(
        b"\x1a" + bytes([len(row)]) + row
        for i in range(100)
        for row in (b"\x0a\x03t%02d" % i + b"\x12\x07int64_t" + b"\x22\x04\x80\x80\x80\x40",)
    )
    hello = b"\x08\x01\x12\x06inline" + rows
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        call = advise(channel)(iter([b"\x0a" + _varint(len(hello)) + hello]))
        yield
        call.cancel()


def _varint(number: int) -> bytes:
    return grpc_messages.frame_head(number)[1:]


KINDS: Final[tuple[Attack, ...]] = (
    _silent,
    _halted,
    _unfinished,
    _large_hello,
    _large_question,
    _unary_without_message,
    _garbage,
    _watching,
    _expanding,
    _greedy,
)
"""Ten ways to occupy a server."""
