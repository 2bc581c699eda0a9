# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages between `passpilot.passes.mlir.stock.door` and `passpilot.passes.mlir.stock.worker`.

A `Connection` pickles them. A request comes with the operation's text, empty unless it is a `RunRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.passes.advisor import OnError

Place = tuple[str, int, int]
"""File, line and column; empty and 0 if unknown."""

Message = tuple[str, str, Place]
"""A diagnostic: severity, such as ``error``, text and place."""


class RunRequest(NamedTuple):
    """The request to run a pass."""

    compilation: int
    """The number of the compilation; 0 if it has no advisors."""
    operation: str
    name: str
    element: str
    inside: bool
    """Whether the text is a module whose first operation is the one to run on."""
    unregistered: bool = False
    """Whether the tool allows operations of unknown dialects."""


class AdviseRequest(NamedTuple):
    """The request to let a runner decide at a point, in all passes of a compilation."""

    compilation: int
    point: str
    runner: str
    log: str
    on_error: OnError
    timeout: float


class EndRequest(NamedTuple):
    """The request to end the advisors of a compilation."""

    compilation: int
    good: bool
    stats: bool


Request = RunRequest | AdviseRequest | EndRequest


class Reply(NamedTuple):
    """The diagnostics of a run, and the new operation, empty if unchanged."""

    diagnostics: Sequence[Message]
    text: bytes = b""
