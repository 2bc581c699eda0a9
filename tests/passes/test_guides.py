# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pieces of Python in the guides to passes run as they stand; tests/docs runs the commands."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.command import GENEROUS
from tests.features.llvm.vocabularies import ir2vec_sections, written

ROOT: Final = Path(__file__).parents[2]
BEFORE: Final = """\
import passpilot
module = passpilot.Module.read("in.bc")
functions = [each for each in module.copy().functions if not each.is_declaration]
"""
"""What the pieces of Python take for granted."""


@pytest.mark.parametrize(
    ("guide", "pieces"),
    [
        ("docs/passes.md", 2),
        ("docs/own-point.md", 4),
        ("docs/ir.md", 1),
        ("docs/phase-ordering.md", 2),
        ("docs/isolated.md", 1),
        ("docs/advised-passes.md", 2),
    ],
)
def test_a_guide(program: Path, tmp_path: Path, guide: str, pieces: int) -> None:
    for name in ("in.bc", "prog.bc", "fast.bc", "zstd.bc"):
        shutil.copy(program, tmp_path / name)
    written(tmp_path / "vocabulary.json", ir2vec_sections())
    python = re.findall(r"```python\n(.*?)```", (ROOT / guide).read_text(), re.DOTALL)
    assert len(python) == pieces
    code = BEFORE + "\n".join(python)
    subprocess.run(
        [sys.executable, "-c", code], check=True, cwd=tmp_path, stdout=subprocess.DEVNULL, timeout=GENEROUS
    )
