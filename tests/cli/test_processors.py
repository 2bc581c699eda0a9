# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What commands write does not depend on the processor of the machine, unless they are asked for that.

`host.cpp` makes LLVM take the machine for an older or a newer one. Nothing here runs what is compiled.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests import stock
from tests.command import PASSPILOT, run
from tests.runners.aot.models import small_mlp

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="names processors of x86-64")

OLD, NEW = "core2", "skylake-avx512"
COMMANDS: Final = {
    "opt": ("opt", "in.bc", "-O3", "--inline=const:1"),
    "llc": ("llc", "in.bc", "-O3", "-filetype=obj", "--priority=random:1"),
    "cc": ("cc", "-O3", "-c", "in.c", "--inline=const:1"),
    "aot": ("aot", "m.onnx"),
}


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of `host.cpp`."""
    library = tmp_path_factory.mktemp("host") / "host.so"
    config = ["llvm-config-22", "--cppflags", "--ldflags", "--libs", "--link-shared"]
    flags = subprocess.check_output(config, text=True).split()
    source = Path(__file__).with_name("host.cpp")
    command = ["g++", "-std=c++17", "-fPIC", "-fno-rtti", "-shared", str(source), "-o", str(library), *flags]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program and a model."""
    folder = tmp_path_factory.mktemp("inputs")
    stock.clang(stock.MANY_CALLS, folder / "in.bc")
    (folder / "m.onnx").write_bytes(small_mlp().SerializeToString())
    return folder


def written(host: Path, folder: Path, processor: str, command: tuple[str, ...]) -> bytes:
    """What a command writes on a machine with this processor."""
    out = folder / f"{processor}.o"
    machine = ("env", f"LD_PRELOAD={host}", f"HOST_CPU={processor}")
    done = run(*machine, PASSPILOT, *command, "-o", out, cwd=folder)
    assert (done.code, done.err) == (0, "")
    return out.read_bytes()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_machine_is_not_looked_at(host: Path, folder: Path, name: str) -> None:
    old, new = (written(host, folder, processor, COMMANDS[name]) for processor in (OLD, NEW))
    assert old == new


def test_the_machine_is_looked_at_for_native(host: Path, folder: Path) -> None:
    command = ("aot", "m.onnx", "-mcpu=native")
    old, new = (written(host, folder, processor, command) for processor in (OLD, NEW))
    assert b"avx512f" not in old
    assert b"avx512f" in new
