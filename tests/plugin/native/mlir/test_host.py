# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The plugin in a program that embeds MLIR, which goes on after an error."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.toolchain import mlir_plugin
from tests.command import Done, run
from tests.plugin.native.mlir.tools import MLIR_OPT, refused, written
from tests.shared import made_once

HOST: Final = Path(__file__).with_name("mlir_host.cpp")
ALONE: Final = "func.func @alone() {\n  return\n}\n"
"""A module without decisions: its log is first written at the end."""
FULL: Final = ("--passpilot-inline=const:0", "--passpilot-log=/dev/full")
WHY: Final = "decision log /dev/full: expected a file to write, got: No space left on device"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that compiles a module twice."""

    def build(folder: Path) -> None:
        config = ("llvm-config-22", "--cxxflags", "--ldflags", "--libs")
        flags = shlex.split(subprocess.check_output(config, text=True))
        libraries = MLIR_OPT.parents[1] / "lib"
        flags += [f"-L{libraries}", f"-Wl,-rpath,{libraries}", "-lMLIR", "-fno-rtti"]
        done = run("c++", HOST, *flags, "-o", "host", cwd=folder)
        assert done.code == 0, done.err

    return made_once(tmp_path_factory, "mlir-host", build) / "host"


def compiled(host: Path, folder: Path, *flags: str) -> Done:
    """What the program says of its two compilations."""
    source = written(folder, "in.mlir", ALONE)
    return run(host, mlir_plugin(), source, "builtin.module(advised-inline)", *flags, cwd=folder)


def test_an_error_at_the_end_is_a_diagnostic_of_its_compilation(host: Path, tmp_path: Path) -> None:
    for flags, errors in ((FULL[:1], 0), (FULL, 1)):
        done = compiled(host, tmp_path, *flags)
        told = done.out.decode()  # the second compilation may not write the log again
        assert (done.code, told.count(f"{errors} errors\n"), told.count(WHY)) == (7, 2, errors), done


def test_it_is_the_end_of_mlir_opt(tmp_path: Path) -> None:
    assert WHY in refused("advised-inline", written(tmp_path, "in.mlir", ALONE), *FULL)
