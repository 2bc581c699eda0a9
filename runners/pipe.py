# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pipe:BASE`: asks a model server on this machine, `passpilot serve RUNNER --pipe BASE`, over two FIFOs.

`passpilot.runners.wire` defines the messages, `passpilot.runners.fifo` the FIFOs. If the server is not there
yet, or serves another client, the client waits for it as long as for any answer.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ModelError, PeerError, RunnerSpecError, SpecMismatchError
from passpilot.runners import wire
from passpilot.runners.base import Runner
from passpilot.runners.fifo import connect
from passpilot.runners.watch import PipeWatch

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
        self._who = f"pipe:{base}"
        self._broken = ""
        deadline = time.monotonic() + timeout  # one for the whole of the beginning
        self._channel = connect(base, deadline)
        try:
            greeting = self._greet(point, deadline)
            self.inputs: tuple[TensorSpec, ...] = self._wanted(greeting, point)
        except BaseException:
            self._channel.close()
            raise
        self.output = point.advice
        self.server = greeting.runner
        self._unpack = wire.answer_struct(point.advice).unpack_from
        self._request = bytearray(wire.EVALUATE) + bytes(wire.frame_size(self.inputs))
        self._request_frame = memoryview(self._request)[len(wire.EVALUATE) :]
        self._frame = self._request_frame
        self._answer = bytearray(wire.ANSWER_SIZE + 1)  # one more, to notice a surplus
        self._write = self._channel.writer.write
        self._read_into = self._channel.reader.readinto
        self._watch = PipeWatch(self._channel, timeout)

    def _greet(self, point: Point, deadline: float) -> wire.Welcome:
        self._channel.write(wire.hello(point), deadline, "the handshake")
        return wire.read_welcome(self._channel.read_line(deadline, "a handshake"), self._who)

    def _wanted(self, greeting: wire.Welcome, point: Point) -> tuple[TensorSpec, ...]:
        try:
            return point.select(greeting.inputs)
        except SpecMismatchError as error:
            msg = f"{self._who}: {error}"
            raise SpecMismatchError(msg) from None

    def bind(self, tensors: Mapping[str, Tensor], frame: NDArray[np.uint8], host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self._frame = frame.data

    def evaluate(self) -> int | float:
        """The server's advice.

        Raises:
            ModelError: the server's runner had an error; the text is the server's.
            PeerError: the server is dead, silent or incoherent.
        """
        watch = self._watch
        try:
            watch.steps += 1
            self._request_frame[:] = self._frame
            written = self._write(self._request)
            if written != len(self._request):
                self._send(bytes(self._request[written or 0 :]))
            size = self._read_into(self._answer)
            watch.steps += 1
            status, advice = self._unpack(self._answer)
            if size != wire.ANSWER_SIZE or status:
                return self._unusual(bytes(self._answer[:size]))
        except ModelError:
            raise
        except BaseException as error:
            self._end(error)
            raise
        return advice  # type: ignore[no-any-return]

    def switch_context(self, name: str) -> None:
        """Tell the server; raises what `evaluate` raises."""
        text = wire.text_message(name)
        try:
            self._send(wire.CONTEXT + self._frame + wire.WORD.pack(len(text)) + text)
            self._unusual(b"")
        except ModelError:
            raise
        except BaseException as error:
            self._end(error)
            raise

    def _send(self, data: bytes) -> None:
        self._channel.write(data, time.monotonic() + self._timeout, "a question")

    def _unusual(self, data: bytes) -> int | float:
        """Finish reading an answer that did not come as 16 bytes at once, or that tells an error."""
        deadline = time.monotonic() + self._timeout
        with self._watch.lock:  # from here on it leaves us alone
            if self._watch.fired:
                raise self._channel.silent(f"an answer within {self._timeout:g} s")
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
        self._watch.stop()
        self._channel.close()

    def close(self) -> None:
        if not self._broken:
            self._broken = f"{self._who}: expected a session, got one that was closed"
            with contextlib.suppress(OSError):
                self._write(wire.BYE + self._frame)
            self._release()

    def __del__(self) -> None:
        if hasattr(self, "_watch"):  # the server waits for the end of the session before it serves another
            self.close()


def pipe_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> PipeRunner:  # noqa: ARG001
    """The runner of `pipe:BASE`."""
    if not target:
        msg = "runner pipe: expected pipe:BASE, got no base; give the one of `passpilot serve --pipe`"
        raise RunnerSpecError(msg)
    return PipeRunner(target, point, timeout)
