# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workflows of `examples/ci`: their steps run, in their order, as GitHub and GitLab run them."""

from __future__ import annotations

import os
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

from tests.command import PASSPILOT, passpilot

CI: Final = Path(__file__).parents[2] / "examples/ci"
MAIN: Final = "int table[{}] = {{1}};\nint main(int n, char **all) {{ return table[n]; }}\n"


def project(folder: Path, numbers: int) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "main.c").write_text(MAIN.format(numbers))
    (folder / "Makefile").write_text("CC = clang-22\nmain: main.o\n")


def steps(folder: Path, found: list[tuple[str, bool]]) -> int:
    """Run commands, those that always run after a failure too; the exit code of the first that fails."""
    path = f"{PASSPILOT.parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    code = 0
    for words, always in found:
        if code == 0 or always:
            shell = ["bash", "-euo", "pipefail", "-c", words]
            done = subprocess.run(shell, check=False, cwd=folder, env=environment, timeout=120)
            code = code or done.returncode
    return code


def workflow(name: str) -> Any:
    return import_module("yaml").safe_load((CI / name).read_text())


@pytest.mark.parametrize(("numbers", "code"), [(100, 0), (400, 1)])
def test_github(numbers: int, code: int, tmp_path: Path) -> None:
    project(tmp_path / "base", 100)
    project(tmp_path / "head", numbers)
    rows = workflow("github.yml")["jobs"]["size"]["steps"]
    found = [(row["run"], row.get("if") == "always()") for row in rows if "run" in row]
    assert steps(tmp_path, found) == code
    summary = (tmp_path / "summary.md").read_text()
    assert summary == (tmp_path / rows[-1]["with"]["path"]).read_text()
    assert ("OVER the budget" in summary, "| table | 400 | 1,600 |" in summary) == (code == 1, code == 1)


@pytest.mark.parametrize(("numbers", "code"), [(100, 0), (400, 1)])
def test_gitlab(numbers: int, code: int, tmp_path: Path) -> None:
    project(tmp_path, 100)
    subprocess.run(["make"], cwd=tmp_path, check=True, timeout=60)
    assert passpilot("size", "main", "--result=size.json", cwd=tmp_path).code == 0
    for made in ("main", "main.o"):
        (tmp_path / made).unlink()
    project(tmp_path, numbers)
    job = workflow("gitlab.yml")["size"]
    assert steps(tmp_path, [(words, False) for words in job["script"]]) == code
    (page,) = job["artifacts"]["paths"]
    assert ("OVER the budget" in (tmp_path / page).read_text()) == (code == 1)
