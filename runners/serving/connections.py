# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Connections`: closes connections of a gRPC server that hold memory or places without asking anything.

gRPC shows a message when it is complete. How much has come of an unfinished one, only the kernel knows: it
counts the bytes of each connection. A thread compares them with the messages that were taken from the
connection, a few times a second, and closes connections

* that have sent more than their sessions declared (64 KiB before a session has declared anything);
* whose message does not end within the server's deadline, once 4 KiB of it have come;
* with the largest unfinished messages, if all together, or those of one peer, are larger than permitted;
* without a call, the oldest first, while few file descriptors are left.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import resource
import socket
import stat
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

Address = tuple[str, int]

_OVERHEAD: Final = 256
_OF_LARGE: Final = 8
"""TLS adds 22 bytes to every 16 KiB, HTTP/2 adds 9: one byte in 2 ** `_OF_LARGE` covers both."""

FREE: Final = 64 << 10
"""Bytes that a connection may send beyond what its sessions declared."""

HERE: Final = "this machine"

_APART: Final = 0.1
_UNFINISHED: Final = 4 << 10
"""Bytes of an unfinished message from which on it has a deadline: keepalives are bytes, too."""
_FORGIVEN: Final = 1 << 10
"""Bytes per second that are not counted."""
_GRACE: Final = 1.0
"""Seconds in which a thread takes a message that has come whole."""
_MOST_TRIED: Final = 1 << 16
_YOUNG: Final = 1.0
"""Seconds that a connection has for its first call, even if descriptors are scarce."""
_RECEIVED: Final = struct.Struct("=Q"), 128
"""Where `tcp_info` has the number of received bytes."""


def peer_of(address: str) -> str:
    """Who has an address: `HERE`, or the network of an IPv6 address, or the IPv4 address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return HERE  # a socket that is a file
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback or _is_own(found):
        return HERE
    return str(found) if found.version == 4 else str(ipaddress.ip_network((found, 64), strict=False))


def _is_own(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as tried:
        try:
            tried.bind((str(address), 0))
        except OSError:
            return False
    return True


def address_of(peer: str) -> Address:
    """The address of a call's peer as gRPC writes it: `ipv4:127.0.0.1:4242`."""
    host, _, port = unquote(peer).partition(":")[2].rpartition(":")
    return _plain(host.strip("[]")), int(port) if port.isdecimal() else 0


def _plain(host: str) -> str:
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(getattr(found, "ipv4_mapped", None) or found)


class Stream:
    """What one call has declared and sent; its thread changes both."""

    __slots__ = ("declared", "taken")

    def __init__(self, declared: int) -> None:
        self.declare(declared)
        self.taken = FREE >> 4
        """Bytes of its complete messages, with what the protocols below may add."""

    def declare(self, size: int) -> None:
        """Say how large the messages are that it may send."""
        self.declared = size + (size >> _OF_LARGE)

    def take(self, size: int) -> None:
        """Count a complete message."""
        self.taken += size + (size >> _OF_LARGE) + _OVERHEAD


@dataclass(slots=True, eq=False)
class _Connection:
    """A connection as it was at the last look."""

    peer: str
    since: float
    """When it came, or its last call ended."""
    received: int = 0
    taken: int = 0
    """Of ended calls."""
    counted: int = 0
    pending: float = 0.0
    """Bytes that have come of unfinished messages."""
    waited: float = 0.0
    """Seconds for their end; a process that was stopped goes on waiting."""
    closed: bool = False
    streams: set[Stream] = field(default_factory=set)

    def idle(self, now: float) -> bool:
        """Whether it has had time for a call, and has none."""
        return not self.streams and now - self.since > _YOUNG

    def look(self, received: int, apart: float) -> None:
        """Take the kernel's count of received bytes."""
        counted = self.taken + sum(stream.taken for stream in self.streams)
        more = received - self.received - (counted - self.counted) - _FORGIVEN * apart
        self.pending = max(0.0, self.pending + more)
        waiting = counted == self.counted and self.pending > _UNFINISHED
        self.waited = self.waited + min(apart, 2 * _APART) if waiting else 0.0
        self.received, self.counted = received, counted


class Connections:
    """Watches the connections to the port of `start`; `declared` bytes are those of a call's first message.

    Args:
        declared: the most bytes of a call's first message.
        total: the most bytes of all unfinished messages; one peer may send half of them.
        timeout: seconds in which a message must end.
        notice: called with a line about every connection that is closed for its messages.
    """

    def __init__(
        self, declared: int, total: int, timeout: float, notice: Callable[[str], object] = lambda _: None
    ) -> None:
        self._declared, self._total, self._timeout, self._notice = declared, total, timeout, notice
        self._lock = threading.Lock()
        self._known: dict[Address, _Connection] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._port = 0
        self._most = descriptors() * 3 // 4

    def start(self, port: int) -> None:
        """Watch the connections to `port` from now on."""
        self._port = port
        self._thread = threading.Thread(target=self._run, name="passpilot-connections", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._ended.set()
        if self._thread:
            self._thread.join()

    @contextlib.contextmanager
    def call(self, peer: str) -> Iterator[Stream]:
        """Count a call of the block from `peer`, as gRPC writes it."""
        stream, address = Stream(self._declared), address_of(peer)
        with self._lock:
            connection = self._connection(address)
            connection.streams.add(stream)
        try:
            yield stream
        finally:
            with self._lock:
                connection.streams.discard(stream)
                connection.taken += stream.taken
                connection.since = time.monotonic()

    def _connection(self, address: Address) -> _Connection:
        if (found := self._known.get(address)) is None:
            found = self._known[address] = _Connection(peer_of(address[0]), time.monotonic())
        return found

    def _run(self) -> None:
        last = time.monotonic()
        closer = _Closer()
        while not self._ended.wait(_APART):
            with self._lock:
                now = time.monotonic()
                here, scarce = self._look(now, now - last)
                idle = {address: known.since for address, known in self._known.items() if known.idle(now)}
                faulty = dict(self._faulty())
            for address in sorted(idle, key=lambda address: idle[address])[: max(0, scarce)]:
                closer.close(here.get(address), address)
            for address, why in faulty.items():
                closer.close(here.get(address), address)
                self._known[address].closed = True
                self._notice(f"closed the connection of {':'.join(map(str, address))}: {why}")
            last = now
        closer.end()

    def _look(self, now: float, apart: float) -> tuple[dict[Address, int], int]:
        """Look at all connections; their descriptors, and how many should be closed."""
        opened = _opened()
        here: dict[Address, int] = {}
        for descriptor in opened:
            if found := _tcp(descriptor, self._port):
                address, received = found
                here[address] = descriptor
                self._connection(address).look(received, apart)
        for address in [gone for gone, known in self._known.items() if gone not in here and known.idle(now)]:
            del self._known[address]
        return here, len(opened) - self._most

    def _faulty(self) -> Iterator[tuple[Address, str]]:
        """The connections to close, and why."""
        by_peer: Counter[str] = Counter()
        for address, known in sorted(self._known.items(), key=lambda item: item[1].pending):
            if known.closed:
                continue  # gRPC has not noticed yet
            by_peer[known.peer] += int(known.pending)
            declared = sum(stream.declared for stream in known.streams) + FREE
            if known.pending > declared:
                yield address, f"expected messages of {declared} bytes, got {known.pending:.0f}"
            elif known.waited > self._timeout + _GRACE:
                yield address, f"expected the end of a message within {self._timeout:g} s, got none"
            elif by_peer.total() > self._total or by_peer[known.peer] > self._total // 2:
                most = (
                    f"unfinished messages of {self._total // 2} bytes from one peer, {self._total} from all"
                )
                yield address, f"expected {most}, got more"


def descriptors() -> int:
    """The most file descriptors of this process."""
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _tcp(descriptor: int, port: int) -> tuple[Address, int] | None:
    """The other end's address of a connection to our port, and the bytes it has sent."""
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return None
        seen = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, 0, descriptor)
    except OSError:
        return None
    try:
        if seen.getsockname()[1] != port:
            return None
        host, number = seen.getpeername()[:2]
        info = seen.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        code, place = _RECEIVED
        return (_plain(host), number), code.unpack_from(info, place)[0]
    except (OSError, IndexError, struct.error):  # no TCP, or closed
        return None
    finally:
        seen.detach()


def _opened() -> Sequence[int]:
    try:
        return [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:  # none is left to read the folder
        return range(min(descriptors(), _MOST_TRIED))


class _Closer:
    """Shuts connections down; gRPC closes their descriptors then. It works when no descriptor is left."""

    def __init__(self) -> None:
        self._nothing = os.open(os.devnull, os.O_RDONLY)
        self._spare = os.dup(self._nothing)

    def close(self, descriptor: int | None, address: Address) -> None:
        """Shut the connection down, unless the descriptor is another's by now."""
        if descriptor is None:
            return
        with contextlib.suppress(OSError):
            os.dup2(descriptor, self._spare)  # else it could become another's before the shutdown
            found = socket.socket(fileno=self._spare)
            try:
                host, number = found.getpeername()[:2]
                if (_plain(host), number) == address:
                    found.shutdown(socket.SHUT_RDWR)
            finally:
                found.detach()
        os.dup2(self._nothing, self._spare)

    def end(self) -> None:
        """Free the two descriptors."""
        os.close(self._nothing)
        os.close(self._spare)
