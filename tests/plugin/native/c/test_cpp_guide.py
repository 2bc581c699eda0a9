# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guide to compilers in C++: its programs are built and run, and print what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.page import DOCS, run_page
from tests.plugin.native.c.test_programs import ENVIRONMENT, EXAMPLES


@pytest.mark.soak  # compiling LLVM's headers takes half a minute
@pytest.mark.timeout(900)
def test_the_guides_programs_print_what_it_says(tmp_path: Path) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    variables = {**ENVIRONMENT, "EXAMPLES": str(EXAMPLES)}
    assert run_page(DOCS / "cpp.md", folder, variables=variables) == 2


def test_the_guide_shows_the_function_as_it_is() -> None:
    header = (EXAMPLES.parent / "plugin" / "native" / "include" / "passpilot" / "llvm.h").read_text()
    assert "llvm::Error registerAdvisors(llvm::PassBuilder &PB," in header
    assert "llvm::Error passpilot::registerAdvisors(llvm::PassBuilder &, " in (DOCS / "cpp.md").read_text()
