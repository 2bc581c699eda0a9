# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says of a module why a compilation of it asks nobody: clang has optimized it, or has forbidden that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from passpilot.plugin.ir import Function
    from passpilot.plugin.module import Module

REMEDY: Final = f"make it by clang-{MAJOR} -O2 -Xclang -disable-llvm-passes -emit-llvm -c"

UNOPTIMIZED: Final = "-O0"
OPTIMIZED: Final = "optimized"

OF_CLANG: Final = '"no-trapping-math"='
"""An attribute that clang gives every function that it compiles."""

INFERRED: Final = ("nofree", "nosync")
"""What LLVM's passes find out about functions, and clang's front end does not say."""

MOST: Final = 1000
"""How many functions are looked at."""


def how_made(module: Module) -> str:
    """`UNOPTIMIZED` if clang's -O0 has marked all functions, `OPTIMIZED` if clang has run passes, or ""."""
    defined = [each for each in module.functions if not each.is_declaration][:MOST]
    attributes = [each.attributes for each in defined]
    if defined and all("optnone" in some for some in attributes):
        return UNOPTIMIZED
    ours = [pair for pair in zip(defined, attributes, strict=True) if _is_of_clang(pair[1])]
    return OPTIMIZED if ours and any(map(_is_optimized, *zip(*ours, strict=True))) else ""


def cause(module: Module) -> str:
    """What `how_made` means, and what to do; empty for a module as it should be."""
    return {
        UNOPTIMIZED: f"clang has made it with -O0, which forbids optimization (optnone); {REMEDY}",
        OPTIMIZED: f"it is optimized already; {REMEDY}",
    }.get(how_made(module), "")


def _is_of_clang(attributes: Sequence[str]) -> bool:
    return any(attribute.startswith(OF_CLANG) for attribute in attributes)


def _is_optimized(function: Function, attributes: Sequence[str]) -> bool:
    """Whether passes have run on a function of clang: its front end gives every number a place in memory."""
    if not set(INFERRED).isdisjoint(attributes):
        return True
    numbers = [each for each in function.arguments if str(each.type) != "ptr"]
    return bool(numbers) and "alloca" not in function.opcode_counts and "naked" not in attributes
