# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pipe:BASE`: asks a model server on this machine, `passpilot serve RUNNER --pipe BASE`, over two FIFOs.

`passpilot.runners.wire` defines the messages, `passpilot.runners.fifo` the FIFOs. If the server is not there
yet, or serves another client, the client waits for it as long as for any answer.
"""

from __future__ import annotations

import contextlib
import os
import select
import time
from typing import TYPE_CHECKING

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ModelError, PeerError, RunnerSpecError
from passpilot.runners import wire
from passpilot.runners.base import Runner
from passpilot.runners.fifo import connect

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from passpilot.features.point import Point
    from passpilot.runners.base import Host, Tensor


class PipeRunner(Runner):
    """A session with a model server, which names the tensors that it wants.

    No wait is longer than `timeout` seconds. After a `PeerError` the session is over, and each further
    question raises it again at once; an error that the model itself had leaves the session as it is.

    Raises:
        PeerError: the server is absent, dead, silent or incoherent.
        SpecMismatchError: the server's runner wants a tensor that is not offered.
    """

    def __init__(self, base: str, point: Point, timeout: float) -> None:
        self._timeout = timeout
        self._milliseconds = max(1, round(timeout * 1000))
        self._who = f"pipe:{base}"
        self._broken = ""
        self._channel = connect(base, time.monotonic() + timeout)
        try:
            greeting = self._greet(point)
            self.inputs: tuple[TensorSpec, ...] = point.select(greeting.inputs)
        except BaseException:
            self._channel.close()
            raise
        self.output = point.advice
        self.server = greeting.runner
        self._unpack = wire.answer_struct(point.advice).unpack
        self._read_fd = self._channel.read_fd
        self._write_fd = self._channel.write_fd
        poll = select.poll()
        poll.register(self._read_fd, select.POLLIN)
        self._poll = poll.poll
        self._set_frame(memoryview(bytes(wire.frame_size(self.inputs))))

    def _greet(self, point: Point) -> wire.Welcome:
        deadline = time.monotonic() + self._timeout
        self._channel.write(wire.hello(point), deadline, "the handshake")
        return wire.read_welcome(self._channel.read_line(deadline, "a handshake"), self._who)

    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8], host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self._set_frame(frame.data)

    def _set_frame(self, frame: memoryview) -> None:
        self._question = (wire.EVALUATE, frame)
        self._question_size = len(wire.EVALUATE) + frame.nbytes

    def evaluate(self) -> int | float:
        """The server's advice.

        Raises:
            ModelError: the server's runner had an error; the text is the server's.
            PeerError: the server is dead, silent or incoherent.
        """
        try:
            written = os.writev(self._write_fd, self._question)
            if written != self._question_size:
                self._write_rest(self._question, written)
            if not self._poll(self._milliseconds):
                raise self._channel.silent("an answer")
            data = os.read(
                self._read_fd, wire.ANSWER_SIZE + 1
            )  # one more, to notice what does not belong there
            if len(data) != wire.ANSWER_SIZE:
                return self._unusual(data)
            status, advice = self._unpack(data)
            if status:
                return self._unusual(data)
        except ModelError:
            raise
        except BaseException as error:
            self._end(error)
            raise
        return advice  # type: ignore[no-any-return]

    def switch_context(self, name: str) -> None:
        """Tell the server; raises what `evaluate` raises."""
        text = wire.text_message(name)
        parts = (wire.CONTEXT, self._question[1], wire.WORD.pack(len(text)), text)
        try:
            self._write_rest(parts, os.writev(self._write_fd, parts))
            self._unusual(b"")
        except ModelError:
            raise
        except BaseException as error:
            self._end(error)
            raise

    def _write_rest(self, parts: tuple[bytes | memoryview, ...], written: int) -> None:
        rest = memoryview(b"".join(parts))[written:]
        self._channel.write(rest, time.monotonic() + self._timeout, "a question")

    def _unusual(self, data: bytes) -> int | float:
        """Finish reading an answer that did not come as 16 bytes at once, or that tells an error."""
        deadline = time.monotonic() + self._timeout
        if len(data) < wire.ANSWER_SIZE:
            data = self._channel.read(wire.ANSWER_SIZE, deadline, "an answer", data)
        status, advice = self._unpack(data[: wire.ANSWER_SIZE])
        rest = data[wire.ANSWER_SIZE :]
        if status > wire.MAX_TEXT or (rest and not status):
            msg = f"{self._who}: expected an answer of {wire.ANSWER_SIZE} bytes, got {data!r}"
            raise PeerError(msg)
        if status:
            text = self._channel.read(status, deadline, "the text of an error", rest)
            msg = f"{self._who} ({self.server}): {text.decode('utf-8', 'replace')}"
            raise ModelError(msg)
        return advice  # type: ignore[no-any-return]

    def _end(self, error: BaseException) -> None:
        """End the session for good: what may still come would belong to an earlier question.

        Raises:
            PeerError: for an error of the operating system, and for every question after the first failure.
        """
        if self._broken:
            raise PeerError(self._broken) from None
        if isinstance(error, PeerError):
            self._broken = str(error)
        elif isinstance(error, OSError):
            self._broken = f"{self._who}: expected a running server, got: {error.strerror}"
        else:
            self._broken = f"{self._who}: expected a session, got one that an interruption ended"
        self._release()
        if isinstance(error, OSError):
            raise PeerError(self._broken) from error

    def _release(self) -> None:
        self._read_fd = self._write_fd = -1
        self._channel.close()

    def close(self) -> None:
        if not self._broken:
            self._broken = f"{self._who}: expected a session, got one that was closed"
            with contextlib.suppress(OSError):
                os.writev(self._write_fd, (wire.BYE, self._question[1]))
            self._release()


def pipe_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> PipeRunner:  # noqa: ARG001
    """The runner of `pipe:BASE`."""
    if not target:
        msg = "runner pipe: expected pipe:BASE, got no base; give the one of `passpilot serve --pipe`"
        raise RunnerSpecError(msg)
    return PipeRunner(target, point, timeout)
