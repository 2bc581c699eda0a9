# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The frames of a gRPC session, whole or as changes of the last frame: `FrameWriter` and `FrameReader`.

Consecutive decisions often share their large tensors, such as a graph of the function. Sending 600 KB through
gRPC takes a millisecond, comparing them a few microseconds. Therefore a server whose frames have at least
`LEAST` bytes says in its welcome that it reads `FrameChanges`, and the client sends the blocks that differ. A
peer of an older version, or in another language, never sees them unless it asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from passpilot.features.spec import TensorSpec, layout
from passpilot.plugin.errors import PeerError
from passpilot.runners.base import Host
from passpilot.runners.remote.advisor_pb2 import FrameChanges, FramePart, Question
from passpilot.runners.remote.grpc_messages import frame_head

Stamp = Callable[[str], int | None]

LEAST: Final = 1 << 16
"""The size in bytes from which on changes are worth the comparison."""

BLOCK: Final = 4096
"""The size of the blocks that the client compares."""


class FrameWriter:
    """The client's end: encodes the questions about a frame, as changes once `send_changes` was called."""

    def __init__(self, frame: memoryview) -> None:
        self._frame = frame
        self._head = frame_head(len(frame))
        self._spans: list[_Span] = []
        self._known = False

    def send_changes(self, inputs: Sequence[TensorSpec], host: Host | None) -> None:
        """Send changes from now on; `host` knows of some of the inputs when they change."""
        stamp = host.stamp if host is not None else _unstamped
        offsets, size = layout(inputs)
        start = 0
        for spec, offset in zip(inputs, offsets, strict=True):
            if spec.nbytes >= BLOCK and stamp(spec.name) is not None:
                end = offset + spec.nbytes
                self._spans.append(_Span(self._frame, start, offset, "", _unstamped))
                self._spans.append(_Span(self._frame, offset, end, spec.name, stamp))
                start = end
        self._spans.append(_Span(self._frame, start, size, "", _unstamped))

    def question(self) -> bytes:
        """The question with the frame's present bytes."""
        if not self._spans:
            return b"".join((self._head, self._frame))
        parts: list[FramePart] = []
        for span in self._spans:
            span.take_changes(parts)
        if self._known and 2 * BLOCK * len(parts) <= len(self._frame):
            return Question(changes=FrameChanges(parts=parts)).SerializeToString()
        self._known = True
        return b"".join((self._head, self._frame))

    def forget(self) -> None:
        """Send the next frame whole: the server may not have the last one."""
        self._known = False


class _Span:
    """The bytes from `start` to `end` of the frame, as they were sent last."""

    def __init__(self, frame: memoryview, start: int, end: int, name: str, stamp: Stamp) -> None:
        starts = range(start, end, BLOCK)
        self._blocks = [(first, frame[first : min(first + BLOCK, end)]) for first in starts]
        self._sent = [bytearray(block) for _, block in self._blocks]
        self._name = name
        self._stamp = stamp
        self._last: int | None = None

    def take_changes(self, parts: list[FramePart]) -> None:
        """Add the blocks that differ from what was sent, and count them as sent."""
        stamp = self._stamp(self._name)
        if stamp is not None and stamp == self._last:
            return
        self._last = stamp
        for sent, (start, block) in zip(self._sent, self._blocks, strict=True):
            if sent != block:  # a bytearray on the left: memcmp, not one Python object per byte
                sent[:] = block
                parts.append(FramePart(start=start, data=bytes(sent)))


def _unstamped(_name: str) -> None:
    """The stamp of bytes that must be compared."""


class FrameReader:
    """The server's end: keeps the frame of `size` bytes, which a runner must not change if changes follow."""

    def __init__(self, size: int) -> None:
        self.changes = size >= LEAST
        """Whether it reads changes."""
        self.frame = np.zeros(size, np.uint8)
        """The last frame."""
        self.seen = self.frame.view()
        """The same memory, read-only, for the runner's tensors: changes refer to what is in it."""
        self.seen.flags.writeable = False
        self._bytes = self.frame.data
        self._head = frame_head(size)
        self._size = len(self._head) + size
        self._complete = False

    def read_whole(self, request: bytes) -> bool:
        """Take the frame of a question; false if the question is another."""
        if len(request) != self._size or not request.startswith(self._head):
            return False
        self._bytes[:] = memoryview(request)[len(self._head) :]
        self._complete = True
        return True

    def change(self, changes: FrameChanges) -> None:
        """Replace parts of the last frame; all or none of them.

        Raises:
            PeerError: there is no last frame, or a part is not within it.
        """
        size = len(self._bytes)
        if not (self.changes and self._complete):
            raise PeerError(f"question: expected a frame of {size} bytes first, got changes of one")
        for part in changes.parts:
            if part.start + len(part.data) > size:
                got = f"{len(part.data)} bytes at {part.start}"
                raise PeerError(f"question: expected changes within a frame of {size} bytes, got {got}")
        for part in changes.parts:
            self._bytes[part.start : part.start + len(part.data)] = part.data

    def forget(self) -> None:
        """Refuse changes until the next whole frame."""
        self._complete = False
