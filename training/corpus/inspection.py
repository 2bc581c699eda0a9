# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says what is in modules; reads them in child processes, so that a damaged one cannot end this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.isolated import run_isolated_together
from passpilot.plugin.module import Module
from passpilot.training.corpus.elf import BITCODE

DEADLINE: Final = 300.0
"""Seconds in which a module must be read."""


class ModuleFacts(NamedTuple):
    triple: str
    compiler: str
    """What made it, as the module says; empty if it does not."""
    source: str
    functions: int
    """Definitions."""
    calls: int
    """Calls of functions that the module defines: what an inliner may be asked about."""
    minsize: bool
    """Whether a function is to be as small as possible (-Oz)."""
    optsize: bool
    is_pic: bool


def inspect(name: str, read: Callable[[], bytes]) -> ModuleFacts:
    """What is in the module that `read` returns as bitcode.

    Raises:
        InputError: it cannot be read or parsed, or is invalid.
    """
    try:
        data = read()
    except OSError as error:
        raise InputError(f"{name}: expected bitcode, got: {error.strerror}") from error
    if not data.startswith(BITCODE):
        got = "other data" if data else "nothing"
        raise InputError(f"{name}: expected bitcode, got {got}")
    module = Module.read(data, name=name)
    ident = module.named_metadata.get("llvm.ident", [])
    first = ident[0] if ident else None
    defined = [function for function in module.functions if not function.is_declaration]
    local = {function.name for function in defined}
    flags = module.named_metadata.get("llvm.module.flags", [])
    attributes = {attribute for function in defined for attribute in map(str, function.attributes)}
    return ModuleFacts(
        module.triple,
        str(first[0]) if isinstance(first, tuple) and first else "",
        module.source_file,
        len(defined),
        sum(
            1
            for function in defined
            for call in function.call_sites
            if call.callee is not None and call.callee.name in local
        ),
        "minsize" in attributes,
        "optsize" in attributes,
        any(isinstance(entry, tuple) and "PIC Level" in entry for entry in flags),
    )


def inspect_all(modules: Sequence[tuple[str, Callable[[], bytes]]]) -> list[ModuleFacts | Error]:
    """What is in modules, in order; for one that cannot be read, the error. As many at once as processors."""
    runs = [partial(inspect, *module) for module in modules]
    return run_isolated_together("corpus", runs, DEADLINE, len(os.sched_getaffinity(0)))
