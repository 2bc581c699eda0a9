# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guide to the C API: its programs are built and run, and print what it says."""

from __future__ import annotations

from pathlib import Path

from tests.docs.page import DOCS, run_page
from tests.plugin.native.c.test_programs import ENVIRONMENT, EXAMPLES


def test_the_guides_programs_print_what_it_says(tmp_path: Path) -> None:
    variables = {**ENVIRONMENT, "EXAMPLES": str(EXAMPLES)}
    assert run_page(DOCS / "c-api.md", tmp_path, variables=variables) == 4
    assert {"unroll.c", "policy.py", "points.py"} <= {path.name for path in tmp_path.iterdir()}
