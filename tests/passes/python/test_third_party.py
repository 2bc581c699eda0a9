# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A package of somebody else's, really installed: its pass is found by its name alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ERROR, PASSPILOT
from tests.passes.mlir.passes import TEXT

PACKAGE = Path(__file__).with_name("third_party")
IR = "define i32 @f(i32 %x) {\n  %y = add i32 %x, 1\n  ret i32 %y\n}\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and nothing else installed."""
    folder = tmp_path_factory.mktemp("site")
    flags = ("--no-build-isolation", "--no-deps", "--no-index", "--disable-pip-version-check", "-q")
    command = [sys.executable, "-m", "pip", "install", *flags, "--target", str(folder), str(PACKAGE)]
    subprocess.run(command, check=True, cwd=folder)
    return folder


def opt(site: Path, cwd: Path, *arguments: str, command: str = "opt") -> subprocess.CompletedProcess[str]:
    (cwd / "in.ll").write_text(IR)
    (cwd / "in.mlir").write_text(TEXT)
    return subprocess.run(
        [PASSPILOT, command, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_pass_is_found_by_its_name(site: Path, tmp_path: Path) -> None:
    done = opt(site, tmp_path, "in.ll", "-disable-output", "-passes=instcombine,example-count{above=1}")
    assert (done.returncode, done.stderr) == (0, "f 2\n")
    done = opt(site, tmp_path, "in.ll", "-disable-output", "-passes=example-count{above=2}")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_pass_is_listed(site: Path, tmp_path: Path) -> None:
    done = opt(site, tmp_path, "--print-passes")
    row = "  example-count{above=int}  Prints the size of each function above a limit."
    assert f"\n{row}\n" in done.stdout.partition("Function passes in Python:")[2]


def test_its_options_are_checked(site: Path, tmp_path: Path) -> None:
    done = opt(site, tmp_path, "in.ll", "-o", "out.bc", "-passes=example-count{above=all}")
    assert done.returncode == 1
    assert done.stderr == (
        "passpilot: error: -passes: pass example-count: expected int for above, got 'all'\n"
        "  example-count{above=all}\n"
        "                      ^^^\n"
    )
    assert not (tmp_path / "out.bc").exists()


def test_its_name_is_taken_for_a_file_that_is_loaded(site: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import passpilot\nfrom dataclasses import dataclass\n"
        "@passpilot.llvm.function_pass('example-count')\n"
        "@dataclass(frozen=True)\nclass Mine:\n    def run(self, function):\n        return False\n"
    )
    done = opt(site, tmp_path, "in.ll", "-o", "out.bc", "-passes=example-count", "--load=mine.py")
    assert done.returncode == 1
    assert ERROR.fullmatch(done.stderr), done.stderr
    assert "mine.py:3: expected a new name, got one that " in done.stderr
    assert "passpilot_example_passes:Count" in done.stderr


def test_without_the_package_the_name_is_unknown(tmp_path: Path) -> None:
    done = opt(tmp_path / "nothing", tmp_path, "in.ll", "-o", "out.bc", "-passes=example-count")
    assert done.returncode == 1
    assert "unknown pass name 'example-count'" in done.stderr


def test_a_pass_for_mlir(site: Path, tmp_path: Path) -> None:
    text = "--pass-pipeline=builtin.module(func.func(cse,example-mark{name=seen}))"
    done = opt(site, tmp_path, "in.mlir", text, command="mlir-opt")
    assert (done.returncode, done.stderr) == (0, "")
    assert "{seen}" not in done.stdout
    done = opt(site, tmp_path, "in.mlir", text, "--advise=example-mark=const:1", command="mlir-opt")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("{seen}") == 4
    done = opt(site, tmp_path, "--print-passes", command="mlir-opt")
    row = "example-mark{name=text}  Marks the operations that the advisor says yes to."
    on_functions = done.stdout.partition("Passes in Python on func.func:\n")[2].partition("\n\n")[0]
    assert f"  {row}\n" in f"{on_functions}\n"
    done = opt(tmp_path / "nothing", tmp_path, "in.mlir", text, command="mlir-opt")
    assert done.returncode == 1
    assert "pass example-mark: expected a pass of MLIR's or one in Python" in done.stderr
