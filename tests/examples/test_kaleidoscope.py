# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The example of a compiler in Python compiles, decides and runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import GENEROUS

EXAMPLE = Path(__file__).parents[2] / "examples" / "kaleidoscope.py"


def run(*arguments: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, (EXAMPLE, *arguments))]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=GENEROUS)


def test_its_own_program() -> None:
    done = run()
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "hypot2 calls square: inline" in lines
    assert not any(line.startswith("fib calls fib") for line in lines), "LLVM itself refuses recursion"
    assert lines[-3:] == ["25", "6765", "335"]


def test_a_program_in_a_file(tmp_path: Path) -> None:
    program = tmp_path / "program.k"
    program.write_text(
        "# absolute values\ndef abs(x) if x < 0 then 0 - x else x\n"
        "def far(a b) (abs(a - b) + 1) / 2\nfar(2, 5.5)\n"
    )
    done = run(program)
    assert done.stdout.splitlines() == [
        "far calls abs: inline",
        "expression.2 calls far: inline",
        "2.25",
    ]


def test_operators_bind_as_in_arithmetic(tmp_path: Path) -> None:
    expressions = {
        "1 + 2 * 3": "7",
        "(1 + 2) * 3": "9",
        "10 - 4 - 3": "3",
        "16 / 4 / 2": "2",
        "2 * 3 + 8 / 2": "10",
        "1 < 2": "1",
        "2 < 1": "0",
        "2 < 2": "0",
        "1 + 1 < 3 * 1": "1",
        "if 0 then 1 else if 2 then 3 else 4": "3",
        "1.5 + if 1 < 2 then 0.25 else 9": "1.75",
    }
    program = tmp_path / "program.k"
    lines = "".join(f"{each} # {value}\n" for each, value in expressions.items())
    program.write_text(f"def same(x) x\nsame(5)\n{lines}")
    done = run(program)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == ["5", *expressions.values()]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("def f(x) 3 +", "expected 'an expression', got 'the end'"),
        ("f(1)", "expected a function f of 1 arguments, got none"),
        ("def f(x) x f(1, 2)", "expected a function f of 2 arguments, got none"),
        ("def f(x y) x f(1 2)", "expected ',', got '2'"),
        ("if 1 then 2", "expected 'else', got 'the end'"),
        ("def f(x) y", "expected a number or a parameter, got 'y'"),
        ("def f() 1 def f() 2", "expected one definition of f, got two"),
    ],
)
def test_errors(tmp_path: Path, program: str, expected: str) -> None:
    source = tmp_path / "program.k"
    source.write_text(program)
    done = run(source)
    assert (done.returncode, done.stderr) == (1, f"kaleidoscope: {expected}\n")
