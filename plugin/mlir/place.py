# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds an operation's source location and the symbol around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import StaleViewError
from passpilot.plugin.failures import decoded

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

_PLACE: Final = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_ESCAPE: Final = re.compile(rb"\\([0-9A-Fa-f]{2}|.)")
_SYMBOL: Final = "sym_name"


def operation_of(wrapper: object) -> Operation | None:
    """The operation behind an object of any bindings; None for another object.

    Raises:
        StaleViewError: it has been erased.
    """
    try:
        operation: Operation | None = getattr(wrapper, "operation", None)
        return operation if hasattr(operation, "_CAPIPtr") else None
    except RuntimeError as error:
        raise StaleViewError("the operation has been erased") from error


def place_of(location: object) -> tuple[str, int, int]:
    """File, line and column of a location; of a fused location, those of its first part."""
    found = _PLACE.search(str(location))
    if found is None:
        return "", 0, 0
    return decoded(_ESCAPE.sub(_unescaped, found[1].encode())), int(found[2]), int(found[3])


def _unescaped(match: re.Match[bytes]) -> bytes:
    return bytes.fromhex(match[1].decode()) if len(match[1]) == 2 else match[1]


def symbol_around(operation: Operation) -> str:
    """The name of the operation's own symbol or of the innermost one around it; empty if there is none."""
    around: Operation | None = operation
    while around is not None:
        if _SYMBOL in around.attributes:
            return decoded(around.attributes[_SYMBOL].value_bytes)
        around = around.parent
    return ""
