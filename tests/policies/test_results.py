# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of results say what is recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["oz", "tuning", "performance", "reliability", "kernels", "speed"])
def test_the_pages_have_the_recorded_figures(page: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"bench.pages.{page}", "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
