# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares transports of questions between two Python processes, in turns: FIFOs, sockets, shared memory.

A question is the frame of 38 features (304 bytes) or of 50,000 floats (200 KB), an answer 16 bytes.
Transports are minimal: no runner, no checks, no deadline. The questioner copies the frame out of a buffer,
the answerer reads all of it into one. Figures are microseconds: the median of the rounds, and the least, as
other work on the machine only adds time.

* shared memory, FIFOs: the frame in a mapping; one byte through a FIFO in each direction wakes the peer;
* shared memory, eventfd: the same with two eventfds;
* shared memory, futex: the same with the futex system call, through ctypes;
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
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from bench.lib import command, in_turns, least, medians, show

ANSWER: Final = 16
SIZES: Final = {"38 int64": 38 * 8, "50,000 float32": 200_000}
SECONDS: Final = 0.05
LARGE: Final = 1 << 20
FUTEX: Final = {"x86_64": 202, "aarch64": 98}

Step = Callable[[], object]
Steps = tuple[Step, Step]
"""The questioner's and the answerer's; or how to wake a peer, and how to wait to be woken."""


def fifos(size: int, capacity: int = 0) -> Steps:
    question, answer = os.pipe(), os.pipe()
    if capacity:
        fcntl.fcntl(question[1], fcntl.F_SETPIPE_SZ, capacity)
    return stream(size, (answer[0], question[1]), (question[0], answer[1]))


def sockets(size: int, kind: int) -> Steps:
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * size)
    here, there = ours.detach(), theirs.detach()
    return stream(size, (here, here), (there, there))


def stream(size: int, ours: tuple[int, int], theirs: tuple[int, int]) -> Steps:
    """The steps over file descriptors, to read from and to write to."""
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


def shared(size: int, bell: Callable[[], Steps]) -> Steps:
    """The steps through shared memory, with a bell for each end."""
    frame, block, received = bytearray(size), memoryview(mmap.mmap(-1, size + ANSWER)), bytearray(size)
    (wake_there, wait_there), (wake_here, wait_here) = bell(), bell()

    def ask() -> None:
        block[:size] = frame
        wake_there()
        wait_here()
        bytes(block[size:])

    def reply() -> None:
        wait_there()
        received[:] = block[:size]
        block[size:] = bytes(ANSWER)
        wake_here()

    return ask, reply


def fifo_bell() -> Steps:
    read, write = os.pipe()
    return partial(os.write, write, b"x"), partial(os.read, read, 1)


def eventfd_bell() -> Steps:
    event = os.eventfd(0)
    return partial(os.eventfd_write, event, 1), partial(os.eventfd_read, event)


def futex_bell() -> Steps:
    word = ctypes.c_uint32.from_buffer(mmap.mmap(-1, 4))
    syscall, number = ctypes.CDLL(None, use_errno=True).syscall, FUTEX[platform.machine()]
    address, wait_operation, wake_operation = ctypes.c_void_p(ctypes.addressof(word)), 0, 1

    def wake() -> None:
        word.value = 1
        syscall(number, address, wake_operation, 1, None, None, 0)

    def wait() -> None:
        while not word.value:
            syscall(number, address, wait_operation, 0, None, None, 0)
        word.value = 0

    return wake, wait


def spinning_bell() -> Steps:
    word = mmap.mmap(-1, 1)

    def wake() -> None:
        word[0] = 1

    def wait() -> None:
        while not word[0]:
            pass
        word[0] = 0

    return wake, wait


TRANSPORTS: Final[dict[str, Callable[[int], Steps]]] = {
    "FIFOs": fifos,
    "FIFOs of 1 MiB": partial(fifos, capacity=LARGE),
    "Unix sockets, SOCK_STREAM": partial(sockets, kind=socket.SOCK_STREAM),
    "Unix sockets, SOCK_SEQPACKET": partial(sockets, kind=socket.SOCK_SEQPACKET),
    "shared memory, FIFOs": partial(shared, bell=fifo_bell),
    "shared memory, eventfd": partial(shared, bell=eventfd_bell),
    "shared memory, futex": partial(shared, bell=futex_bell),
    "shared memory, spinning": partial(shared, bell=spinning_bell),
}


def started(transport: Callable[[int], Steps], size: int) -> tuple[Step, int]:
    """Fork an answerer, which is stopped between rounds; the questioner's step, and its process id."""
    ask, reply = transport(size)
    child = os.fork()
    if not child:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        while True:
            reply()
    os.kill(child, signal.SIGSTOP)
    return ask, child


def microseconds(ask: Step, child: int) -> float:
    """The time of one question, while the other answerers are stopped."""
    os.kill(child, signal.SIGCONT)
    ask()
    start, asked = time.perf_counter(), 0
    while time.perf_counter() - start < SECONDS:
        for _ in range(20):
            ask()
        asked += 20
    mean = (time.perf_counter() - start) / asked * 1e6
    os.kill(child, signal.SIGSTOP)
    return mean


@command
def main(rounds: int = 30) -> None:
    for label, size in SIZES.items():
        peers = {name: started(transport, size) for name, transport in TRANSPORTS.items()}
        try:
            times = in_turns({name: partial(microseconds, *peer) for name, peer in peers.items()}, rounds)
        finally:
            for _, child in peers.values():
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        middle, fastest = medians(times), least(times)
        rows = {
            name: {
                "median, µs": middle[name],
                "least": fastest[name],
                "to FIFOs": fastest[name] / fastest["FIFOs"],
            }
            for name in TRANSPORTS
        }
        show(f"{label}, {size} bytes", "transport", rows)
