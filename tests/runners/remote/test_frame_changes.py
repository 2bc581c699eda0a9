# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""When a frame travels whole, when as changes, and which changes."""

from __future__ import annotations

import numpy as np
import pytest

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import PeerError
from passpilot.runners.remote.advisor_pb2 import FrameChanges, FramePart, Question
from passpilot.runners.remote.frame_changes import BLOCK, LEAST, FrameReader, FrameWriter

FIRST = TensorSpec("first", "int8", (8,))
LARGE = TensorSpec("large", "int8", (BLOCK,))
SMALL = TensorSpec("small", "int8", (BLOCK - 8,))
LAST = TensorSpec("last", "int8", (4 * BLOCK,))
INPUTS = (FIRST, LARGE, SMALL, LAST)
SIZE = 6 * BLOCK


class Stamps:
    """A host that knows of some tensors when they change."""

    def __init__(self, **stamps: int) -> None:
        self.stamps = stamps
        self.asked: list[str] = []

    def stamp(self, name: str) -> int | None:
        self.asked.append(name)
        return self.stamps.get(name)


def writer(host: Stamps | None = None) -> tuple[FrameWriter, np.ndarray]:
    frame = np.zeros(SIZE, np.uint8)
    made = FrameWriter(frame.data)
    made.send_changes(INPUTS, host)  # type: ignore[arg-type]
    return made, frame


def sent(made: FrameWriter) -> list[tuple[int, int]] | str:
    """Start and size of the changes, or `whole`."""
    question = Question.FromString(made.question())
    if question.WhichOneof("kind") == "frame":
        assert len(question.frame) == SIZE
        return "whole"
    return [(part.start, len(part.data)) for part in question.changes.parts]


def test_the_first_frame_is_whole_although_it_is_as_the_buffer_was() -> None:
    made, _ = writer()
    assert [sent(made) for _ in range(3)] == ["whole", [], []]


def test_a_block_is_sent_once_and_the_last_one_is_shorter() -> None:
    frame = np.zeros(BLOCK * 4 + 8, np.uint8)
    made = FrameWriter(frame.data)
    made.send_changes((TensorSpec("x", "int8", (frame.size,)),), None)
    made.question()
    frame[[0, BLOCK - 1, frame.size - 1]] = 1, 2, 3
    parts = Question.FromString(made.question()).changes.parts
    assert [(part.start, part.data) for part in parts] == [
        (0, frame[:BLOCK].tobytes()),
        (4 * BLOCK, frame[4 * BLOCK :].tobytes()),
    ]
    assert not Question.FromString(made.question()).changes.parts


@pytest.mark.parametrize(("blocks", "whole"), [(1, False), (3, False), (4, True), (6, True)])
def test_changes_of_more_than_half_of_the_frame_are_not_worth_it(blocks: int, whole: bool) -> None:
    made, frame = writer()
    made.question()
    frame[: blocks * BLOCK] = 1
    expected = "whole" if whole else [(number * BLOCK, BLOCK) for number in range(blocks)]
    assert sent(made) == expected
    assert sent(made) == [], "what has been sent is known, whichever way it went"


def test_a_forgotten_frame_is_sent_whole_with_what_changed_since() -> None:
    made, frame = writer()
    made.question()
    made.forget()
    frame[5] = 1
    assert Question.FromString(made.question()).frame == frame.tobytes()
    assert sent(made) == []


def test_a_writer_that_sends_no_changes_sends_all() -> None:
    frame = np.arange(200, dtype=np.uint8)
    made = FrameWriter(frame.data)
    for value in (1, 1, 2):
        frame[7] = value
        assert Question.FromString(made.question()).frame == frame.tobytes()


def test_tensors_whose_changes_are_known_are_compared_only_then() -> None:
    """Of a block or more; the bytes around them are always compared."""
    host = Stamps(first=1, large=1, small=1)
    made, frame = writer(host)
    assert sent(made) == "whole"
    assert {"large", "last"} <= set(host.asked)
    assert not {"first", "small"} & set(host.asked), "smaller than a block"
    frame[8] = 1  # of `large`, whose stamp is as it was
    assert sent(made) == []
    frame[0] = 1
    assert sent(made) == [(0, 8)]
    frame[8 + BLOCK] = 1
    assert sent(made) == [(8 + BLOCK, BLOCK)]
    host.stamps["large"] = 2
    assert sent(made) == [(8, BLOCK)]
    assert sent(made) == []


@pytest.mark.parametrize(("size", "changes"), [(LEAST - 8, False), (LEAST, True), (LEAST + 8, True)])
def test_the_size_from_which_on_changes_are_read(size: int, changes: bool) -> None:
    assert FrameReader(size).changes is changes


def test_a_frame_is_read_as_it_was_written() -> None:
    made, frame = writer()
    frame[:] = np.random.default_rng(1).integers(0, 256, SIZE)
    reader = FrameReader(SIZE)
    whole = made.question()
    for other in (whole[:-1], whole + b"x", b"\x13" + whole[1:], b""):
        assert not reader.read_whole(other)
    assert not reader.frame.any()
    assert reader.read_whole(whole)
    assert reader.frame.tobytes() == reader.seen.tobytes() == frame.tobytes()
    assert not reader.seen.flags.writeable
    assert np.shares_memory(reader.seen, reader.frame)


def test_changes_need_a_frame_of_the_same_session() -> None:
    reader = FrameReader(LEAST)
    changes = FrameChanges(parts=[FramePart(start=LEAST - 2, data=b"ab")])
    whole = FrameWriter(bytes(LEAST)).question()  # type: ignore[arg-type]
    with pytest.raises(PeerError, match=f"^question: expected a frame of {LEAST} bytes first, got changes"):
        reader.change(changes)
    assert reader.read_whole(whole)
    reader.change(changes)
    assert reader.frame[-2:].tobytes() == b"ab"
    reader.forget()
    with pytest.raises(PeerError, match="bytes first"):
        reader.change(changes)
    assert reader.read_whole(whole)
    reader.change(FrameChanges())
    assert not reader.frame.any()
