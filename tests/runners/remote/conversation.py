# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what a compiler and a peer say over FIFOs; repeats the peer's part up to a byte, where it dies."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from passpilot.plugin.errors import PeerError
from passpilot.runners.remote.fifo import FifoChannel, Listener, connect, join
from tests.runners.serving.serving import GENEROUS

OURS: Final = "passpilot"
"""The protocol whose server makes a pair of FIFOs for every session; of others the names stay."""


@dataclass
class Turn:
    """What the compiler says, and what the peer then answers."""

    question: int = 0
    """Bytes."""
    answer: bytes = b""


@dataclass
class Conversation:
    """One session, turn by turn."""

    turns: list[Turn] = field(default_factory=lambda: [Turn()])

    @property
    def size(self) -> int:
        """The bytes that the peer says."""
        return sum(len(turn.answer) for turn in self.turns)

    def asked(self, data: bytes) -> None:
        """The compiler has said something."""
        if self.turns[-1].answer:
            self.turns.append(Turn())
        self.turns[-1].question += len(data)

    def answered(self, data: bytes) -> None:
        """The peer has."""
        self.turns[-1].answer += data


@contextlib.contextmanager
def peer_end(base: str, protocol: str) -> Iterator[FifoChannel]:
    """The peer's end, once a compiler has opened the other one."""
    if protocol == OURS:
        with Listener(base) as listener, contextlib.closing(listener.offer()) as channel:
            channel.wait()
            yield channel
        return
    for name in ("in", "out"):
        os.mkfifo(f"{base}.{name}", 0o600)
    writer = os.open(f"{base}.in", os.O_WRONLY)
    reader = os.open(f"{base}.out", os.O_RDONLY)
    with contextlib.closing(FifoChannel("peer", reader, writer)) as channel:
        yield channel


@contextlib.contextmanager
def recorded(front: str, back: str, protocol: str) -> Iterator[Conversation]:
    """What a compiler at `front` and the peer at `back` say to each other."""
    made = Conversation()

    def relay() -> None:
        deadline = time.monotonic() + GENEROUS
        with peer_end(front, protocol) as near:
            far = connect(back, deadline) if protocol == OURS else join(back, deadline, "a peer")
            poll = select.poll()
            for end in (near, far):
                poll.register(end.reader, select.POLLIN)
            with contextlib.closing(far):
                while True:
                    for descriptor, _ in poll.poll():
                        is_asked = descriptor == near.reader.fileno()
                        sink, note = (far, made.asked) if is_asked else (near, made.answered)
                        if not (data := os.read(descriptor, 1 << 16)):
                            return
                        note(data)
                        sink.write(data, deadline, "")

    with running(relay):
        yield made


@contextlib.contextmanager
def cut(base: str, protocol: str, conversation: Conversation, size: int) -> Iterator[None]:
    """A peer that says the first `size` bytes of its part, and dies."""

    def speak() -> None:
        deadline, left = time.monotonic() + GENEROUS, size
        with peer_end(base, protocol) as end, contextlib.suppress(PeerError):  # the compiler has left
            for turn in conversation.turns:
                end.read(turn.question, deadline, "")
                end.write(turn.answer[:left], deadline, "")
                left -= len(turn.answer)
                if left <= 0 and size < conversation.size:
                    return
            end.wait()

    with running(speak):
        yield


@contextlib.contextmanager
def running(work: object) -> Iterator[None]:
    """Run a function in a thread, which must end by itself."""
    thread = threading.Thread(target=work)  # type: ignore[arg-type]
    thread.start()
    try:
        yield
    finally:
        thread.join(GENEROUS)
        assert not thread.is_alive()
