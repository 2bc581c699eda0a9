# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds decision points by name, also those that other distributions' passes declare."""

from __future__ import annotations

from passpilot.features.point import Point, current_name, find_point, is_known
from passpilot.plugin.errors import Error


def search_point(name: str) -> Point:
    """The decision point of this name; imports other distributions' passes if it is not declared yet.

    Raises:
        UsageError: no decision point has this name.
        Error: no decision point has this name, and a pass that might declare it cannot be imported.
    """
    name = current_name(name)
    search(name)
    return find_point(name)


def search(name: str) -> bool:
    """Whether a decision point of this name exists, after importing passes that may declare it.

    Imports the pass of the same name first, and the others only if that does not declare the point.

    Raises:
        Error: no decision point has this name, and one of the passes cannot be imported.
    """
    if is_known(name):
        return True
    from passpilot.passes.python.registry import LLVM, MLIR

    failed: list[Error] = []
    passes = [(registry, pass_name) for registry in (LLVM, MLIR) for pass_name in registry.names()]
    for registry, pass_name in sorted(passes, key=lambda pair: pair[1] != name):
        try:
            registry.find(pass_name)
        except Error as error:
            failed.append(error)
        if is_known(name):
            return True
    if failed:
        raise failed[0]
    return False
