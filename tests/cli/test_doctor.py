# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot doctor`: what it tells of what is there, and of what is not."""

from __future__ import annotations

import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from passpilot.cli import doctor
from passpilot.passes.python.registry import MLIR
from passpilot.plugin.errors import Error
from passpilot.plugin.mlir.bindings import VARIABLE, bindings
from passpilot.plugin.toolchain import llvm_plugin
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


def failing(error: Exception, *, needed: bool = True) -> doctor._Check:
    def run() -> str:
        raise error

    return doctor._Check("part", run, needed)


@pytest.mark.parametrize(
    "kind",
    [
        Error,
        ImportError,
        AttributeError,
        OSError,
        RuntimeError,
        subprocess.SubprocessError,
        FileNotFoundError,
    ],
)
def test_every_kind_of_failure_is_one_line(kind: type[Exception], capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor._state(failing(kind("a\n  b"))) == "FAIL"
    assert doctor._state(failing(kind(), needed=False)) == "-"
    name = "Error" if kind is Error else kind.__name__
    assert capsys.readouterr().out == f"FAIL part                a b\n-    part                {name}\n"


def test_an_error_of_the_doctor_itself_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        doctor._state(failing(KeyError("x")))


def without_checks(monkeypatch: pytest.MonkeyPatch, check: doctor._Check, *, wanted: bool) -> int:
    def no_bindings() -> str:
        raise ImportError("none")

    monkeypatch.setattr(doctor, "CHECKS", (check,))
    monkeypatch.setattr(doctor, "_bindings", no_bindings)
    monkeypatch.setattr("passpilot.plugin.mlir.bindings.are_wanted", lambda: wanted)
    return doctor.main([])


@pytest.mark.parametrize(("needed", "wanted", "code"), [(0, 0, 0), (1, 0, 1), (0, 1, 1)])
def test_only_what_is_needed_fails(
    monkeypatch: pytest.MonkeyPatch, needed: int, wanted: int, code: int
) -> None:
    check = failing(OSError("x"), needed=bool(needed))
    assert without_checks(monkeypatch, check, wanted=bool(wanted)) == code


def stock_opt(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let PATH have only an opt that is this script."""
    opt = folder / "opt-22"
    opt.write_text(f"#!/bin/sh\n{script}\n")
    opt.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_an_opt_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stock_opt(tmp_path, monkeypatch, "echo no plugins here >&2; exit 3")
    with pytest.raises(RuntimeError, match=r"^no plugins here$"):
        doctor._stock_plugin()


def test_opt_is_asked_to_load_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stock_opt(tmp_path, monkeypatch, 'echo "$@" >&2; exit 1')
    with pytest.raises(RuntimeError) as caught:
        doctor._stock_plugin()
    assert str(caught.value).split() == [
        f"-load-pass-plugin={llvm_plugin()}",
        "-passpilot-inline=python:passpilot.cli.doctor:probe",
        "-passes=inliner-wrapper",
        "-disable-output",
        os.devnull,
    ]


def test_no_opt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        RuntimeError, match=r"^expected opt-22 on the PATH, got none; sudo apt-get install llvm-22$"
    ):
        doctor._stock_plugin()


def test_bindings_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    plain = doctor._bindings()
    assert plain.endswith(")")
    monkeypatch.setenv(VARIABLE, bindings().root)
    assert doctor._bindings() == f"{plain}, as {VARIABLE} says"


def test_an_extra_shows_each_package_with_its_version() -> None:
    assert doctor._extra("aot", "onnx", "llvmlite")() == (
        f"onnx {version('onnx')}, llvmlite {version('llvmlite')}"
    )


def test_an_extra_that_is_missing_names_what_to_install() -> None:
    with pytest.raises(Error, match=re.escape("passpilot[aot]")):
        doctor._extra("aot", "onnx", "no_such_package")()
