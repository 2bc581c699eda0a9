# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the guides to passes in Python show runs as it stands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.command import GENEROUS, PASSPILOT
from tests.features.llvm.test_ir2vec import sections, written

ROOT: Final = Path(__file__).parents[2]
BEFORE: Final = """\
import passpilot
module = passpilot.Module.read("in.bc")
functions = [each for each in module.copy().functions if not each.is_declaration]
"""
"""What the pieces of Python take for granted."""


@pytest.mark.parametrize(
    ("guide", "pieces", "commands"),
    [
        ("docs/passes.md", 5, 5),
        ("docs/ir.md", 1, 0),
        ("docs/phase-ordering.md", 2, 3),
        ("docs/isolated.md", 1, 0),
        ("docs/advised-passes.md", 1, 2),
    ],
)
def test_a_guide(program: Path, tmp_path: Path, guide: str, pieces: int, commands: int) -> None:
    for name in ("in.bc", "zstd.bc"):
        shutil.copy(program, tmp_path / name)
    written(tmp_path / "vocabulary.json", sections())
    text = (ROOT / guide).read_text()
    python = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for piece in python:
        if titled := re.match(r"# (\w+\.py)\n", piece):
            (tmp_path / titled[1]).write_text(piece)
    shown = re.findall(r"^    passpilot (opt .*)", text, re.MULTILINE)
    for command in shown:
        # There is no model here.
        run(tmp_path, PASSPILOT, *shlex.split(re.sub(r"=(onnx|python):\S+", "=random:7", command)))
    assert (len(python), len(shown)) == (pieces, commands)
    (tmp_path / "colour.log").unlink(missing_ok=True)
    run(tmp_path, sys.executable, "-c", BEFORE + "\n".join(python))


def run(folder: Path, *command: str | Path) -> None:
    subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, timeout=GENEROUS)
