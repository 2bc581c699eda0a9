# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares transports of questions between two Python processes, in turns: FIFOs, sockets, shared memory.

A question is the frame of 38 features (304 bytes) or of 50,000 floats (200 KB), an answer 16 bytes.
Transports are minimal: no runner, no checks, no deadline. The questioner copies the frame out of a buffer,
the answerer reads all of it into one. Figures are microseconds: the median of the rounds, and the least, as
other work on the machine only adds time.

* shared memory with FIFOs: the frame in a mapping; one byte through a FIFO in each direction wakes the peer;
* shared memory with eventfd: the same with two eventfds;
* shared memory with futex: the same with the futex system call, through ctypes;
* shared memory, spinning: no system call, but both ends use a whole core while they wait.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import signal
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator

ANSWER = 16
SIZES = {"38 int64": 38 * 8, "50,000 float32": 200_000}
SECONDS = 0.05
LARGE = 1 << 20
FUTEX = {"x86_64": 202, "aarch64": 98}

Ask = Callable[[], object]
Transport = Callable[[int], tuple[Ask, Callable[[], None]]]
"""Takes a frame's size; makes the questioner's and the answerer's step, before the fork."""


def fifos(capacity: int = 0) -> Transport:
    def make(size: int) -> tuple[Ask, Callable[[], None]]:
        question, answer = os.pipe(), os.pipe()
        if capacity:
            fcntl.fcntl(question[1], fcntl.F_SETPIPE_SZ, capacity)
        return stream(size, (answer[0], question[1]), (question[0], answer[1]))

    return make


def sockets(kind: int) -> Transport:
    def make(size: int) -> tuple[Ask, Callable[[], None]]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * size)
        here, there = ours.detach(), theirs.detach()
        return stream(size, (here, here), (there, there))

    return make


def stream(size: int, ours: tuple[int, int], theirs: tuple[int, int]) -> tuple[Ask, Callable[[], None]]:
    frame, request, answer = bytearray(size), memoryview(bytearray(size)), bytes(ANSWER)
    received = memoryview(bytearray(size))

    def ask() -> None:
        request[:] = frame
        sent = os.write(ours[1], request)
        while sent < size:
            sent += os.write(ours[1], request[sent:])
        os.read(ours[0], ANSWER)

    def reply() -> None:
        got = os.readv(theirs[0], [received])
        while got < size:
            got += os.readv(theirs[0], [received[got:]])
        os.write(theirs[1], answer)

    return ask, reply


def shared(wake: Callable[[], tuple[Ask, Ask, Ask, Ask]]) -> Transport:
    """`wake` makes four functions: wake the answerer, wait for it, wake the questioner, wait for it."""

    def make(size: int) -> tuple[Ask, Callable[[], None]]:
        frame, block, received = bytearray(size), memoryview(mmap.mmap(-1, size + ANSWER)), bytearray(size)
        tell, wait, tell_back, wait_back = wake()

        def ask() -> None:
            block[:size] = frame
            tell()
            wait_back()
            bytes(block[size:])

        def reply() -> None:
            wait()
            received[:] = block[:size]
            block[size:] = bytes(ANSWER)
            tell_back()

        return ask, reply

    return make


def by_fifos() -> tuple[Ask, Ask, Ask, Ask]:
    (there, here), (back, forth) = os.pipe(), os.pipe()
    return (
        lambda: os.write(here, b"x"),
        lambda: os.read(there, 1),
        lambda: os.write(forth, b"x"),
        lambda: os.read(back, 1),
    )


def by_eventfd() -> tuple[Ask, Ask, Ask, Ask]:
    asked, answered = os.eventfd(0), os.eventfd(0)
    return (
        lambda: os.eventfd_write(asked, 1),
        lambda: os.eventfd_read(asked),
        lambda: os.eventfd_write(answered, 1),
        lambda: os.eventfd_read(answered),
    )


def by_futex() -> tuple[Ask, Ask, Ask, Ask]:
    block = mmap.mmap(-1, 8)
    words = [ctypes.c_uint32.from_buffer(block, offset) for offset in (0, 4)]
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    number, wait_operation, wake_operation = FUTEX[platform.machine()], 0, 1
    addresses = [ctypes.c_void_p(ctypes.addressof(word)) for word in words]

    def teller(which: int) -> Ask:
        def tell() -> None:
            words[which].value = 1
            syscall(number, addresses[which], wake_operation, 1, None, None, 0)

        return tell

    def waiter(which: int) -> Ask:
        def wait() -> None:
            while not words[which].value:
                syscall(number, addresses[which], wait_operation, 0, None, None, 0)
            words[which].value = 0

        return wait

    return teller(0), waiter(0), teller(1), waiter(1)


def by_spinning() -> tuple[Ask, Ask, Ask, Ask]:
    words = mmap.mmap(-1, 2)

    def teller(which: int) -> Ask:
        def tell() -> None:
            words[which] = 1

        return tell

    def waiter(which: int) -> Ask:
        def wait() -> None:
            while not words[which]:
                pass
            words[which] = 0

        return wait

    return teller(0), waiter(0), teller(1), waiter(1)


TRANSPORTS: dict[str, Transport] = {
    "FIFOs": fifos(),
    "FIFOs of 1 MiB": fifos(LARGE),
    "Unix sockets, SOCK_STREAM": sockets(socket.SOCK_STREAM),
    "Unix sockets, SOCK_SEQPACKET": sockets(socket.SOCK_SEQPACKET),
    "shared memory, FIFOs": shared(by_fifos),
    "shared memory, eventfd": shared(by_eventfd),
    "shared memory, futex": shared(by_futex),
    "shared memory, spinning": shared(by_spinning),
}


def answered(transport: Transport, size: int) -> tuple[Ask, int]:
    """Fork an answerer, which stops itself between rounds; the questioner's step, and its process id."""
    ask, reply = transport(size)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            reply()
    return ask, child


def rounds(asks: dict[str, tuple[Ask, int]], count: int) -> Iterator[dict[str, float]]:
    """The times of one question by transport, in turns; the other answerers are stopped."""
    for _, child in asks.values():
        os.kill(child, signal.SIGSTOP)
    for _ in range(count):
        times = {}
        for name, (ask, child) in asks.items():
            os.kill(child, signal.SIGCONT)
            ask()
            start, asked = time.perf_counter(), 0
            while time.perf_counter() - start < SECONDS:
                for _ in range(20):
                    ask()
                asked += 20
            times[name] = (time.perf_counter() - start) / asked * 1e6
            os.kill(child, signal.SIGSTOP)
        yield times


def main(count: int) -> None:
    """Print the figures for all sizes, and the ratios to plain FIFOs."""
    for label, size in SIZES.items():
        asks = {name: answered(transport, size) for name, transport in TRANSPORTS.items()}
        try:
            table = list(rounds(asks, count))
        finally:
            for _, child in asks.values():
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        print(f"{label}, {size} bytes")
        for name in TRANSPORTS:
            median = statistics.median(row[name] for row in table)
            least, plain = (min(row[each] for row in table) for each in (name, "FIFOs"))
            print(f"  {name:30} {median:8.1f} us   least {least:8.1f} us   {least / plain:5.2f} of FIFOs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
