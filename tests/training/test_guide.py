# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The guide's agent prints the guide's output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.command import GENEROUS
from tests.training.serving import served

GUIDE = Path(__file__).parents[2] / "docs" / "compiler-service.md"


def fenced(language: str) -> str:
    return GUIDE.read_text().split(f"```{language}\n")[1].split("```")[0]


def test_the_program_of_the_guide_prints_what_the_guide_says(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a-secret\n")
    with served(tmp_path, f"--token=@{tmp_path}/token") as service:
        program = fenced("python").replace("127.0.0.1:5005", service.target)
        assert service.target in program
        command = [sys.executable, "-c", program]
        assert subprocess.check_output(command, text=True, timeout=GENEROUS, cwd=tmp_path) == fenced("text")
