# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A log replaces a log, and no other file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import llvm_plugin
from tests.command import passpilot, run
from tests.corpus.build import bindir

INPUT: Final = Path(__file__).parents[3] / "lit_tests/passes/Inputs/advised.ll"


@pytest.mark.parametrize("door", ["hosted", "stock"])
def test_a_log_replaces_no_other_file(door: str, tmp_path: Path) -> None:
    source = tmp_path / "in.ll"
    shutil.copy(INPUT, source)
    for log, code in (("in.ll", 1), ("new.log", 0), ("new.log", 0)):
        if door == "hosted":
            done = passpilot(
                "opt", "in.ll", "-O2", "--inline=const:0", f"--log={log}", "-o", "x", cwd=tmp_path
            )
        else:
            flags = (
                f"-load-pass-plugin={llvm_plugin()}",
                "-passpilot-inline=const:0",
                f"-passpilot-log={log}",
            )
            done = run(
                Path(bindir()) / "opt", *flags, "in.ll", "-passes=default<O2>", "-o", "x", cwd=tmp_path
            )
        assert done.code == code, done.err
        assert (
            "decision log in.ll: expected a file to write, got: another file that is no log" in done.err
        ) == bool(code)
    assert source.read_text() == INPUT.read_text()
