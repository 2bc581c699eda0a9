# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names in pipeline text: which are LLVM's own, and what others look like.

Every compilation asks for them, so this imports little.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""What passes and decision points in Python can be called: kebab-case."""

_GRAMMAR: Final = re.compile(
    "module|cgscc|function|loop|loop-mssa|machine-function|coro-cond|repeat|devirt|require|invalidate"
    "|default.*|thinlto.*|lto.*|fatlto.*"
)
"""What LLVM's grammar of pipelines takes for itself, beside the names of its passes."""


def is_llvm_name(name: str) -> bool:
    """Whether LLVM has a pass or analysis of this name, or its grammar of pipelines means something by it."""
    return bool(_GRAMMAR.fullmatch(name)) or name in _names()


@cache
def _names() -> frozenset[str]:
    from passpilot.plugin import _core

    rows = (line.strip() for line in _core.pass_names().splitlines() if line.startswith(" "))
    return frozenset(row.partition("<")[0] for row in rows)
