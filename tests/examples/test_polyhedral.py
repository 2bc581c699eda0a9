# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The polyhedral example: every choice of tile sizes gives a program with the same output."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.command import GENEROUS, PASSPILOT
from tests.plugin.native.c.test_programs import ENVIRONMENT, EXAMPLES

POLICY = EXAMPLES / "polyhedral/policy.py"


@pytest.fixture(scope="module")
def tile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built example."""
    program = tmp_path_factory.mktemp("polyhedral") / "tile"
    command = [str(PASSPILOT), "plugin-path", "--pkgconfigdir"]
    folder = subprocess.run(command, capture_output=True, text=True, check=True, timeout=GENEROUS).stdout
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "passpilot"],
        env={**os.environ, "PKG_CONFIG_PATH": folder.strip()},
        capture_output=True,
        text=True,
        check=True,
        timeout=GENEROUS,
    ).stdout.split()
    command = ["cc", "-Wall", "-Werror", f"{EXAMPLES}/polyhedral/tile.c", *flags, "-lisl", "-o", str(program)]
    subprocess.run(command, check=True, timeout=GENEROUS)
    return program


def source(tile: Path, *arguments: str) -> tuple[str, str]:
    """The C text, and what the program says."""
    done = subprocess.run(
        [str(tile), *arguments],
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=GENEROUS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def printed(folder: Path, text: str) -> str:
    """What a C program prints."""
    command = ["clang-22", "-O2", "-w", "-x", "c", "-", "-o", f"{folder}/program"]
    subprocess.run(command, input=text, text=True, check=True, timeout=GENEROUS)
    return subprocess.run(
        [folder / "program"], capture_output=True, text=True, check=True, timeout=GENEROUS
    ).stdout


@pytest.mark.parametrize(("kernel", "size"), [("matmul", "50"), ("seidel", "60")])
def test_every_tiling_prints_the_same(tile: Path, tmp_path: Path, kernel: str, size: str) -> None:
    plain = source(tile, kernel, size)[0]
    expected, texts = printed(tmp_path, plain), {plain}
    for runner in ("default", "const:0", "random:1", "random:2", f"python:{POLICY}:decide"):
        text = source(tile, kernel, size, runner)[0]
        assert printed(tmp_path, text) == expected
        texts.add(text)
    assert len(texts) > 3


def test_the_policy_chooses_by_trip_count(tile: Path) -> None:
    said = source(tile, "seidel", "60", f"python:{POLICY}:decide")[1]
    assert re.findall(r"(\d+) iterations, tiles of (\d+)", said) == [("8", "8"), ("65", "64"), ("129", "64")]


def test_a_wrong_runner_is_an_error(tile: Path) -> None:
    done = subprocess.run(
        [tile, "matmul", "50", "const:9"], capture_output=True, text=True, timeout=GENEROUS, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tile: ")
    assert "const:9" in done.stderr
    assert not done.stdout
