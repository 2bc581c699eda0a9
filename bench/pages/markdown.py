# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pages that are made of records: their tables, and how they are written or checked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from bench.lib import ROOT, running


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def replaced(page: str, module: str, text: str) -> str:
    """A file of the checkout with a new text between the two comments where a module writes."""
    content = (ROOT / page).read_text()
    before, mark, rest = content.partition(f"<!-- python -m {module} writes this -->\n")
    assert mark, f"{page} has no place for {module}"
    return before + mark + text + rest[rest.index("<!-- its end -->\n") :]


def write_or_check(texts: Mapping[str, str], *, check: bool) -> None:
    """Write texts by their paths in the checkout, or exit 1 and say which files differ."""
    stale = {
        name: text
        for name, text in texts.items()
        if not (ROOT / name).exists() or (ROOT / name).read_text() != text
    }
    for name, text in stale.items():
        if check:
            print(f"{name}: expected what `python -m {running()}` writes; run it")
        else:
            (ROOT / name).write_text(text)
    sys.exit(1 if check and stale else 0)
