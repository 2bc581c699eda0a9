# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages between the compiler service and its workers; this docstring is their definition.

They go over a socket. Each is a u32, its length, and an `AgentMessage` to the worker or a `CompilerMessage`
from it, as an agent sends and gets them but for this: a start has the code of its module, and measures the
default compiler if it has no point; an empty message abandons what is under way, and is answered by an empty
one; the worker's first message is empty, or the failure of a file that it was to load.
"""

from __future__ import annotations

import struct
from typing import Final

from passpilot.plugin.errors import CompilationError, Error
from passpilot.plugin.failures import describe_failure
from passpilot.training.compiler_pb2 import CompilerMessage

LENGTH: Final = struct.Struct("=I")


def failure(error: BaseException, *, retry: bool = False) -> CompilerMessage:
    """An error as a message: its class by name, and its text."""
    kind = type(error).__name__ if isinstance(error, Error) else CompilationError.__name__
    text = " ".join(filter(None, map(str.strip, describe_failure(error).splitlines())))
    return CompilerMessage(failure={"failure": {"error": text, "kind": kind}, "retry": retry})
