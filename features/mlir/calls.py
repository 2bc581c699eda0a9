# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of calls that `mlir-inline` decides on: upstream's and those that `register_call` adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from passpilot.plugin.origin import definition_origin
from passpilot.plugin.registry import Registry

NO_INLINE: Final = "no_inline"
"""The attribute of functions and calls in upstream dialects that forbids inlining."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """The names of one dialect's operations for calls, functions and returns."""

    call: str
    callee: str
    """The attribute of the call that holds the callee's symbol."""
    function: str
    terminator: str
    upstream: bool = False
    """Whether MLIR's inliner knows the dialect and decides what is legal; registered calls count as legal."""
    by_mlir: bool = False
    """Whether inlining takes more than replacing the call by the body, so that MLIR must do it."""
    origin: str = "passpilot itself"
    """Where it was registered."""


_UPSTREAM: Final = {
    "func.call": CallKind("func.call", "callee", "func.func", "func.return", upstream=True),
    "llvm.call": CallKind("llvm.call", "callee", "llvm.func", "llvm.return", upstream=True, by_mlir=True),
}

CALLS: Final = Registry[CallKind]("call", own=dict.fromkeys(_UPSTREAM, __name__))
"""The registered kinds, by calling operation."""


def call_kinds() -> tuple[CallKind, ...]:
    """The upstream kinds, then those registered so far."""
    return *_UPSTREAM.values(), *CALLS.values()


def register_call(call: str, *, function: str, terminator: str, callee: str = "callee") -> None:
    """Let `mlir-inline` decide on calls of another dialect, such as ``toy.generic_call`` of a ``toy.func``.

    Args:
        call: the operation that calls; its operands are the arguments.
        function: the operation that is called; it has one region and a ``sym_name``.
        terminator: the operation that returns from the function; its operands are the results of the call.
        callee: the attribute of the call that holds the callee's symbol.

    Raises:
        RegistrationError: the calling operation is already known.
    """
    CALLS.add(call, CallKind(call, callee, function, terminator, origin=definition_origin()))


def unregister_call(call: str) -> None:
    """Remove a registered call; for notebooks and tests.

    Raises:
        RegistrationError: the call is not registered.
    """
    CALLS.unregister(call)
