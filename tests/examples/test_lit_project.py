# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The template project for lit tests: it passes, it fails if its policy is wrong, and the page shows it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = ROOT / "examples" / "lit_project"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the project, in a folder of its own."""
    return shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("Output"))


def lit(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lit")), "-v", "-j1", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_passes_wherever_it_is(project: Path) -> None:
    done = lit(project)
    assert done.returncode == 0, done.stdout
    assert "Passed: 2 (100.00%)" in done.stdout


def test_it_notices_a_wrong_policy(project: Path) -> None:
    (project / "policy.py").write_text("def leaves(obs):\n    return False\n")
    done = lit(project)
    assert done.returncode == 1
    assert "Failed: 2 (100.00%)" in done.stdout


def test_the_page_shows_its_configuration() -> None:
    page = (ROOT / "docs" / "lit.md").read_text()
    shown = page.split("```python\n")[1].split("```")[0]
    assert (PROJECT / "lit.cfg.py").read_text().endswith(shown)
    lines = [line for line in page.splitlines() if line.startswith(("# RUN", "# CHECK"))]
    assert lines == (PROJECT / "tests" / "hosted.test").read_text().splitlines()[2:6]
