# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model server that answers one question correctly, then shows the fault given as argument.

python faulty_server.py BASE FAULT SIZE
"""

from __future__ import annotations

import os
import sys
import time

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import PeerError
from passpilot.runners.remote import wire
from passpilot.runners.remote.fifo import FifoChannel, Listener

INPUTS = (TensorSpec("callee_users", "int64", (1,)),)
REQUEST = 16


def silent() -> None:
    """Hang until the test, which holds the other end, kills this process."""
    sys.stdin.read()


def answer(channel: FifoChannel, data: bytes) -> None:
    channel.read(REQUEST, time.monotonic() + 60, "a request")
    channel.write(data, time.monotonic() + 60, "an answer")


def show(channel: FifoChannel, fault: str, size: int) -> None:
    """Show the fault, after a correct handshake and a correct answer."""
    whole = wire.WORD.pack(0) + wire.WORD.pack(1)
    match fault:
        case "dies between":
            return
        case "dies unasked":
            os.read(0, 1)
        case "dies":
            answer(channel, whole[:size])
        case "stalls":
            answer(channel, whole[:size])
            silent()
        case "surplus":
            answer(channel, whole + bytes(size))
            silent()
        case "garbage":
            answer(channel, b"\x93" * size)
            silent()
        case "dies in text":
            answer(channel, wire.WORD.pack(5) + wire.WORD.pack(0) + b"hello"[:size])
        case "trickles":
            channel.read(REQUEST, time.monotonic() + 60, "a request")
            for byte in whole:
                channel.write(bytes([byte]), time.monotonic() + 60, "an answer")
            silent()
        case _:
            raise ValueError(fault)


GREETINGS = {
    "greets with nothing": b"",
    "greets with garbage": b"\x00\xffgarbage\n",
    "greets with a number": b"7\n",
    "greets with too much": b'{"inputs": ["callee_users"], "runner": "x"}\n{}\n',
    "greets with no names": b'{"inputs": [1], "runner": "x"}\n',
    "greets with a name twice": b'{"inputs": ["node_count", "node_count"], "runner": "x"}\n',
    "greets with an unknown name": b'{"inputs": ["weight"], "runner": "x"}\n',
    "greets with an error": b'{"error": "too busy", "kind": "ModelError"}\n',
    "greets with a strange error": b'{"error": "too busy", "kind": "SystemExit"}\n',
    "greets without end": b"x" * (wire.MAX_LINE + 4096),
}


def main(base: str, fault: str, size: int) -> None:
    with Listener(base) as listener:
        channel = listener.offer()
        print("ready", flush=True)
        channel.wait()
        channel.read_line(time.monotonic() + 60, "a handshake")
        if fault in GREETINGS:
            try:
                channel.write(GREETINGS[fault], time.monotonic() + 60, "the handshake")
            except PeerError:
                return
            silent()
            return
        if fault == "greets by dying":
            return
        channel.write(wire.welcome(INPUTS, "faulty"), time.monotonic() + 60, "the handshake")
        answer(channel, wire.WORD.pack(0) + wire.WORD.pack(1))
        show(channel, fault, size)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
