# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@oz`, as it comes with passpilot."""

from __future__ import annotations

import subprocess
from pathlib import Path

from passpilot.runners.policy.installed import find_bundle
from passpilot.training.rewards import code_bytes
from tests.command import passpilot

PROGRAM = "device[0] = 1; device[1] = 2; device[2] = 3; device[3] = 4; device[4] = 5; device[5] = 6;"
SOURCE = f"""
extern volatile int device[8];
void start(void) {{ {PROGRAM} }}
void again(void) {{ {PROGRAM} }}
void more(int n) {{ if (n) {{ {PROGRAM} }} }}
void run(int n) {{ while (n--) {{ {PROGRAM} }} }}
"""
"""The same instructions in three functions that rarely run, and in a loop."""


def test_the_outliner_spares_loops(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(SOURCE)
    done = passpilot("cc", "-Oz", "--policy=@oz", "-ffunction-sections", "-c", "a.c", "-o", "a.o", cwd=tmp_path)
    assert done.code == 0, done.err
    stock = ["clang-22", "-Oz", "-ffunction-sections", "-c", "a.c", "-o", "b.o"]
    subprocess.run(stock, cwd=tmp_path, check=True, timeout=60)
    assert code_bytes((tmp_path / "a.o").read_bytes()) < code_bytes((tmp_path / "b.o").read_bytes())
    dump = ["llvm-objdump-22", "-dr", "--no-show-raw-insn", "a.o"]
    text = subprocess.run(
        dump, cwd=tmp_path, check=True, timeout=60, capture_output=True, text=True
    ).stdout
    functions = {part.split(">:")[0]: part for part in text.split("<")[1:] if ">:" in part}
    assert "OUTLINED" in text
    assert "OUTLINED" not in functions["run"]


def test_no_recipe_needs_python() -> None:
    for recipe in find_bundle("@oz").recipes:
        assert all(not row.runner.startswith("python") for row in recipe.points.values())
        assert "estimate-profile" in recipe.pipeline or "enable-machine-outliner=always" in recipe.options
