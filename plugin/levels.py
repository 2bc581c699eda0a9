# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's optimization levels."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from typing import Final

LEVELS: Final = ("O0", "O1", "O2", "O3", "Os", "Oz")
"""The levels of opt and clang: ``default<O2>`` is a pipeline."""

CODEGEN_LEVELS: Final = LEVELS[:4]
"""The levels of code generation; the index is `opt_level`."""
