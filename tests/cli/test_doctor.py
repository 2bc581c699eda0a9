# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot doctor`: what it tells of what is there, and of what is not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from passpilot.cli import doctor
from passpilot.passes.python.registry import MLIR
from passpilot.plugin.mlir.bindings import VARIABLE, bindings
from passpilot.plugin.toolchain import llvm_plugin
from tests.command import PASSPILOT, passpilot, run


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
    assert (
        "\n-    mlir-opt-22         not on the PATH, for the plugin for mlir-opt; "
        "sudo apt-get install mlir-22-tools\n" in done.stdout
    )
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


OPT: Final = (
    ("", "opt-22 is not on the PATH; sudo apt-get install llvm-22"),
    ("echo no plugins here >&2; exit 3", "no plugins here"),
    ("exit 3", "RuntimeError"),
    (
        'echo "$@" >&2; exit 1',
        f"-load-pass-plugin={llvm_plugin()} -passpilot-inline=python:passpilot.cli.doctor:probe "
        f"-passes=inliner-wrapper -disable-output {os.devnull}",
    ),
)
"""Scripts in the place of stock opt, and what is said of them; of the last, which options it got."""


@pytest.mark.parametrize(("script", "said"), OPT, ids=["none", "fails", "fails without a word", "options"])
def test_a_stock_opt_that_does_not_load_the_plugin(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script:
        (tmp_path / "opt-22").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "opt-22").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    done = passpilot("doctor", cwd=tmp_path)
    assert (done.code, done.err) == (0, ""), "stock opt is not needed"
    assert f"\n-    plugin for opt-22   {said}\n" in done.out.decode()
    assert (
        "\n-    clang-22            not on the PATH, for passpilot cc, tune and eval; " in done.out.decode()
    )


def test_packages_and_bindings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, bindings().root)
    shown = passpilot("doctor", cwd=tmp_path).out.decode()
    assert f"{bindings().capi.name}), as {VARIABLE} says\n" in shown
    assert f"\nok   [aot]               onnx {version('onnx')}, llvmlite {version('llvmlite')}\n" in shown
    hidden = "import sys; sys.modules['llvmlite'] = None; from passpilot.cli.doctor import main; main([])"
    done = run(sys.executable, "-c", hidden, cwd=tmp_path)
    assert re.search(r"\n-    \[aot\] .*passpilot\[aot\]", done.out.decode())


def test_an_error_of_the_doctor_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> str:
        raise KeyError("x")

    monkeypatch.setattr(shutil, "which", fails)
    with pytest.raises(KeyError):
        doctor.main([])
