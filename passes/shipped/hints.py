# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads and writes hints to LLVM's loop passes, which are properties in the metadata of a loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from passpilot.plugin.ir import Loop

    Hint: TypeAlias = tuple[object, ...]


def has_hint(loop: Loop, prefixes: str | tuple[str, ...]) -> bool:
    """Whether the loop has a hint whose name begins like this, for instance by ``#pragma unroll``."""
    words = (hint[0] for hint in loop.metadata or () if isinstance(hint, tuple) and hint)
    return any(isinstance(word, str) and word.startswith(prefixes) for word in words)


def add_hints(loop: Loop, *hints: Hint) -> None:
    """Add hints to those that the loop has."""
    loop.set_metadata((*(loop.metadata or (...,)), *hints))
