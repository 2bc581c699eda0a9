# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PipeServer`: a model server behind two FIFOs, the other end of `pipe:BASE`; `wire.py` is the protocol.

It serves one compiler after the other, each with a new runner. A compiler that dies, at whatever byte, ends
only its session; a runner's error goes back to the compiler as text, and the session goes on.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Final, NoReturn

import numpy as np

from passpilot.features.domain import Flag
from passpilot.features.point import Point
from passpilot.plugin.errors import Error, PeerError, PolicyError
from passpilot.plugin.failures import describe_failure
from passpilot.plugin.process_end import is_interrupt
from passpilot.runners.base import Runner, tensor_views
from passpilot.runners.remote import wire
from passpilot.runners.remote.fifo import FifoChannel, Listener
from passpilot.runners.serdes import advice_serdes, make_serdes
from passpilot.runners.serving.sessions import FRAME, SessionCount, Supply, Tally
from passpilot.runners.spec import RunnerLike

_LONGEST_BYTE: Final = 32
"""Bytes of text for a byte of the frame, in which a tensor with its name has at least eight."""


class PipeServer:
    """Serves the runner that `spec` names at the FIFOs of `base`.

    `timeout` in seconds bounds the waits within a message and for a handshake; between questions a compiler
    may be silent without limit. `frame` bounds the bytes of a client's tensors. `ready` is called once
    clients can come. Once `stopping` is set, no further question is answered.
    """

    def __init__(
        self,
        spec: RunnerLike,
        base: str,
        *,
        point: str = "inline",
        timeout: float = 10.0,
        frame: int = FRAME,
        stopping: threading.Event | None = None,
        ready: Callable[[], object] = lambda: None,
        tally: Tally | None = None,
    ) -> None:
        self._base = base
        self._timeout = timeout
        self._stopping = stopping or threading.Event()
        self._ready = ready
        self._tally = tally or Tally()
        self._supply = Supply(spec, point, timeout, frame)

    def run(self, *, once: bool = False) -> None:
        """Serve one session if `once`, else until a signal handler raises or `stopping` is set."""
        try:
            with Listener(self._base) as listener:
                while not self._stopping.is_set():
                    channel = listener.offer()
                    self._ready()
                    self._ready = lambda: None
                    self._serve_next(channel)
                    if once:
                        return
        finally:
            self._supply.close()

    def _serve_next(self, channel: FifoChannel) -> None:
        try:
            channel.wait()
            with self._tally.session("a client on this machine") as count:
                self._session(channel, count)
        except BrokenPipeError:
            self._tally.notice(str(channel.gone("it to read an answer")))
        except (Exception, SystemExit) as error:  # noqa: BLE001  (it ends one session only)
            self._tally.notice(describe_failure(error))
        finally:
            channel.close()

    def _session(self, channel: FifoChannel, count: SessionCount) -> None:
        deadline = time.monotonic() + self._timeout
        with contextlib.ExitStack() as stack:
            try:
                line = channel.read_line(deadline, "a handshake")
                point, serdes = wire.read_hello(line), wire.read_serdes(line)
                runner = stack.enter_context(self._supply.runner_for(point))
                kind = PipeSession if serdes == "bitstream" else CodedPipeSession
                session = kind(channel, runner, point, self._timeout, count, serdes)
            except (Exception, SystemExit) as error:
                reason = error if isinstance(error, Error) else PolicyError(describe_failure(error))
                channel.write(wire.refusal(reason), deadline, "the refusal")
                raise PeerError(f"{channel.who}: refused a client: {reason}") from error
            channel.write(wire.welcome(runner.inputs, self._supply.name), deadline, "the handshake")
            session.run(self._stopping.is_set)


class PipeSession:
    """Answers one client's questions."""

    def __init__(
        self,
        channel: FifoChannel,
        runner: Runner,
        point: Point,
        timeout: float,
        count: SessionCount,
        serdes: str,
    ) -> None:
        self._channel = channel
        self._count = count
        self._runner = runner
        self._domain = point.domain
        self._yes = wire.answer_struct(point.advice).pack(0, 1) if isinstance(point.domain, Flag) else b""
        self._pack = wire.answer_struct(point.advice).pack
        self._timeout = timeout
        self._request = bytearray(len(wire.EVALUATE)) + bytes(wire.frame_size(runner.inputs))
        frame = np.frombuffer(self._request, np.uint8)[len(wire.EVALUATE) :]
        self._tensors = tensor_views(runner.inputs, frame)
        runner.bind(self._tensors, frame)
        self._prepare(serdes, point)

    def _prepare(self, serdes: str, point: Point) -> None:
        """Prepare for messages of another format than bitstream."""

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
        name = self._channel.read(size, self._deadline(), "the name of a context")
        try:
            self._runner.switch_context(name.decode("utf-8", "surrogateescape"))
        except BaseException as error:  # noqa: BLE001  (sent to the compiler)
            self._fail(error)
        else:
            self._send(self._pack(0, 0))

    def _fail(self, error: BaseException) -> None:
        """Send an error to the client; raise the user's interruption of the server."""
        if is_interrupt(error):
            raise error
        self._send(self._failure(self._count.fail(error)))

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

    def _prepare(self, serdes: str, point: Point) -> None:
        self._observation = make_serdes(serdes, self._runner.inputs, point.features)
        self._observation.bind(self._tensors, self._runner.frame)
        self._advice, self._value = advice_serdes(serdes, point.advice)
        self._request = bytearray(wire.HEAD.size)
        self._pack = wire.HEAD.pack
        self._largest = wire.MAX_TEXT + _LONGEST_BYTE * self._runner.frame.nbytes

    def run(self, stopping: Callable[[], bool]) -> None:
        request = self._request
        while not stopping():
            got = self._channel.reader.readinto(request)
            if not got:
                return
            self._channel.fill(memoryview(request)[got:], self._deadline(), "a request")
            _, size = wire.HEAD.unpack(request)
            if size > self._largest:
                self._give_up(f"expected a message of at most {self._largest} bytes, got {size}")
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
