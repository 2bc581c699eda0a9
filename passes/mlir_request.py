# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Request`: what `passpilot.passes.mlir_loaded` asks `passpilot.passes.mlir_worker` for, pickled."""

from __future__ import annotations

from typing import NamedTuple

Told = tuple[str, str, tuple[str, int, int]]
"""A kind, such as ``error`` or ``result``, a text, and file, line and column, as far as known."""


class Request(NamedTuple):
    """A run of a pass."""

    operation: str
    """The name of the operation."""
    name: str
    """That of the pass."""
    element: str
    """The pass with its options."""
    text: bytes
    """The operation."""
    inside: bool
    """Whether the text is that of a module, in which the operation comes first."""
