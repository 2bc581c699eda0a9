# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages between agents, the compiler service and its workers; this docstring defines the last ones.

Those of a worker travel over a socket. A message is a u32 length and an `AgentMessage` to the worker or a
`CompilerMessage` from it, as between agent and service, with these differences:

* a start has the module's code, never a path; without a point it measures the compiler's default;
* an empty message abandons the present episode, and the worker answers with an empty one;
* the worker's first message is empty, or the failure of a file that it could not load.
"""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final

from passpilot.plugin.errors import AdviceError, CompilationError, Error, InputError
from passpilot.plugin.failures import describe_failure
from passpilot.training.compiler_pb2 import Action, AgentMessage, CompilerMessage, Start

LENGTH: Final = struct.Struct("=I")


class MessageStream(ABC):
    """Exchanges messages with a compiler for an agent; `who` begins its errors."""

    def __init__(self, who: str) -> None:
        self._who = who

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
            AdviceError: the action is no bool and no number, or beyond 64 bits.
        """
        item = getattr(action, "item", None)
        plain = item() if callable(item) and getattr(action, "size", None) == 1 else action
        try:
            if isinstance(plain, int):
                return AgentMessage(action=Action(integer=int(plain)))
            if isinstance(plain, float):
                return AgentMessage(action=Action(number=plain))
        except ValueError:  # beyond 64 bits
            pass
        msg = f"action: expected a bool or a number, got {type(action).__name__} {action!r:.80}"
        raise AdviceError(f"{msg}; give the decision itself")

    @abstractmethod
    def exchange(self, message: AgentMessage) -> CompilerMessage:
        """Send a message and return the answer.

        Raises:
            PeerError: no answer came, or a malformed one.
        """

    @abstractmethod
    def close(self) -> None:
        """End the stream; the next message opens another one. Idempotent."""


def failure(error: BaseException, *, retry: bool = False) -> CompilerMessage:
    """The message that reports an error: the name of its class, and its text."""
    kind = type(error).__name__ if isinstance(error, Error) else CompilationError.__name__
    text = " ".join(filter(None, map(str.strip, describe_failure(error).splitlines())))
    return CompilerMessage(failure={"failure": {"error": text, "kind": kind}, "retry": retry})


def points_of(start: Start) -> list[tuple[str, Sequence[str]]]:
    """The points that an episode decides, each with the features to observe; none in the default's start."""
    first = [(start.point, start.features)] if start.point else []
    return [*first, *((point.point, point.features) for point in start.also)]


def default_start(start: Start) -> Start:
    """The start of the same compilation by the compiler's own default."""
    default = Start()
    default.CopyFrom(start)
    for what in ("point", "features", "function", "also", "object", "partial"):  # all else is the same
        default.ClearField(what)
    return default
