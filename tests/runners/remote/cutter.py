# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A TCP proxy that breaks connections where a test asks for it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator


class Cutter:
    """A TCP proxy that closes both connections after a number of bytes in one direction."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.target = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.passed = {"up": 0, "down": 0}
        self.limit = {"up": 1 << 40, "down": 1 << 40}
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def connections(self) -> int:
        return len(self._sockets) // 2

    def cut_after(self, direction: str, more: int) -> None:
        self.limit[direction] = self.passed[direction] + more

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for each in (self._listener, *self._sockets):
            each.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._sockets.append(near)
                far = socket.create_connection(self._to)
                self._sockets.append(far)
                for direction, source, sink in (("up", near, far), ("down", far, near)):
                    thread = threading.Thread(target=self._pass, args=(direction, source, sink))
                    self._threads.append(thread)
                    thread.start()

    def _pass(self, direction: str, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                left = self.limit[direction] - self.passed[direction]
                self.passed[direction] += min(len(data), left)
                sink.sendall(data[:left])
                if len(data) >= left:
                    break
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def cutter(target: str) -> Iterator[Cutter]:
    """A proxy before `target`."""
    made = Cutter(target)
    try:
        yield made
    finally:
        made.close()
