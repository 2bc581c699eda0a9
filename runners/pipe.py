# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`pipe:BASE[?serdes=bitstream|json|protobuf]`: asks a model server on this machine over two FIFOs.

The server is `passpilot serve RUNNER --pipe BASE`. `passpilot.runners.remote.wire` defines the messages,
`passpilot.runners.remote.fifo` the FIFOs. While the server is absent or serves another client, the runner
waits, as long as for an answer. `protocol=mlgo` and `protocol=mlbridge` speak to MLGO's and
ML-Compiler-Bridge's agents.
"""

from __future__ import annotations

import contextlib
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Final

from passpilot.features.point import Point
from passpilot.plugin.errors import ModelError, PeerError, RunnerSpecError
from passpilot.runners.base import Frame, Host, Tensor
from passpilot.runners.remote import wire
from passpilot.runners.remote.fifo import connect
from passpilot.runners.remote.peer import PeerRunner
from passpilot.runners.remote.watch import pipe_watch
from passpilot.runners.serdes import advice_serdes, check_format, make_serdes
from passpilot.runners.spec import chosen_protocol, runner_keys

_KEYS: Final = {"passpilot": ("serdes",), "mlgo": ("default",), "mlbridge": ("serdes", "features")}
"""The keys of each protocol."""

_MOST: Final = 1 << 12


class _Client(PeerRunner):
    """A session with a model server, which names the tensors that it wants.

    Raises:
        PeerError: the server is absent, dead, silent or incoherent.
        SpecMismatchError: the server's runner wants a tensor that is not offered.
    """

    _unpack: Callable[[bytes | bytearray], tuple[int, int | float]]
    """Unpacks the first two words of an answer."""

    def __init__(self, base: str, point: Point, timeout: float, serdes: str = "bitstream") -> None:
        deadline = time.monotonic() + timeout  # for the whole handshake
        super().__init__(connect(base, deadline), timeout)
        with self._handshake():
            self._channel.write(wire.hello(point, serdes), deadline, "the handshake")
            self._greet(wire.read_welcome(self._channel.read_line(deadline, "a handshake"), self._who), point)
            self._channel.widen(wire.frame_size(self.inputs))
            self._prepare(point, serdes)

    @abstractmethod
    def _prepare(self, point: Point, serdes: str) -> None:
        """Prepare for questions; the inputs are known."""

    @abstractmethod
    def _blank(self) -> bytes | memoryview:
        """The filler for the tensors in a message that is not a question."""

    def switch_context(self, name: str) -> None:
        """Send the context to the server; raises what `evaluate` raises."""
        text = wire.text_message(name)
        message = wire.CONTEXT + self._blank() + wire.WORD.pack(len(text)) + text

        def switch(deadline: float) -> None:
            self._channel.write(message, deadline, "a question")
            self._head(b"", deadline)

        self._guarded(switch)

    def _send(self, data: bytes | memoryview) -> None:
        self._channel.write(data, time.monotonic() + self._timeout, "a question")

    def _head(self, data: bytes, deadline: float) -> tuple[int | float, bytes]:
        """The second word of an answer that begins with `data`, and the bytes already read after it."""
        if len(data) < wire.ANSWER_SIZE:
            data = self._channel.read(wire.ANSWER_SIZE, deadline, "an answer", data)
        status, word = self._unpack(data[: wire.ANSWER_SIZE])
        rest = data[wire.ANSWER_SIZE :]
        if status > wire.MAX_TEXT:
            self._refuse(f"an answer of {wire.ANSWER_SIZE} bytes", data)
        if status:
            text = self._channel.read(status, deadline, "the text of an error", rest)
            raise self._failure(text.decode("utf-8", "replace"))
        return word, rest

    def part(self) -> None:
        with contextlib.suppress(OSError, PeerError):
            self._send(wire.BYE + self._blank())


class PipeRunner(_Client):
    """A session that sends the tensors' bytes unchanged: `serdes=bitstream`."""

    def _prepare(self, point: Point, serdes: str) -> None:  # noqa: ARG002
        self._unpack = wire.answer_struct(point.advice).unpack_from
        self._request = bytearray(wire.EVALUATE) + bytes(wire.frame_size(self.inputs))
        self._request_frame = memoryview(self._request)[len(wire.EVALUATE) :]
        self._frame = self._request_frame
        self._answer = bytearray(wire.ANSWER_SIZE + 1)  # one byte more detects a surplus
        self._write = self._channel.writer.write
        self._read_into = self._channel.reader.readinto
        self._watch = pipe_watch(self._channel, self._timeout)

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame, host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self._frame = frame.data

    def evaluate(self) -> int | float:
        # Like the base class, but without a call, a clock and a poll per question.
        watch = self._watch
        try:
            watch.steps += 1
            self._request_frame[:] = self._frame
            written = self._write(self._request)
            if written != len(self._request):
                self._send(memoryview(self._request)[written or 0 :])
            size = self._read_into(self._answer)
            watch.steps += 1
            status, advice = self._unpack(self._answer)
            if size != wire.ANSWER_SIZE or status:
                return self._ask(time.monotonic() + self._timeout, bytes(self._answer[:size]))
        except ModelError:
            raise
        except BaseException as error:
            self.end(error)
            raise
        return advice

    def _ask(self, deadline: float, data: bytes = b"") -> int | float:
        """Finish reading an answer that did not come as 16 bytes at once, or that reports an error."""
        with self._watch.lock:  # the watch has fired by now, or does not fire for this question
            if self._watch.fired:
                raise self._channel.silent(f"an answer within {self._timeout:g} s")
        advice, rest = self._head(data, deadline)
        if rest:
            self._refuse(f"an answer of {wire.ANSWER_SIZE} bytes", data)
        return advice

    def _blank(self) -> memoryview:
        return self._frame

    def release(self) -> None:
        if hasattr(self, "_watch"):
            self._watch.stop()
        super().release()


class CodedPipeRunner(_Client):
    """A session that encodes the tensors: `serdes=json` or `serdes=protobuf`."""

    def _prepare(self, point: Point, serdes: str) -> None:
        self._unpack = wire.HEAD.unpack_from
        self._serdes = self._observation = make_serdes(serdes, self.inputs, point.features)
        self._advice, self._value = advice_serdes(serdes, point.advice)

    def _ask(self, deadline: float) -> int | float:
        message = self._observation.encode()
        self._channel.write(wire.HEAD.pack(1, len(message)) + message, deadline, "a question")
        size, rest = self._head(self._channel.read_some(_MOST, deadline, "an answer"), deadline)
        if size > wire.MAX_TEXT or len(rest) > size:
            self._refuse(f"an advice of at most {min(size, wire.MAX_TEXT)} bytes", rest)
        if len(rest) < size:
            rest = self._channel.read(int(size), deadline, "an advice", rest)
        try:
            self._advice.decode(rest)
        except PeerError as error:
            raise PeerError(f"{self._who}: {error}") from error
        return self._value.item()

    def _blank(self) -> bytes:
        return wire.WORD.pack(0)


@runner_keys("serdes", "protocol", "features", "default")
def pipe_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> PeerRunner:
    """Make the runner of `pipe:BASE`.

    Raises:
        RunnerSpecError: the base is missing, or a key does not fit the protocol.
    """
    if not target:
        msg = "runner pipe: expected pipe:BASE, got no base; give the one of `passpilot serve --pipe`"
        raise RunnerSpecError(msg)
    protocol = chosen_protocol(f"runner pipe:{target}", options, _KEYS)
    if protocol == "mlgo":
        from passpilot.runners.foreign import mlgo

        return mlgo.pipe_runner(target, options, point, timeout)
    if protocol == "mlbridge":
        from passpilot.runners.foreign import mlbridge

        return mlbridge.pipe_runner(target, options, point, timeout)
    serdes = options.get("serdes", "bitstream")
    if serdes == "bitstream":
        return PipeRunner(target, point, timeout)
    check_format(serdes)
    return CodedPipeRunner(target, point, timeout, serdes)
