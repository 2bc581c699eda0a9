# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rules of plugin/native: names of headers, who may include whom, how long a function may be."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[3] / "plugin" / "native"
FILES = sorted(file for file in NATIVE.rglob("*") if file.suffix in {".h", ".cpp"})
ORDER = (
    "include",
    "runtime",
    "llvm",
    "allocator",
    "loaded",
    "hosted",
    "bindings",
    "stock",
    "mlir",
    "launcher",
    "preload",
    "c",
)
"""The folders; each may include only those before it."""
SIDES = ({"hosted", "bindings"}, {"loaded", "stock", "mlir", "c"}, {"launcher"}, {"preload"})
"""Python's process and a compiler's process share no code but what is below both."""
LONGEST = 60


def included(file: Path) -> Iterator[Path]:
    """The files of ours that a file includes."""
    for name in re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE):
        found = (file.parent / name).resolve()
        if found.is_relative_to(NATIVE) and found.exists():
            yield found


def noun(file: Path) -> str:
    """What a header and its source file are about."""
    return str(file.relative_to(NATIVE).with_suffix(""))


def folder(file: Path) -> str:
    return file.relative_to(NATIVE).parts[0]


def test_there_are_files() -> None:
    assert len(FILES) > 100
    assert sum(len(list(included(file))) for file in FILES) > 100


def test_no_two_headers_share_a_name() -> None:
    names = Counter(file.name for file in FILES if file.suffix == ".h")
    assert [name for name, count in names.items() if count > 1] == []


def test_no_two_nouns_need_each_other() -> None:
    needs: dict[str, set[str]] = {}
    for file in FILES:
        needs.setdefault(noun(file), set()).update(noun(each) for each in included(file))
    for name, others in needs.items():
        others.discard(name)
    TopologicalSorter(needs).prepare()  # raises CycleError, which names the circle


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(NATIVE)))
def test_a_file_includes_only_folders_below_its_own(file: Path) -> None:
    here = folder(file)
    below = set(ORDER[: ORDER.index(here) + 1])
    for side in SIDES:
        if here not in side:
            below -= side
    tops = {"stock", "mlir", "launcher", "c"}
    if here in tops:
        below -= tops - {here}
    assert {folder(each) for each in included(file)} <= below


def test_the_readme_has_a_row_for_each_folder() -> None:
    rows = re.findall(r"^\| `(\w+)/` \|", (NATIVE / "README.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(ORDER) == sorted(each.name for each in NATIVE.iterdir() if each.is_dir())


def functions(file: Path) -> Iterator[tuple[str, int]]:
    """The functions of a formatted file that stand outside of classes, each with its lines."""
    start = ""
    lines = 0
    for line in file.read_text().splitlines():
        if line[:1].isalpha() and not line.startswith(("namespace", "class", "struct", "enum", "using")):
            start, lines = line, 0
        lines += 1
        if line == "}" and start:
            yield start, lines
            start = ""


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(NATIVE)))
def test_functions_are_short(file: Path) -> None:
    assert [(name, lines) for name, lines in functions(file) if lines > LONGEST] == []
