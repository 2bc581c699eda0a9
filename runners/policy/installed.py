# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds policies: `@NAME` among those of passpilot and of other distributions, or a policy's folder.

Another distribution names the folder in the entry-point group `passpilot.policies`:

    [project.entry-points."passpilot.policies"]
    tiny = "example_policies:tiny"      # the folder `tiny` of the package `example_policies`

No code of the distribution runs, except the `__init__.py` of packages above the one that is named.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import Error, InputError, RunnerSpecError
from passpilot.runners.policy.bundle import FILE, PolicyBundle, read_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint

GROUP: Final = "passpilot.policies"
"""The entry-point group for policies of other distributions."""


def find_bundle(spec: str) -> PolicyBundle:
    """The policy that a spec such as ``@oz``, ``@oz?tries=2`` or a folder names.

    Raises:
        RunnerSpecError: no policy has this name, or several have it.
        InputError: its folder is not that of a policy.
    """
    head = spec.partition("?")[0]
    if not head.startswith("@"):
        return read_bundle(os.path.realpath(head), head)
    places = list(_places(head[1:]))
    if not places:
        from passpilot.plugin.failures import did_you_mean

        known = names()
        msg = f"policy {head}: expected one of {', '.join(f'@{name}' for name in known) or 'those installed'}"
        hint = did_you_mean(head[1:], known) or "; `passpilot policies` lists them"
        raise RunnerSpecError(f"{msg}, or a folder with {FILE}, got another name{hint}")
    if len(places) > 1:
        msg = f"policy {head}: expected one distribution that has it, got {' and '.join(places)}"
        raise RunnerSpecError(f"{msg}; give the folder instead: --policy={places[0]}")
    return read_bundle(places[0], head)


def names() -> list[str]:
    """The names of all installed policies, without the ``@``."""
    return sorted({*_own(), *(entry.name for entry in _entries())})


def installed_bundles() -> Iterator[PolicyBundle | Error]:
    """All installed policies; for one that cannot be read, its error."""
    for name in names():
        try:
            yield find_bundle(f"@{name}")
        except Error as error:
            yield error


def _places(name: str) -> Iterator[str]:
    """The folders that have a policy of this name."""
    if name in (own := _own()):
        yield own[name]
    yield from dict.fromkeys(_folder_of(entry) for entry in _entries() if entry.name == name)


def _own() -> dict[str, str]:
    """The folders of passpilot's own policies, by name."""
    from passpilot import policies

    found = {}
    for folder in policies.__path__:
        for entry in os.scandir(folder):
            if os.path.isfile(os.path.join(entry.path, FILE)):
                found[entry.name] = os.path.realpath(entry.path)
    return found


def _entries() -> Iterator[EntryPoint]:
    from importlib.metadata import entry_points

    yield from entry_points(group=GROUP)


def _folder_of(entry: EntryPoint) -> str:
    """The folder that an entry point names.

    Raises:
        InputError: there is no such package.
    """
    from importlib.util import find_spec

    try:
        found = find_spec(entry.module)
        places = list(found.submodule_search_locations or ()) if found else []
    except Exception as error:  # the packages above may raise anything
        msg = f"policy @{entry.name} of entry point {entry.value}: expected a package that can be found"
        raise InputError(f"{msg}, got {type(error).__name__}: {error}; install it again") from error
    if not places:
        msg = f"policy @{entry.name} of entry point {entry.value}: expected a package, got none"
        raise InputError(f"{msg}; install it again")
    return os.path.realpath(os.path.join(places[0], *filter(None, entry.attr.split("."))))
