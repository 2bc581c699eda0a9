# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EpisodeStream`: an agent's stream to `passpilot serve-compiler`.

Only this module of the client needs gRPC; `passpilot.training.episode` imports it when a client is made.
"""

from __future__ import annotations

import time
from typing import Final

from google.protobuf.message import DecodeError

from passpilot.plugin.errors import PeerError
from passpilot.runners.remote import grpc_messages, wire
from passpilot.runners.remote.auth import read_credentials
from passpilot.runners.remote.grpc_stream import GrpcStream, connect
from passpilot.runners.remote.watch import Watch
from passpilot.training.compiler_pb2 import AgentMessage, CompilerMessage
from passpilot.training.messages import MessageStream

METHOD: Final = "/passpilot.v1.Compiler/Episodes"
_PATIENCE: Final = 10.0
"""Seconds to wait for a service that has just been started."""


class EpisodeStream(MessageStream):
    """A stream whose every answer must come within `timeout` seconds.

    Raises:
        Error: the target, the certificates or the token are invalid.
    """

    def __init__(self, target: str, timeout: float, *, tls: str, token: str) -> None:
        super().__init__(f"compiler {target}")
        host, port = grpc_messages.split_address(target, self._who)
        hint = 'give tls="ca.pem", or tls="no"'
        self._credentials = read_credentials(host, tls, token or None, self._who, hint=hint)
        self._target, self._timeout = f"{host}:{port}", timeout
        self._stream: GrpcStream | None = None

    def exchange(self, message: AgentMessage) -> CompilerMessage:
        data, new = message.SerializeToString(), self._stream is None
        if self._stream is None:
            channel = connect(self._target, self._credentials.certificates, largest=wire.LARGEST)
            self._stream = GrpcStream(channel, METHOD, self._credentials.metadata)
            self._watch = Watch(f"compiler {self._target}", self._timeout, self._stream.cancel)
        self._watch.steps += 1
        patience = time.monotonic() + _PATIENCE
        answer = (
            self._stream.open_when_listening(data, lambda: time.monotonic() <= patience)
            if new
            else self._stream.ask(data)
        )
        self._watch.steps += 1
        who = f"compiler {self._target}"
        if answer is None:
            late = f"none within {self._timeout:g} s"
            got = late if self._watch.fired else self._stream.status
            raise PeerError(f"{who}: expected an answer, got {got}")
        try:
            return CompilerMessage.FromString(answer)
        except DecodeError as error:
            got = f"got {answer[:80]!r}"
            raise PeerError(f"{who}: expected a CompilerMessage of compiler.proto, {got}") from error

    def close(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            self._watch.stop()
            stream.close()
