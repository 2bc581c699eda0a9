# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The server's end of a pipe session after the handshake; `passpilot.runners.remote.wire` is the protocol."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.features.domain import Flag
from passpilot.features.point import Point
from passpilot.features.spec import MAX_BYTES
from passpilot.plugin.errors import PeerError
from passpilot.plugin.failures import describe_failure
from passpilot.runners.base import Runner, tensor_views
from passpilot.runners.remote import wire
from passpilot.runners.serdes import advice_serdes, make_serdes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn, TypeAlias

    from passpilot.runners.remote.fifo import FifoChannel
    from passpilot.runners.serving.tally import SessionCount

    Notice: TypeAlias = Callable[[str], object]
    SessionMaker: TypeAlias = Callable[
        [FifoChannel, Runner, Point, float, Notice, SessionCount], "PipeSession"
    ]

LONGEST_NOTICE: Final = 1000
"""The most characters of an error in a server's own output."""


class PipeSession:
    """Answers one client's questions."""

    def __init__(
        self,
        channel: FifoChannel,
        runner: Runner,
        point: Point,
        timeout: float,
        notice: Notice,
        count: SessionCount,
    ) -> None:
        self._channel = channel
        self._count = count
        self._runner = runner
        self._domain = point.domain
        self._yes = wire.answer_struct(point.advice).pack(0, 1) if isinstance(point.domain, Flag) else b""
        self._pack = wire.answer_struct(point.advice).pack
        self._timeout = timeout
        self._notice: Callable[[str], object] | None = notice
        self._request = bytearray(len(wire.EVALUATE)) + bytes(wire.frame_size(runner.inputs))
        frame = np.frombuffer(self._request, np.uint8)[len(wire.EVALUATE) :]
        self._tensors = tensor_views(runner.inputs, frame)
        runner.bind(self._tensors, frame)

    def run(self, stopping: Callable[[], bool]) -> None:
        """Answer until the client ends the session, or the server is stopping.

        Raises:
            PeerError: the client died within a message, or sent a malformed one.
        """
        read_into, write = self._channel.reader.readinto, self._channel.writer.write
        evaluate, accept, pack = self._runner.evaluate, self._domain.accept, self._pack
        request, evaluation, tensors = self._request, wire.EVALUATE, self._tensors
        size, yes, count = len(request), self._yes, self._count
        while not stopping():
            got = read_into(request)
            if got != size:
                if not got:
                    return
                self._channel.fill(memoryview(request)[got:], self._deadline(), "the rest of a request")
            if not request.startswith(evaluation):
                if request.startswith(wire.BYE):
                    return
                self._other()
                continue
            try:
                advice = evaluate()
                answer = (advice is True and yes) or pack(0, accept(advice, tensors))
            except BaseException as error:  # noqa: BLE001  (sent to the compiler)
                self._fail(error)
                continue
            count.decisions += 1
            if write(answer) != len(answer):
                raise self._channel.silent("it to read an answer")

    def _other(self) -> None:
        if not self._request.startswith(wire.CONTEXT):
            self._give_up(f"expected a request of a known kind, got {bytes(self._request[:8])!r}")
        (size,) = wire.WORD.unpack(
            self._channel.read(wire.WORD.size, self._deadline(), "the length of a name")
        )
        if size > wire.MAX_TEXT:
            self._give_up(f"expected a name of at most {wire.MAX_TEXT} bytes, got {size}")
        name = self._channel.read(size, self._deadline(), "the name of a context").decode("utf-8", "replace")
        try:
            self._runner.switch_context(name)
        except BaseException as error:  # noqa: BLE001  (sent to the compiler)
            self._fail(error)
        else:
            self._send(self._pack(0, 0))

    def _fail(self, error: BaseException) -> None:
        """Send an error to the client; raise the user's interruption of the server."""
        if isinstance(error, KeyboardInterrupt):
            raise error
        self._count.errors += 1
        text = describe_failure(error)
        self._send(self._failure(text))
        if self._notice is not None:
            self._notice(text[:LONGEST_NOTICE])
            self._notice = None  # later errors go only to the client

    def _give_up(self, text: str) -> NoReturn:
        """Send the client the error and end the session: the rest of a malformed request has no meaning."""
        text = f"{self._channel.who}: {text}"
        self._send(self._failure(text))
        raise PeerError(text)

    def _failure(self, text: str) -> bytes:
        data = wire.text_message(text or "error")
        return self._pack(len(data), 0) + data

    def _send(self, data: bytes) -> None:
        self._channel.write(data, self._deadline(), "an answer")

    def _deadline(self) -> float:
        return time.monotonic() + self._timeout


class CodedPipeSession(PipeSession):
    """A session that encodes the tensors: `serdes=json` or `serdes=protobuf`."""

    def __init__(
        self,
        serdes: str,
        channel: FifoChannel,
        runner: Runner,
        point: Point,
        timeout: float,
        notice: Notice,
        count: SessionCount,
    ) -> None:
        super().__init__(channel, runner, point, timeout, notice, count)
        self._observation = make_serdes(serdes, runner.inputs, point.features)
        self._observation.bind(self._tensors, runner.frame)
        self._advice, self._value = advice_serdes(serdes, point.advice)
        self._request = bytearray(wire.HEAD.size)
        self._pack = wire.HEAD.pack

    def run(self, stopping: Callable[[], bool]) -> None:
        request = self._request
        while not stopping():
            got = self._channel.reader.readinto(request)
            if not got:
                return
            self._channel.fill(memoryview(request)[got:], self._deadline(), "a request")
            _, size = wire.HEAD.unpack(request)
            if size > MAX_BYTES:
                self._give_up(f"expected a message of at most {MAX_BYTES} bytes, got {size}")
            message = self._channel.read(size, self._deadline(), "the message of a request")
            if request.startswith(wire.EVALUATE):
                self._answer(message)
            elif request.startswith(wire.BYE):
                return
            else:
                self._other()

    def _answer(self, message: bytes) -> None:
        try:
            self._observation.decode(message)
        except PeerError as error:
            self._give_up(str(error))
        try:
            self._value[...] = self._domain.accept(self._runner.evaluate(), self._tensors)
        except BaseException as error:  # noqa: BLE001  (sent to the compiler)
            self._fail(error)
            return
        advice = self._advice.encode()
        self._count.decisions += 1
        self._send(wire.HEAD.pack(0, len(advice)) + advice)


def session_maker(serdes: str) -> SessionMaker:
    """A function that makes the session for a client of the format `serdes`.

    It raises RunnerSpecError if the format is unknown, or cannot name the tensors.
    """
    return PipeSession if serdes == "bitstream" else partial(CodedPipeSession, serdes)
