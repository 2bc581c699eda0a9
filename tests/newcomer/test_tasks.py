# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a newcomer does on the first day: the tasks beside this file, as they would type them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

import pytest

from tests.command import PASSPILOT

TASKS: Final = sorted(Path(__file__).parent.glob("*.sh"))
PROGRAM: Final = """\
static int mix(int a, int b) { return a * 31 + b; }
static int scale(int a) { return a * 3; }
int total(int a, int b) { return mix(scale(a), b) + mix(b, a); }
"""
MAIN: Final = """\
#include <stdio.h>
int total(int a, int b);
int main(void) { printf("%d\\n", total(2, 3)); return 0; }
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of two files, one also as unoptimized bitcode, and a function that needs many registers."""
    folder = tmp_path_factory.mktemp("inputs")
    count = 40  # more than the registers of AArch64
    sums = "\n".join(f"  s{i} = s{i} * p[{i}] + s{(i + 7) % count};" for i in range(count))
    names = ", ".join(f"s{i} = p[{i}]" for i in range(count))
    result = " + ".join(f"s{i} * p[{i}]" for i in range(count))
    pressure = (
        "static long last(long x) { return x * 5; }\n"
        f"long pressure(long n, long *p) {{\n  long {names};\n"
        f"  while (n--) {{\n{sums}\n  }}\n  return last({result});\n}}\n"
    )
    for name, text in {"prog.c": PROGRAM, "main.c": MAIN, "pressure.c": pressure}.items():
        (folder / name).write_text(text)
    for name, flags in {"prog": ("-Oz", "-Xclang", "-disable-llvm-passes"), "pressure": ("-O2",)}.items():
        command = ["clang-22", *flags, "-emit-llvm", "-c", f"{name}.c", "-o", f"{name}.bc"]
        subprocess.run(command, check=True, cwd=folder)
    (folder / "pressure.c").unlink()
    return folder


def test_there_are_fourteen() -> None:
    assert len(TASKS) == 14


def own_environment(folder: Path) -> Path:
    """The programs of an environment that a task installs into; it begins with what the tests' own has."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "tests.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")
    shutil.copy(PASSPILOT, folder / "bin")
    return folder / "bin"


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.stem)
def test_task(task: Path, inputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "first-day"
    shutil.copytree(inputs, folder)
    programs = (
        own_environment(tmp_path / "environment") if "\npip install" in task.read_text() else PASSPILOT.parent
    )
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", str(task)],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=1200,  # one task installs 1.7 GB
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "Traceback" not in done.stderr + done.stdout
