# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The hooks of the site: pages of the API reference, diagrams and tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("mkdocs", reason="the site is built by MkDocs")
griffe = pytest.importorskip("griffe")

from tools import site  # noqa: E402  (needs both)


def test_diagrams_are_part_of_the_page_without_their_colours(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a-b.svg").write_text("<svg><style>x {\n}</style>\n<g/></svg>\n")
    text = "before\n![A map](images/a-b.svg)\nin ![A map](images/a-b.svg) a line\n"
    made = site.on_page_markdown(text, cast("Any", SimpleNamespace(docs_dir=str(tmp_path))))
    figure = '<figure class="diagram"><svg><g/></svg></figure>'
    assert made == f"before\n{figure}\nin ![A map](images/a-b.svg) a line\n"


def test_bars_in_code_of_tables_are_bars() -> None:
    text = "| `a\\|b` | c\\|d |\n`a\\|b`\n"
    made = site.on_page_markdown(text, cast("Any", SimpleNamespace(docs_dir="")))
    assert made == "| `a|b` | c\\|d |\n`a\\|b`\n"


def test_a_page_of_the_reference() -> None:
    page = site.ApiPage("x", "Title", "Sentence.", ["One", "sub.Two"])
    assert page.text() == "# Title\n\nSentence.\n\n::: passpilot.One\n\n::: passpilot.sub.Two\n"
    more = page._replace(more="More.", options="\n    options:")
    assert "Sentence.\n\nMore.\n\n::: passpilot.One\n    options:\n\n" in more.text()


def test_names_as_users_write_them() -> None:
    names = ["emit", "features.log.reader.LogReader", "errors.InputError", "ir.Function"]
    assert [site.shown(name) for name in names] == ["emit", "LogReader", "errors.InputError", "ir.Function"]


CODE = '''
class Base:
    """B."""
    def old(self): ...
class Made(Base):
    """First | line.

    Second.
    """
    def old(self): ...
    def bare(self): ...
    def _own(self): ...
    def told(self):
        """T."""
    class Inner:
        def deep(self): ...
def plain(): ...
'''


def test_what_has_no_docstring(tmp_path: Path) -> None:
    (tmp_path / "made_here.py").write_text(CODE)
    package = griffe.load("made_here", search_paths=[tmp_path])
    found = list(site.undocumented(package["Made"], "Made"))
    assert found == ["Made.bare", "Made.Inner", "Made.Inner.deep"], "what a base has is told there"
    assert list(site.undocumented(package["plain"], "plain")) == ["plain"]
    assert site.summary(package["Made"]) == "First \\| line."
    assert site.summary(package["plain"]) == ""


def test_all_public_names_have_a_page() -> None:
    pages = {page.name: page for page in site.reference()}
    assert list(pages) == [*site.PAGES, *site.MODULES]
    assert "errors.InputError" in pages["errors"].names
    assert "inherited_members: false" in pages["errors"].options
    assert pages["ir"].options == pages["errors"].options
    assert pages["llvm"].options == ""
    assert all(name.startswith("ir.") for name in pages["ir"].names)
