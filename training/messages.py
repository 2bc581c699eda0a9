# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages between the compiler service and its workers; this docstring defines them.

They travel over a socket. A message is a u32 length and an `AgentMessage` to the worker or a
`CompilerMessage` from it, as between agent and service, with these differences:

* a start has the module's code, never a path; without a point it measures the compiler's default;
* an empty message abandons the present episode, and the worker answers with an empty one;
* the worker's first message is empty, or the failure of a file that it could not load.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import CompilationError, Error
from passpilot.plugin.failures import describe_failure
from passpilot.training.compiler_pb2 import CompilerMessage, Start

if TYPE_CHECKING:
    from collections.abc import Sequence

LENGTH: Final = struct.Struct("=I")


def failure(error: BaseException, *, retry: bool = False) -> CompilerMessage:
    """The message that reports an error: the name of its class, and its text."""
    kind = type(error).__name__ if isinstance(error, Error) else CompilationError.__name__
    text = " ".join(filter(None, map(str.strip, describe_failure(error).splitlines())))
    return CompilerMessage(failure={"failure": {"error": text, "kind": kind}, "retry": retry})


def points_of(start: Start) -> list[tuple[str, Sequence[str]]]:
    """The points that an episode decides, each with the features to observe; none in the default's start."""
    first = [(start.point, start.features)] if start.point else []
    return [*first, *((each.point, each.features) for each in start.also)]


def default_start(start: Start) -> Start:
    """The start of the same compilation by the compiler's own default."""
    default = Start()
    default.CopyFrom(start)
    for what in ("point", "features", "function", "also", "object", "partial"):  # all else is the same
        default.ClearField(what)
    return default
