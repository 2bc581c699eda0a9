# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A module of bench is a command by its function `main`, whose parameters are the command line."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = [file for file in sorted((ROOT / "bench").rglob("*.py")) if "\n@command\n" in file.read_text()]
MODULE = """\
from bench.lib.command_line import command

@command
def main(program: str = "lua", *others: str, rounds: int = 3, no_drivers: bool = False) -> None:
    print(program, others, rounds, no_drivers)
"""


def printed(folder: Path, *words: str) -> str:
    (folder / "mine.py").write_text(MODULE)
    environment = {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "mine", *words]
    return subprocess.check_output(command, cwd=folder, env=environment, text=True, timeout=60)


def test_parameters_are_the_command_line(tmp_path: Path) -> None:
    assert printed(tmp_path) == "lua () 3 False\n"
    assert (
        printed(tmp_path, "lz4", "zstd", "--rounds=5", "--no-drivers", "--check") == "lz4 ('zstd',) 5 True\n"
    )
    assert "[--rounds ROUNDS]" in printed(tmp_path, "--help")


@pytest.mark.parametrize("module", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_command_comes_last(module: Path) -> None:
    """It runs when it is defined: what it calls must be there."""
    last = ast.parse(module.read_text()).body[-1]
    assert isinstance(last, ast.FunctionDef)
    assert last.name == "main"
