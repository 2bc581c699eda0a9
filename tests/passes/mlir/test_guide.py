# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the guide to MLIR's pipelines shows runs as it stands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.command import GENEROUS, PASSPILOT
from tests.passes.mlir.passes import TEXT

GUIDE: Final = Path(__file__).parents[3] / "docs" / "mlir.md"


def test_the_guide(tmp_path: Path) -> None:
    text = GUIDE.read_text()
    (tmp_path / "in.mlir").write_text(TEXT)
    pieces = re.findall(r"```python\n(# (\w+\.py)\n.*?)```", text, re.DOTALL)
    for piece, name in pieces:
        (tmp_path / name).write_text(piece)
    commands = re.findall(r"^    passpilot ((?:mlir-opt|doctor|log) ?.*)", text, re.MULTILINE)
    assert (len(pieces), len(commands)) == (4, 10)
    for command in commands:
        run(tmp_path, PASSPILOT, *shlex.split(command))
    assert (tmp_path / "again.mlir").read_bytes() == (tmp_path / "out.mlir").read_bytes()
    assert run(tmp_path, sys.executable, "script.py").startswith("big 2\nmodule {\n")


def run(folder: Path, *command: str | Path) -> str:
    done = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True, timeout=GENEROUS)
    return done.stdout
