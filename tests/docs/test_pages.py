# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of the README and of all pages run in the order of the page, and print what it says."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Final

import pytest

from tests.corpus.programs import programs
from tests.docs.page import DOCS, run_page

FAST: Final = {
    "../README.md": 1,
    "tutorial-llvm.md": 6,
    "tutorial-mlir.md": 5,
    "from-mlgo.md": 0,
    "vectorization.md": 4,
    "distribution.md": 3,
    "outlining.md": 5,
    "mlir-buffers.md": 1,
    "mlir-fusion.md": 2,
    "policies.md": 1,
    "advised-allocator.md": 3,
    "rl4real.md": 1,
}
"""Pages, and how many outputs they show."""
SLOW: Final = {
    "recipes.md": 10,
    "smaller.md": 0,
    "own-optimizer.md": 1,
}
"""Pages that take more than ten seconds: searches, and C++ with LLVM's headers."""
NOT_RUN: Final = {
    ("smaller.md", "curl "): "needs the network; the archive is there",
}
"""Blocks that do not run, by page and beginning, and why."""


def skipped(page: str) -> tuple[str, ...]:
    return tuple(start for name, start in NOT_RUN if name == page)


def prepare(page: str, folder: Path) -> None:
    """Put there what the commands that do not run would have brought."""
    if page == "smaller.md":
        with tarfile.open(folder / "lua-5.4.4.tar.gz", "w:gz") as archive:
            archive.add(programs()["lua"].source, "lua-5.4.4")


@pytest.mark.parametrize(
    "page",
    [*FAST, *(pytest.param(name, marks=[pytest.mark.soak, pytest.mark.timeout(900)]) for name in SLOW)],
)
def test_a_page_prints_what_it_says(page: str, tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    prepare(page, folder)
    assert run_page(DOCS / page, folder, skipped(page)) == (FAST | SLOW)[page]


def test_a_wrong_output_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```c\n// a.c\nint x;\n```\n\n```sh\nwc -l <a.c\n```\n\n```text\n3\n```\n")
    folder = tmp_path / "page"
    folder.mkdir()
    with pytest.raises(AssertionError, match="wc -l"):
        run_page(page, folder)
