# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No page shows machine code as if it were what is shipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.docs.page import DOCS

PAGES: Final = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]
TABLE: Final = re.compile(r"^\|.*\| *\**\d[\d.,]*\**( [^|]*)?\|", re.MULTILINE)
CODE: Final = re.compile(r"machine code|`\.text`", re.IGNORECASE)
SHOWN: Final = re.compile(r"^.*\.text.*\d|^ *\|?.*(?<!\w)\.text *(\||$|  )", re.MULTILINE)
"""A line with figures of machine code, or the head of such a table."""
SIZES: Final = ("allocated", "stripped", "xz")
OBJECTS: Final = ("compare.md", "recipes.md")
"""Pages with figures of objects, whose file is not stripped."""


def shows_code(block: str) -> bool:
    """Whether a block, a paragraph or a table behind the paragraph about it, has figures of machine code."""
    return bool(SHOWN.search(block) or (TABLE.search(block) and CODE.search(block)))


def judged(text: str, sizes: tuple[str, ...] = SIZES) -> bool:
    """Whether every section that shows machine code also shows the other sizes."""
    for section in re.split(r"^##+ ", text, flags=re.MULTILINE):
        blocks = re.split(r"\n\n(?!\|)", section)
        if any(map(shows_code, blocks)) and not all(size in section for size in sizes):
            return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_all_sizes(page: Path) -> None:
    sizes = SIZES[:1] if page.name in OBJECTS else SIZES
    assert judged(page.read_text(), sizes), f"{page.name}: expected {', '.join(sizes)} beside .text"


@pytest.mark.parametrize(
    "text",
    [
        "lua: .text 127231 -> 120327 bytes (0.946)",
        "| program | .text |\n| --- | --- |",
        "The table shows `.text` relative to `-Oz`.\n\n| a | best |\n|---|---|\n| lua | 0.985 |",
        "The table has bytes of machine code alone.\n\n| point | ratio |\n|---|---|\n| `advised-slp` | 0.9 |",
        "module  who   .text   change",
    ],
)
def test_a_section_of_machine_code_fails(text: str) -> None:
    assert not judged(text)
    assert not judged(f"## One\n\n{text}\n\n## Two\n\nallocated, stripped, xz")
    assert judged(f"{text}\nallocated, stripped, xz")
    assert judged("Machine code is what runs.\n\n| a |\n|---|\n| 1 |".replace("\n\n|", "\n\nMore.\n\n|"))
