# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.llvm`: registers passes written in Python for LLVM's pipelines.

    @passpilot.llvm.function_pass("mark-leaves")
    @dataclass(frozen=True)
    class MarkLeaves:
        limit: int = 3

        def run(self, function):
            return False

The fields are the pass's options, as in ``-passes='function(mark-leaves{limit=5},instcombine)'``. `run` gets
a `Module`, a tuple of the `Function`s of a call-graph SCC, a `Function` or a `Loop`, as the decorator says.
It returns whether it has changed the IR: True, False, or, in more detail, `PreservedAnalyses`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from passpilot.passes.python.registry import LLVM, check_name
from passpilot.plugin._core import PreservedAnalyses
from passpilot.plugin.errors import publish
from passpilot.plugin.origin import definition_origin

__all__ = [
    "PreservedAnalyses",
    "cgscc_pass",
    "function_pass",
    "loop_pass",
    "module_pass",
    "register",
    "unregister",
]

Pass = TypeVar("Pass", bound=type)


def module_pass(name: str, *, required: bool = False) -> Callable[[Pass], Pass]:
    """Register the decorated class as a pass over modules.

    Args:
        name: the name in pipeline text, in kebab-case.
        required: run it even where ``optnone`` or ``-opt-bisect-limit`` skip passes.

    Raises:
        RegistrationError: the name is taken, or the class is not a frozen dataclass with
            ``run(self, module)`` and fields that can be options.
    """
    return _decorator(name, "module", required=required)


def cgscc_pass(name: str, *, required: bool = False) -> Callable[[Pass], Pass]:
    """Register the decorated class as a pass over the SCCs of the call graph, callees before callers.

    As `module_pass`, with ``run(self, functions)``.
    """
    return _decorator(name, "cgscc", required=required)


def function_pass(name: str, *, required: bool = False) -> Callable[[Pass], Pass]:
    """Register the decorated class as a pass over functions.

    As `module_pass`, with ``run(self, function)``.
    """
    return _decorator(name, "function", required=required)


def loop_pass(name: str, *, required: bool = False) -> Callable[[Pass], Pass]:
    """Register the decorated class as a pass over loops, inner loops first.

    As `module_pass`, with ``run(self, loop)``.
    """
    return _decorator(name, "loop", required=required)


register = LLVM.register
"""`register(cls)` registers a decorated class again, for example in a notebook after `unregister`."""
unregister = LLVM.unregister
"""`unregister(name)` frees the name of a pass."""


def _decorator(name: str, level: str, *, required: bool) -> Callable[[Pass], Pass]:
    origin = definition_origin()
    check_name(name, origin)

    def decorate(kind: Pass) -> Pass:
        LLVM.define(kind, name, level, origin, required=required)
        return kind

    return decorate


publish("passpilot.llvm", (globals()[name] for name in __all__))
