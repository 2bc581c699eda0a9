# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page about `@oz` and the README's table say what the recorded evaluation says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_and_the_readme_have_the_recorded_figures() -> None:
    script = ROOT / "bench" / "oz_results.py"
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
