# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the enclosing function and the source place of a Python pass's `site`."""

from __future__ import annotations

from typing import Final, TypeGuard

from passpilot.features.point import Site
from passpilot.plugin._core import BasicBlock, Function, Instruction, Loop
from passpilot.plugin.mlir.place import operation_of, place_of, symbol_around


def context_of(site: object) -> str:
    """The name of the function that contains `site`; empty for a whole module."""
    if isinstance(site, str):
        return site
    if _is_site(site):
        return site.context
    if isinstance(site, Loop):
        site = site.header
    if isinstance(site, (BasicBlock, Instruction)):
        site = site.function
    if operation := operation_of(site):
        return symbol_around(operation)
    return site.name if isinstance(site, Function) else ""


def describe_site(site: object) -> tuple[str, int, int, str, str]:
    """File, line and column of `site`, and the names of caller and callee; empty and 0 if unknown."""
    caller, callee = (site.caller_name, site.callee_name) if _is_site(site) else ("", "")
    return *(_location_of(site) or ("", 0, 0)), caller, callee


def _location_of(site: object) -> tuple[str, int, int] | None:
    """File, line and column of `site`; None if debug information does not have them."""
    if _is_site(site):
        return site.place
    if isinstance(site, Loop):
        site = site.header
    if isinstance(site, BasicBlock):
        site = site.terminator
    if operation := operation_of(site):
        file, line, column = place_of(operation.location)
        return (file, line, column) if line else None
    place = site.debug_location if isinstance(site, Instruction) else None
    return (place.file, place.line, place.column) if place else None


def _is_site(site: object) -> TypeGuard[Site]:
    """Whether it is a `Site`; for an abstract class `isinstance` takes most of the time of a decision."""
    kind = type(site)
    if kind not in _ARE_SITES:
        _ARE_SITES[kind] = issubclass(kind, Site)
    return _ARE_SITES[kind]


_ARE_SITES: Final[dict[type, bool]] = {}
"""The kinds of sites seen so far, and whether they are classes of `Site`."""
