# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tutorials and the recipes run as they stand, and print what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.page import DOCS, run_page


@pytest.mark.parametrize(
    ("page", "outputs"),
    [
        ("tutorial-llvm.md", 6),
        ("tutorial-mlir.md", 5),
        ("from-mlgo.md", 0),
        pytest.param("recipes.md", 10, marks=pytest.mark.soak),
        ("vectorization.md", 4),
        ("distribution.md", 3),
        ("outlining.md", 5),
        ("mlir-buffers.md", 1),
        ("mlir-fusion.md", 2),
        ("policies.md", 1),
        ("advised-allocator.md", 3),
        ("rl4real.md", 1),
    ],
)
def test_a_page_prints_what_it_says(page: str, outputs: int, tmp_path: Path) -> None:
    assert run_page(DOCS / page, tmp_path) == outputs


def test_a_wrong_output_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```c\n// a.c\nint x;\n```\n\n```sh\nwc -l <a.c\n```\n\n```text\n3\n```\n")
    with pytest.raises(AssertionError, match="wc -l"):
        run_page(page, tmp_path)
