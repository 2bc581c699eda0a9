# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No page shows machine code as if it were what is shipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.docs.page import DOCS

PAGES: Final = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]
SHOWN: Final = re.compile(
    r"^.*\.text.*\d|^ *\|?.*(?<!\w)\.text *(\||$|  )|(shows|bytes of) `\.text`", re.MULTILINE
)
"""A line with figures of machine code, the head of such a table, or words that say so."""
SIZES: Final = ("allocated", "stripped", "xz")
ALONE: Final = "machine code alone"


def judged(text: str) -> bool:
    """Whether a page that shows machine code also shows the other sizes, or says that it is not enough."""
    return not SHOWN.search(text) or ALONE in text or all(size in text for size in SIZES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_all_sizes(page: Path) -> None:
    text = page.read_text()
    if page.name != "compare.md" and page.name != "recipes.md":  # of objects, whose file is not stripped
        assert judged(text), f"{page.name}: expected {', '.join(SIZES)} beside .text, or '{ALONE}'"
    else:
        assert "allocated" in text


@pytest.mark.parametrize(
    "text",
    [
        "lua: .text 127231 -> 120327 bytes (0.946)",
        "| program | .text |\n| --- | --- |",
        "The table shows `.text` relative to `-Oz`.",
        "module  who   .text   change",
    ],
)
def test_a_page_of_machine_code_fails(text: str) -> None:
    assert not judged(text)
    assert judged(f"{text}\nallocated, stripped, xz")
