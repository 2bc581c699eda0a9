# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A page says at its top what its reader will have, and is long only for a reason; the site has a search."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, expect

from tests.docs.page import DOCS
from tests.training.report.test_browser import browser

__all__ = ["browser"]

PAGES: Final = sorted(DOCS.glob("*.md"))
WORDS: Final = 1500
LONG: Final = {
    "aot.md": "the references of operators and of Python, and the interface for C",
    "architecture.md": "the map of the code, to look things up",
    "bare-metal.md": "an example of each target and each kind of build, with what it prints",
    "compiler-service.md": "the protocol's guarantees, to look things up",
    "environments.md": "two interfaces of the same episodes",
    "ladder.md": "the table of all levers, and what is lost by them",
    "oz-results.md": "results by program and by package, made of records",
    "outlining.md": "two points, profiles, and a table of results for each",
    "performance.md": "results, with one table for every path",
    "reliability.md": "results, made of the sweeps' records",
    "smaller.md": "an example of each kind of build, with what it prints",
    "stock-plugin.md": "the reference of the plugin's options and limits",
    "training-settings.md": "the reference of all settings",
    "training-results.md": "what every method of training has brought, or not",
    "tuning.md": "the reference of levers and rewards is in the guide",
    "unwind.md": "explains a format and what may be left out of it",
}
"""Pages of more words than that, and why."""
TOP: Final = re.compile(
    r"At the end of this page|In this tutorial|[Tt]his page (has|lists|leads|says)|makes this page"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_top_says_what_the_reader_will_have(page: Path) -> None:
    top = " ".join(page.read_text().split()[:70])
    assert TOP.search(top), f"{page.name}: expected a sentence such as 'At the end of this page ...'"


def test_long_pages_have_a_reason() -> None:
    long = {page.name for page in PAGES if len(page.read_text().split()) > WORDS}
    assert long <= {*LONG}, f"no page of more than {WORDS} words without a reason in LONG"
    assert {*LONG} <= {page.name for page in PAGES}


def test_the_readme_and_the_guide_to_training_are_short() -> None:
    assert len((DOCS.parent / "README.md").read_text().split()) <= 700
    assert len((DOCS / "training.md").read_text().split()) <= 1200


@pytest.mark.soak
def test_the_search_finds_a_page(browser: Browser, tmp_path: Path) -> None:
    """In the site as files, without a server."""
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(tmp_path)]
    subprocess.run(command, cwd=DOCS.parent, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    box = page.locator("input.md-search__input")
    box.click()
    box.press_sequentially("firmware")
    expect(page.locator("a.md-search-result__link[href*='smaller.html']").first).to_be_visible(timeout=60_000)
    page.close()
