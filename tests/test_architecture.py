# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The map and the other pages name only files, folders and functions that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_house import FOLDERS

ROOT = Path(__file__).parents[1]
MAP = "docs/architecture.md"
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))),
)
TOP = "|".join((*FOLDERS, "docs"))
NAMED = re.compile(rf"`(?:python )?((?:{TOP})/[\w./-]*)(?::(\w+))?(?: [^`]*)?`")
"""A path of the repository, perhaps with a name that it defines: `runners/spec.py:make_runner`."""


def named(page: str) -> list[tuple[str, str]]:
    """The paths of the page, each with the name behind it; NAME stands for a file that the reader adds."""
    found = NAMED.finditer((ROOT / page).read_text())
    return [(each[1], each[2] or "") for each in found if "NAME" not in each[1]]


def defines(path: str, name: str) -> bool:
    """Whether a source file has a function, class or constant of this name."""
    source = (ROOT / path).read_text()
    python = rf"^\s*(?:(?:async )?def|class) {name}\b|^{name}\b.*="
    cpp = rf"^[^/\n]*(?:\b(?:class|struct) {name}\b|[\s:*&]{name}\()"
    return re.search(python if path.endswith(".py") else cpp, source, re.MULTILINE) is not None


@pytest.mark.parametrize("page", PAGES)
def test_every_path_and_function_that_the_page_names_exists(page: str) -> None:
    places = named(page)
    missing = [path for path, _ in places if not (ROOT / path).exists()]
    assert not missing
    undefined = [f"{path}:{name}" for path, name in places if name and not defines(path, name)]
    assert not undefined


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_the_page_leads_to_a_heading(page: str) -> None:
    for path, anchor in re.findall(r"\]\(([\w./-]+\.md)(?:#([\w-]+))?\)", (ROOT / page).read_text()):
        target = (ROOT / page).parent / path
        assert target.is_file(), path
        headings = re.findall(r"^#+ (.*)", target.read_text(), re.MULTILINE)
        slugs = {re.sub(r"[^\w -]", "", heading).replace(" ", "-").lower() for heading in headings}
        assert not anchor or anchor in slugs


def test_a_name_that_is_only_used_is_not_defined() -> None:
    spec = "runners/spec.py"
    assert defines(spec, "make_runner")
    assert defines(spec, "BUILT_IN")
    assert not defines(spec, "no_such_name")
    assert not defines(spec, "unquote")


def test_every_native_folder_is_on_the_map() -> None:
    paths = {path for path, _ in named(MAP)}
    native = ROOT / "plugin" / "native"
    folders = [folder for folder in native.iterdir() if folder.is_dir()]
    assert {f"plugin/native/{folder.name}/" for folder in folders} <= paths


def test_there_are_twenty_questions_with_answers() -> None:
    questions = (ROOT / MAP).read_text().partition("## Twenty questions")[2]
    rows = re.split(r"^\d+\. ", questions, flags=re.MULTILINE)[1:]
    assert len(rows) == 20
    assert all(NAMED.search(row) for row in rows)
