# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the scripts that make pages of recorded results share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT: Final = Path(__file__).parents[1]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def write_or_check(texts: Mapping[str, str], script: str, arguments: Sequence[str]) -> int:
    """Write files, or with --check say which are not what they should be.

    Args:
        texts: what the files should say, by their paths in the checkout.
        script: the name of the script for messages.
        arguments: of the command line.

    Returns:
        The exit code.
    """
    stale = [name for name, text in texts.items() if not is_current(ROOT / name, text)]
    if "--check" in arguments:
        for name in stale:
            print(f"{name}: expected what {script} writes; run it")
        return 1 if stale else 0
    for name in stale:
        (ROOT / name).write_text(texts[name])
    return 0


def is_current(path: Path, text: str) -> bool:
    """Whether a file has a text."""
    return path.exists() and path.read_text() == text
