# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tells LLVM's own names in pipeline text from those of Python passes.

Every compilation uses this module, so it imports little.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""The names that Python passes and decision points may have: kebab-case."""

_GRAMMAR: Final = re.compile(
    "module|cgscc|function|loop|loop-mssa|machine-function|coro-cond|repeat|devirt|require|invalidate"
    "|default.*|thinlto.*|lto.*|fatlto.*"
)
"""The words of LLVM's pipeline grammar that are not names of passes."""


def is_llvm_name(name: str) -> bool:
    """Whether the name is an LLVM pass or analysis, or a word of its pipeline grammar."""
    return bool(_GRAMMAR.fullmatch(name)) or name in llvm_names()


@cache
def llvm_names() -> frozenset[str]:
    """The names of LLVM's passes and analyses."""
    from passpilot.plugin import _core

    rows = (line.strip() for line in _core.pass_names().splitlines() if line.startswith(" "))
    return frozenset(row.partition("<")[0] for row in rows)
