# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that may open few files: they succeed, or end with one line."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from passpilot.cli.main import main
from tests.command import OPT, PASSPILOT, run

CALLS = "define i32 @g() {\n  ret i32 1\n}\ndefine i32 @f() {\n  %x = call i32 @g()\n  ret i32 %x\n}\n"
COMMANDS = {
    "opt": ("opt", "-O2", "a.ll", "--inline=python:p.py:decide", "-o", "out"),
    "attach": ("attach", "--inline=python:p.py:decide", "--", OPT, "-O2", "a.ll", "-o", "out"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("limit", [4, 7, 12, 14, 15, 17])
def test_few_files_are_one_line(command: str, limit: int, tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text(CALLS)
    (tmp_path / "p.py").write_text("def decide(obs):\n    return 0\n")
    done = run("prlimit", f"--nofile={limit}", PASSPILOT, *COMMANDS[command], cwd=tmp_path)
    if done.code == 0:
        assert limit > 12
        assert (tmp_path / "out").exists()
        return
    assert "Too many open files; raise the limit (ulimit -n)" in done.err
    assert done.err.startswith("passpilot: error: ")
    assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_last_file_is_one_line_at_any_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_arguments: list[str]) -> int:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "x")

    monkeypatch.setattr("passpilot.cli.plugin_path.main", full)
    assert main(["plugin-path"]) == 1
    told = "expected to open another file, got: Too many open files; raise the limit (ulimit -n)"
    assert capsys.readouterr().err == f"passpilot: error: {told}\n"
