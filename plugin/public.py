# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gives public objects the module name by which users import them."""

from __future__ import annotations

from types import FunctionType

TYPE_CHECKING = False  # type checkers take it as true; `passpilot cc` does not wait for typing
if TYPE_CHECKING:
    from collections.abc import Iterable


def publish(module: str, objects: Iterable[object]) -> None:
    """Make help(), repr() and tracebacks show the classes and functions among `objects` in `module`."""
    for item in objects:
        if isinstance(item, (type, FunctionType)):
            item.__module__ = module
