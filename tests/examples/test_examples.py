# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of a policy makes a program smaller."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import passpilot

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def text_bytes(program: Path, runner: str, obj: Path) -> int:
    module = passpilot.Module.read(program)
    passpilot.optimize(module, "default<Oz>", [passpilot.InlineAdvisor(runner)])
    obj.write_bytes(passpilot.emit(module, relocation_model="pic"))
    sections = subprocess.check_output(["llvm-size-22", "-A", obj], text=True)
    return sum(int(n) for n in re.findall(r"^\.text\S*\s+(\d+)", sections, re.MULTILINE))


def test_the_policy_of_the_demo_makes_a_program_smaller(
    corpus: Callable[[str, str], Path], tmp_path: Path
) -> None:
    program = corpus("picosat", "Oz")
    stock = text_bytes(program, "default", tmp_path / "stock.o")
    assert text_bytes(program, f"python:{EXAMPLES}/policy.py:decide", tmp_path / "policy.o") < stock
