# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shows what users import by the name that they import it by. `passpilot cc` loads it in every compilation: no typing."""

from __future__ import annotations

from types import FunctionType

TYPE_CHECKING = False  # the name that type checkers take for true
if TYPE_CHECKING:
    from collections.abc import Iterable


def publish(module: str, objects: Iterable[object]) -> None:
    """Make help(), repr() and tracebacks show the classes and functions among `objects` in `module`."""
    for each in objects:
        if isinstance(each, (type, FunctionType)):
            each.__module__ = module
