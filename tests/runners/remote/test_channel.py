# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `FifoChannel` reads and writes, and what it says when there is less, more or nothing."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from passpilot.plugin.errors import PeerError
from passpilot.runners.remote.fifo import FifoChannel
from passpilot.runners.remote.wire import MAX_LINE
from tests.command import GENEROUS

HANGS = "before the deadline; see whether it hangs, or raise --timeout"
GONE = "and the peer is gone; see its own output"


class Peer:
    """Both ends of a channel."""

    def __init__(self) -> None:
        read_end, self.says = os.pipe()
        self.hears, write_end = os.pipe()
        os.set_blocking(write_end, False)
        self.other = os.open(os.devnull, os.O_RDONLY)
        self.channel = FifoChannel("who", read_end, write_end, self.other)

    def say(self, data: bytes, *, leave: bool = False) -> None:
        os.write(self.says, data)
        if leave:
            self.leave()

    def leave(self) -> None:
        if self.says >= 0:
            os.close(self.says)
            os.close(self.hears)
        self.says = -1


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.channel.close()
    made.leave()


def soon() -> float:
    return time.monotonic() + GENEROUS


def test_reading(peer: Peer) -> None:
    peer.say(b"abcdefgh")
    assert peer.channel.read(2, soon(), "x") == b"ab"
    assert peer.channel.read(4, soon(), "x", b"_") == b"_cde"
    assert peer.channel.read(3, soon(), "x", b"123") == b"123"
    assert peer.channel.read_some(9, soon(), "x") == b"fgh"
    peer.say(b"ab")
    assert peer.channel.read(2, soon(), "x", only=True) == b"ab"
    peer.say(b"line\n")
    assert peer.channel.read_line(soon(), "x") == b"line\n"
    buffer = bytearray(4)
    peer.say(b"1234")
    peer.channel.fill(memoryview(buffer), soon(), "x")
    assert bytes(buffer) == b"1234"


def read(channel: FifoChannel, way: str, deadline: float) -> None:
    """Read four bytes or a line."""
    if way == "fill":
        channel.fill(memoryview(bytearray(4)), deadline, "x")
    elif way == "read_line":
        channel.read_line(deadline, "x")
    else:
        channel.read(4, deadline, "x", only=way == "read only")


@pytest.mark.parametrize(
    ("sent", "got"), [(b"", "nothing"), (b"a", "1 bytes"), (b"abc", "3 bytes")], ids=["none", "one", "three"]
)
@pytest.mark.parametrize("leaves", [False, True])
def test_too_little(sent: bytes, got: str, leaves: bool) -> None:
    told = f", {GONE}" if leaves else f" {HANGS}"
    deadline = soon() if leaves else 0.0
    for way in ("read", "read only", "fill", "read_line"):
        peer = Peer()
        peer.say(sent, leave=leaves)
        with pytest.raises(PeerError) as caught:
            read(peer.channel, way, deadline)
        size = " of 4 bytes" if way.startswith("read") and way != "read_line" else ""
        assert str(caught.value) == f"who: expected x{size}, got {got}{told}", way
        peer.channel.close()
        peer.leave()


def test_too_much(peer: Peer) -> None:
    peer.say(b"abc")
    with pytest.raises(PeerError, match=r"^who: expected x of 2 bytes, got more$"):
        peer.channel.read(2, soon(), "x", only=True)
    for text in (b"one\ntwo\n", b"one\ntwo", b"\n\n"):
        peer.say(text)
        with pytest.raises(PeerError) as caught:
            peer.channel.read_line(soon(), "x")
        assert str(caught.value) == f"who: expected x of one line, got {text!r}"


@pytest.mark.parametrize("size", [MAX_LINE, MAX_LINE + 1])
def test_the_longest_line(size: int, tmp_path: Path) -> None:
    """A file is always ready, and needs no second thread that writes."""
    (tmp_path / "line").write_bytes(b"a" * (size - 1) + b"\n")
    reader, writer = os.open(tmp_path / "line", os.O_RDONLY), os.open(os.devnull, os.O_WRONLY)
    channel = FifoChannel("who", reader, writer)
    if size == MAX_LINE:
        assert len(channel.read_line(soon(), "x")) == size
    else:
        with pytest.raises(PeerError, match="of one line, got b'aaa"):
            channel.read_line(soon(), "x")
    channel.close()


def test_writing(peer: Peer) -> None:
    peer.channel.write(b"question", soon(), "x")
    peer.channel.write(memoryview(b""), soon(), "x")
    assert os.read(peer.hears, 99) == b"question"
    with pytest.raises(PeerError) as caught:
        peer.channel.write(bytes(1 << 17), 0.0, "a question")
    assert str(caught.value) == f"who: expected it to read a question, got nothing {HANGS}"
    peer.leave()
    with pytest.raises(PeerError) as caught:
        peer.channel.write(b"x", soon(), "a question")
    assert str(caught.value) == f"who: expected it to read a question, got nothing, {GONE}"


def test_closing_lets_go_of_everything_once(peer: Peer) -> None:
    ends = (peer.channel.reader.fileno(), peer.channel.writer.fileno(), peer.other)
    peer.channel.close()
    for descriptor in ends:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)
    again = os.open(os.devnull, os.O_RDONLY)  # gets one of their numbers
    peer.channel.close()
    os.fstat(again)
    os.close(again)


def test_large_messages_widen_the_pipe(peer: Peer) -> None:
    """To twice their size, and no further than the system permits."""
    most = int(Path("/proc/sys/fs/pipe-max-size").read_text())
    sizes = []
    for size in (1 << 10, 1 << 16, (1 << 16) + 1, 1 << 30):
        peer.channel.widen(size)
        sizes.append(fcntl.fcntl(peer.channel.writer.fileno(), fcntl.F_GETPIPE_SZ))
    before = sizes[0]
    assert sizes[1] == before, "the usual capacity is enough"
    if most >= 1 << 20:
        assert sizes[2:] in ([1 << 18, 1 << 20], [before, before])
