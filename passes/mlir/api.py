# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.mlir`: registers and runs passes written in Python for MLIR's pipelines.

    @passpilot.mlir.pass_("double-constants", anchor="func.func")
    @dataclass(frozen=True)
    class DoubleConstants:
        limit: int = 3

        def run(self, operation):
            ...

The fields are the pass's options, as in ``builtin.module(func.func(double-constants{limit=5},cse),inline)``.
`run` gets the operation, an ``ir.Operation`` of the installed bindings, and returns nothing. It fails by
raising an exception or by calling `signal_pass_failure`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeVar

from passpilot.passes.mlir.lower import lower, to_llvm_dialect
from passpilot.passes.mlir.pipeline import run_pipeline, signal_pass_failure
from passpilot.passes.mlir.registered_calls import register_call, unregister_call
from passpilot.passes.mlir.rewrite import rewrite_greedily
from passpilot.passes.python.registry import MLIR, check_name
from passpilot.plugin.errors import RegistrationError, publish
from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.origin import definition_origin

__all__ = [
    "bindings",
    "lower",
    "pass_",
    "register",
    "register_call",
    "rewrite_greedily",
    "run_pipeline",
    "signal_pass_failure",
    "to_llvm_dialect",
    "unregister",
    "unregister_call",
]

Pass = TypeVar("Pass", bound=type)

_OPERATION: Final = re.compile(r"[A-Za-z_][\w$.-]*")


def pass_(name: str, *, anchor: str = "") -> Callable[[Pass], Pass]:
    """Register the decorated class as a pass.

    Args:
        name: the name in pipeline text, in kebab-case.
        anchor: the operation that the pass runs on, such as ``func.func``; empty for any.

    Raises:
        RegistrationError: the name is taken, or the class is not a frozen dataclass with
            ``run(self, operation)`` and fields that can be options.
    """
    origin = definition_origin()
    check_name(name, origin)
    if anchor and not _OPERATION.fullmatch(anchor):
        who = f"pass {name!r} at {origin}"
        raise RegistrationError(f"{who}: expected an operation such as func.func as anchor, got {anchor!r}")

    def decorate(kind: Pass) -> Pass:
        MLIR.define(kind, name, anchor, origin)
        return kind

    return decorate


register = MLIR.register
"""`register(cls)` registers a decorated class again, for example in a notebook after `unregister`."""
unregister = MLIR.unregister
"""`unregister(name)` frees the name of a pass."""


publish("passpilot.mlir", (globals()[name] for name in __all__))
