# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kinds of calls that `mlir-inline` decides on: upstream's, and those that `register_call` adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from passpilot.plugin.origin import definition_origin
from passpilot.plugin.registry import Registry

NO_INLINE: Final = "no_inline"
"""The attribute by which functions and calls of upstream's dialects refuse to be inlined."""


@dataclass(frozen=True, slots=True)
class CallKind:
    """The operations of one dialect that call, that are called, and that end what is called."""

    call: str
    callee: str
    """The attribute of the call that has the callee's symbol."""
    function: str
    terminator: str
    upstream: bool = False
    """Whether MLIR's own inliner knows them, and says what is legal; else registration is the word for it."""
    by_mlir: bool = False
    """Whether inlining is more than putting the body in the place of the call, and so left to MLIR."""
    origin: str = "passpilot itself"
    """Where it was registered."""


_UPSTREAM: Final = {
    "func.call": CallKind("func.call", "callee", "func.func", "func.return", upstream=True),
    "llvm.call": CallKind("llvm.call", "callee", "llvm.func", "llvm.return", upstream=True, by_mlir=True),
}

CALLS: Final = Registry[CallKind]("call", own=dict.fromkeys(_UPSTREAM, __name__))
"""The kinds of other dialects."""


def call_kinds() -> tuple[CallKind, ...]:
    """All kinds that there are now."""
    return *_UPSTREAM.values(), *CALLS.values()


def register_call(call: str, *, function: str, terminator: str, callee: str = "callee") -> None:
    """Let `mlir-inline` decide on calls of another dialect, such as ``toy.generic_call`` of a ``toy.func``.

    Args:
        call: the operation that calls; its operands are the arguments.
        function: the operation with one region that is called, with a ``sym_name``.
        terminator: the operation that ends a block of it; its operands are the results of the call.
        callee: the attribute of the call that has the symbol.

    Raises:
        RegistrationError: the calling operation is known already.
    """
    CALLS.add(call, CallKind(call, callee, function, terminator, origin=definition_origin()))


def unregister_call(call: str) -> None:
    """Remove a registered call; for notebooks and tests.

    Raises:
        RegistrationError: it is not registered.
    """
    CALLS.unregister(call)
