# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EpisodeStream`: an agent's stream to `passpilot serve-compiler`, and the messages that it sends.

Only this module of the client needs gRPC; `passpilot.training.episode` imports it when a client is made.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from passpilot.plugin.errors import AdviceError, InputError, PeerError
from passpilot.runners.remote import grpc_messages
from passpilot.runners.remote.auth import read_credentials
from passpilot.runners.remote.grpc_stream import GrpcStream, StreamWatch, connect
from passpilot.training.compiler_pb2 import Action, AgentMessage, CompilerMessage, Start

if TYPE_CHECKING:
    from passpilot.runners.remote.auth import Credentials

METHOD: Final = "/passpilot.v1.Compiler/Episodes"
_PATIENCE: Final = 10.0
"""Seconds to wait for a service that has just been started."""


class EpisodeStream:
    """A stream that the first message opens, also after `close`.

    Raises:
        Error: the target, the certificates or the token are invalid.
    """

    def __init__(self, target: str, timeout: float, *, tls: str, token: str) -> None:
        self._who = f"compiler {target}"
        host, port = grpc_messages.split_address(target, self._who)
        hint = 'give tls="ca.pem", or tls="no"'
        self._credentials = read_credentials(host, tls, token or None, self._who, hint=hint)
        self._target, self._timeout = f"{host}:{port}", timeout
        self._connection: _Connection | None = None

    def start_message(self, **fields: object) -> AgentMessage:
        """The message that starts an episode.

        Raises:
            InputError: a field has a wrong type.
        """
        try:
            return AgentMessage(start=Start(**fields))  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise InputError(f"{self._who}: expected the arguments of an episode, got: {error}") from error

    def action_message(self, action: object) -> AgentMessage:
        """The message that takes a decision.

        Raises:
            AdviceError: the action is no bool and no number.
        """
        return AgentMessage(action=_action(action))

    def exchange(self, message: AgentMessage) -> CompilerMessage:
        """Send a message and return the answer.

        Raises:
            PeerError: no answer came, or a malformed one.
        """
        if self._connection is None:
            self._connection = _Connection(self._target, self._credentials, self._timeout)
        return self._connection.exchange(message)

    def close(self) -> None:
        """End the stream. Idempotent."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


class _Connection:
    """One stream of the service; every answer must come within `timeout` seconds."""

    def __init__(self, target: str, credentials: Credentials, timeout: float) -> None:
        self._who = f"compiler {target}"
        self._timeout = timeout
        self._open = False
        channel = connect(target, credentials.certificates)
        self._stream = GrpcStream(channel, METHOD, credentials.metadata)
        self._watch = StreamWatch(self._stream, self._who, timeout)

    def exchange(self, message: AgentMessage) -> CompilerMessage:
        """Send a message and return the answer.

        Raises:
            PeerError: no answer came, or a malformed one.
        """
        data = message.SerializeToString()
        self._watch.steps += 1
        answer = self._stream.ask(data) if self._open else self._begin(data)
        self._watch.steps += 1
        self._open = True
        if answer is None:
            late = f"none within {self._timeout:g} s"
            raise PeerError(
                f"{self._who}: expected an answer, got {late if self._watch.fired else self._stream.status}"
            )
        try:
            return CompilerMessage.FromString(answer)
        except DecodeError as error:
            got = f"got {answer[:80]!r}"
            raise PeerError(f"{self._who}: expected a CompilerMessage of compiler.proto, {got}") from error

    def _begin(self, data: bytes) -> bytes | None:
        patience = time.monotonic() + _PATIENCE
        return self._stream.open_when_listening(data, lambda: time.monotonic() <= patience)

    def close(self) -> None:
        """End the stream and its watch."""
        self._watch.stop()
        self._stream.close()


def _action(value: object) -> Action:
    item = getattr(value, "item", None)
    plain = item() if callable(item) and getattr(value, "size", None) == 1 else value
    try:
        if isinstance(plain, int):
            return Action(integer=int(plain))
        if isinstance(plain, float):
            return Action(number=plain)
    except ValueError:  # beyond 64 bits
        pass
    msg = f"action: expected a bool or a number, got {type(value).__name__} {value!r:.80}"
    raise AdviceError(f"{msg}; give the decision itself")
