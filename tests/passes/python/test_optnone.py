# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes in Python on functions that clang -O0 has marked optnone: a warning if they ran on nothing."""

from __future__ import annotations

import re
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

import passpilot
from passpilot.plugin.toolchain import llvm_plugin
from tests.command import OPT

NONE = "define i32 @f() noinline optnone {\n  ret i32 1\n}\n"
PLAIN = "define i32 @g() {\n  ret i32 1\n}\n"
DECLARED = "declare i32 @h()\n"
WARNING = (
    "pass look: expected functions to run on, got 1 marked optnone, as by clang -O0; compile with "
    "-Xclang -disable-O0-optnone, or register it with required=True"
)


@pytest.fixture
def seen(registry: object) -> list[str]:  # noqa: ARG001  (it forgets the passes)
    """The names of the functions that the passes ran on."""
    found: list[str] = []
    for name, required in (("look", False), ("must-look", True)):

        @passpilot.llvm.function_pass(name, required=required)
        @dataclass(frozen=True)
        class Look:
            def run(self, function: passpilot.ir.Function) -> bool:
                found.append(function.name)
                return False

    return found


def test_a_pass_that_ran_on_nothing(seen: list[str]) -> None:
    module = passpilot.Module((NONE + DECLARED).encode())
    with pytest.warns(passpilot.PasspilotWarning, match="^" + re.escape(WARNING) + "$"):
        passpilot.optimize(module, "look")
    assert seen == []


@pytest.mark.parametrize(
    ("text", "pipeline", "ran"),
    [(NONE + PLAIN, "look", ["g"]), (NONE, "must-look", ["f"]), (DECLARED, "look", []), (NONE, "verify", [])],
)
def test_no_warning(seen: list[str], text: str, pipeline: str, ran: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        passpilot.optimize(passpilot.Module(text.encode()), pipeline)
    assert seen == ran


def test_stock_opt_warns_too(tmp_path: Path) -> None:
    (tmp_path / "in.ll").write_text(NONE)
    (tmp_path / "look.py").write_text(
        "from dataclasses import dataclass\nimport passpilot\n\n\n"
        '@passpilot.llvm.function_pass("look")\n@dataclass(frozen=True)\nclass Look:\n'
        "    def run(self, function):\n        return False\n"
    )
    plugin = f"-load-pass-plugin={llvm_plugin()}"
    command = [str(OPT), plugin, "-passpilot-load=look.py", "-passes=look", "-disable-output", "in.ll"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert f"warning: {WARNING}" in done.stderr
    (tmp_path / "in.ll").write_text(NONE + PLAIN)
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr == ""
