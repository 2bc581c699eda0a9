# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`grpc:HOST:PORT[?tls=CA.pem|no&token=TOKEN|@FILE]`: asks a model server on this machine or another.

The server is `passpilot serve RUNNER --grpc HOST:PORT`, or any program that speaks advisor.proto, which comes
with the package. One runner is one stream. It waits for the server to listen as long as for an answer.

    tls=FILE       use TLS; a certificate in this PEM file must have signed the server's
    tls=no         use no TLS even if a token goes to another machine; without a token this is the default
    token=TOKEN    send this token to the server; @FILE reads it from a file

`protocol=mlbridge` speaks to ML-Compiler-Bridge's servers instead; see `passpilot.runners.foreign.mlbridge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from google.protobuf.message import DecodeError

from passpilot.features.point import Point
from passpilot.plugin.errors import PeerError, RunnerSpecError, UsageError
from passpilot.plugin.failures import for_terminal, printable, shown
from passpilot.runners.base import Frame, Host, Runner, Tensor
from passpilot.runners.remote import grpc_messages, wire
from passpilot.runners.remote.advisor_pb2 import Answer, Question
from passpilot.runners.remote.auth import NO_CREDENTIALS, Credentials, read_credentials
from passpilot.runners.remote.frame_changes import FrameWriter
from passpilot.runners.remote.grpc_stream import GrpcStream, connect
from passpilot.runners.remote.peer import RemoteRunner
from passpilot.runners.remote.watch import Watch
from passpilot.runners.spec import chosen_protocol, runner_keys

_KEYS: Final = {"passpilot": ("tls", "token"), "mlbridge": ("proto", "features")}
"""The keys of each protocol."""


class GrpcRunner(RemoteRunner):
    """A session with a model server, which names the tensors that it wants.

    Raises:
        PeerError: the server is absent, dead, silent, incoherent, or refuses the session.
        SpecMismatchError: the server's runner wants a tensor that is not offered.
    """

    def __init__(
        self,
        target: str,
        point: Point,
        timeout: float,
        *,
        credentials: Credentials = NO_CREDENTIALS,
    ) -> None:
        channel = connect(target, credentials.certificates)
        super().__init__(f"grpc:{target}", timeout)
        self._target = target
        self._open = credentials == NO_CREDENTIALS
        self._stream = GrpcStream(
            channel, f"/{grpc_messages.SERVICE}/{grpc_messages.METHOD}", credentials.metadata
        )
        self._watch = Watch(self._who, timeout, self._stream.cancel)
        with self._handshake():
            self._watch.steps += 1
            greeting = self._read_welcome(self._reach(grpc_messages.hello(point)))
            self._watch.steps += 1
            self._greet(greeting, point)
            self._code = grpc_messages.AdviceCode(point.advice)
            self._writer = FrameWriter(memoryview(bytes(wire.frame_size(self.inputs))))

    def _reach(self, hello: bytes) -> bytes:
        """Wait until the server listens; return its answer to the handshake."""
        answer = self._stream.open_when_listening(hello, lambda: not self._watch.fired)
        if answer is None:
            late = self._stream.refused or "nothing before the deadline"
            got = late if self._watch.fired else self._stream.status
            command = f"passpilot serve RUNNER --grpc {self._target}"
            absent = self._watch.fired and self._stream.refused
            hint = f"start `{command}`{'' if absent and self._open else ', with the same TLS and token'}"
            raise PeerError(f"{self._who}: expected a model server, got {got}; {hint}")
        return answer

    def _read_welcome(self, data: bytes) -> wire.Greeting:
        if len(data) > wire.MAX_LINE:
            self._refuse(f"a welcome of at most {wire.MAX_LINE} bytes", len(data))
        answer = self._parsed(data)
        kind = answer.WhichOneof("kind")
        if kind == "failure":
            text = for_terminal(answer.failure.error[: wire.MAX_TEXT])
            raise wire.error_class(answer.failure.kind)(f"{self._who}: {text}")
        if kind != "welcome":
            self._refuse("a welcome", data[:80])
        self._changes = answer.welcome.changes
        return wire.read_welcome(grpc_messages.as_json(answer.welcome), self._who)

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame, host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self._writer = FrameWriter(frame.data)
        if self._changes:
            self._writer.send_changes(self.inputs, host)

    def _ask(self, deadline: float = 0.0) -> int | float:  # noqa: ARG002  (the watch keeps the deadline)
        data = self._exchange(self._writer.question())
        if len(data) == self._code.size and data[0] == self._code.head:
            _, advice = self._code.unpack(data)
            return advice  # type: ignore[no-any-return]
        answer = self._checked(data)
        if answer.WhichOneof("kind") != self._code.field:
            self._refuse(f"an answer with the advice as {self._code.field}", data[:80])
        return getattr(answer, self._code.field)  # type: ignore[no-any-return]

    def _exchange(self, question: bytes) -> bytes:
        if self._broken:
            raise PeerError(self._broken)
        watch = self._watch
        watch.steps += 1
        data = self._stream.ask(question)
        watch.steps += 1
        if data is not None:
            return data
        if watch.fired:
            hint = "see whether it hangs, or raise --timeout"
            raise PeerError(f"{self._who}: expected an answer within {self._timeout:g} s, got none; {hint}")
        got = self._stream.status
        raise PeerError(f"{self._who}: expected an answer, got {got}; see the server's own output")

    def switch_context(self, name: str) -> None:
        """Send the context to the server; raises what `evaluate` raises."""
        question = Question(context=wire.text_message(printable(name)).decode()).SerializeToString()

        def switch(_deadline: float) -> None:
            data = self._exchange(question)
            if self._checked(data).WhichOneof("kind") != "done":
                self._refuse("an answer that the context is known", data[:80])

        self._guarded(switch)

    def _checked(self, data: bytes) -> Answer:
        """Parse an answer."""
        answer = self._parsed(data)
        if answer.WhichOneof("kind") == "failure":
            self._writer.forget()
            raise self._failure(answer.failure.error[: wire.MAX_TEXT])
        return answer

    def _parsed(self, data: bytes) -> Answer:
        try:
            return Answer.FromString(data)
        except DecodeError as error:
            raise PeerError(f"{self._who}: expected an Answer of advisor.proto, got {data[:80]!r}") from error

    def release(self) -> None:
        self._watch.stop()
        self._stream.close()


@runner_keys("protocol", *(key for keys in _KEYS.values() for key in keys))
def grpc_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> Runner:
    """Make the runner of `grpc:HOST:PORT`.

    Raises:
        RunnerSpecError: the target or a key is wrong, or a token would travel unprotected.
        InputError: a file cannot be read.
    """
    who = f"runner grpc:{target}"
    if chosen_protocol(who, options, _KEYS) == "mlbridge":
        from passpilot.runners.foreign import mlbridge

        return mlbridge.grpc_runner(target, options, point, timeout)
    try:
        host, port = grpc_messages.split_address(target, who)
    except UsageError as error:
        raise RunnerSpecError(shown(str(error))) from None
    if port == 0:
        raise RunnerSpecError(f"{who}: expected the port that a server has, got 0")
    tls = options.get("tls", "")
    hint = "add tls=CA.pem, or tls=no"
    credentials = read_credentials(host, tls, options.get("token"), who, error=RunnerSpecError, hint=hint)
    return GrpcRunner(f"{host}:{port}", point, timeout, credentials=credentials)
