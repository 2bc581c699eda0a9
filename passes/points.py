# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decision points that a user names: they may be those of another distribution's passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passpilot.features.point import current_name, find_point, is_known
from passpilot.plugin.errors import Error

if TYPE_CHECKING:
    from passpilot.features.point import Point


def search_point(name: str) -> Point:
    """The decision point of this name; where nobody has declared it, other distributions' passes may do so.

    Raises:
        UsageError: there is none of this name.
        Error: there is none, and a pass that might declare it cannot be imported.
    """
    name = current_name(name)
    search(name)
    return find_point(name)


def search(name: str) -> bool:
    """Whether there is a decision point of this name once those passes are imported that may declare it.

    The pass of the same name is imported first, and the others only if that does not declare it.

    Raises:
        Error: there is none, and one of the passes cannot be imported.
    """
    if is_known(name):
        return True
    from passpilot.passes.python.registry import LLVM, MLIR

    failed: list[Error] = []
    passes = [(registry, each) for registry in (LLVM, MLIR) for each in registry.names()]
    for registry, each in sorted(passes, key=lambda pair: pair[1] != name):
        try:
            registry.find(each)
        except Error as error:
            failed.append(error)
        if is_known(name):
            return True
    if failed:
        raise failed[0]
    return False
