# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot doctor`: what it tells of what is there, and of what is not."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from passpilot.cli import doctor
from passpilot.passes.python.registry import MLIR
from passpilot.plugin.mlir.bindings import VARIABLE, bindings
from tests.command import PASSPILOT, passpilot


def test_all_is_well(tmp_path: Path) -> None:
    done = passpilot("doctor", cwd=tmp_path)
    lines = done.out.decode().splitlines()
    assert (done.code, done.err) == (0, "")
    assert not [line for line in lines if line.startswith("FAIL")]
    rows = {line[5:25].strip(): line[25:] for line in lines}
    assert rows["MLIR bindings"].startswith(f"{bindings().root} {bindings().version} (")
    assert rows["passes in Python"].startswith("nested, in ")
    assert re.fullmatch(r"LLVM version 22\.1.*, /.*/libLLVM\.so\.22\.1", rows["LLVM"])
    assert rows["C API"].endswith("/libpasspilot_c.so.1")
    assert rows["plugin for opt-22"].endswith("/libpasspilot.so")


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    environment = {**os.environ, VARIABLE: "no.such.package", "PATH": ""}
    done = subprocess.run(
        [PASSPILOT, "doctor"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "\nFAIL MLIR bindings       PASSPILOT_MLIR: expected a package among mlir, " in done.stdout
    assert "\n-    mlir-opt-22         not on the PATH\n" in done.stdout
    assert "passes in Python" not in done.stdout


def test_bindings_that_cannot_do_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "TEXT", "func.func @b() { return }")
    assert doctor.main([]) == 1
    out = capsys.readouterr().out
    assert "\nFAIL   passes in Python  expected a pass to run on 2 functions, got 1\n" in out
    assert "\n-      lowering          expected LLVM IR with the function @a, got none\n" in out
    assert MLIR.added() == set()
