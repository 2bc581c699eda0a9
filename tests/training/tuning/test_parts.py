# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Parts of functions that a search can make small."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin import _core
from passpilot.plugin.errors import CompilationError, InputError
from passpilot.plugin.module import Module
from passpilot.training.tuning.parts import PARTS, _with_regions

CODE: Final = """\
target triple = "x86_64-pc-linux-gnu"
declare i32 @other()
define i32 @one(i32 %x) {
  ret i32 %x
}
define internal i32 @two(i32 %x) {
  %y = mul i32 %x, 7
  %z = sdiv i32 %y, %x
  ret i32 %z
}
define ptr @user() {
  ret ptr @two
}
"""


def measured(name: str, cpu: str = "") -> dict[str, float]:
    """A part of the functions of a module."""
    options = _core.EmitOptions()
    options.cpu = cpu
    return PARTS[name](Module(CODE.encode()), options)


def test_instructions_are_those_of_defined_functions() -> None:
    assert measured("instructions") == {"one": 1, "two": 3, "user": 1}


def test_cycles_are_those_of_the_processor() -> None:
    atom = measured("mca", "atom")
    assert set(atom) == {"one", "two", "user"}
    assert atom["two"] > atom["one"] > 0
    assert measured("mca", "znver4")["two"] < atom["two"]


def test_only_functions_are_regions() -> None:
    text = (
        "\t.type\tf,@function\nother:\nf:\n\tret\n.Lfunc_end0:\n\t.type\tdata,@object\ndata:\n"
        "  .type g,@function\ng: # @g\n.LBB1_1:\n\tret\n.Lfunc_end1:\n.Lfunc_end2:\n"
    )
    assert _with_regions(text).splitlines() == [
        "\t.type\tf,@function", "other:", "f:", "# LLVM-MCA-BEGIN f", "\tret", "# LLVM-MCA-END f",
        ".Lfunc_end0:", "\t.type\tdata,@object", "data:", "  .type g,@function", "g: # @g",
        "# LLVM-MCA-BEGIN g", ".LBB1_1:", "\tret", "# LLVM-MCA-END g", ".Lfunc_end1:", ".Lfunc_end2:",
    ]  # fmt: skip


def tool(folder: Path, text: str) -> None:
    """A command in place of llvm-mca."""
    path = folder / "llvm-mca-22"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_missing_or_failing_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/nowhere")
    with pytest.raises(InputError, match=r"llvm-mca-22 is not on the PATH; .* llvm-22$"):
        measured("mca")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    tool(tmp_path, "echo note >&2; echo 'error: bad' >&2; exit 1")
    with pytest.raises(
        CompilationError, match=r"reward mca: expected llvm-mca-22 to succeed, got: error: bad$"
    ):
        measured("mca")
    tool(tmp_path, "echo '{}'")
    with pytest.raises(CompilationError, match="got: no summary"):
        measured("mca")
