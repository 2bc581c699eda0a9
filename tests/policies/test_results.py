# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of results say what is recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("script", ["oz_results.py", "tune_results.py", "reliability.py"])
def test_the_pages_have_the_recorded_figures(script: str) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / script, "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
