# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The search for speed, by running programs."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.training.corpus.layout import ProgramRun
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.sizes import LinkedSizes, start_time
from passpilot.training.tuning.speed import SpeedSearch
from passpilot.training.tuning.study import Budget
from passpilot.training.tuning.unit import Unit
from tests.command import passpilot

HOT: Final = """\
#include <stdio.h>
#include <stdlib.h>
static unsigned step(unsigned value, unsigned by, unsigned kind) {
  switch (kind) {
  case 0: return value * 5 + by;
  case 1: return (value << 1) + (by ^ 9);
  case 2: return value ^ (value >> 3) ^ by;
  case 3: return (value >> 7) + (by << 2) * 3;
  }
  return value + by;
}
static unsigned run(unsigned count) {
  unsigned value = count;
  for (unsigned i = 0; i < count; i++)
    value += step(i, i + 1, i & 3) + step(i, 5, i >> 1 & 3) + step(i ^ 3, i, i >> 2 & 3);
  return value;
}
int main(int argc, char **argv) {
  unsigned count = argc > 1 ? atoi(argv[1]) : 1000000;
  printf("%u\\n", run(count));
}
"""
"""At -Oz the calls in the loop stay, which makes it a multiple slower on any processor."""

BUILD: Final = "demo: main.c\n\t$(CC) -Oz -c main.c\n\t$(CC) -o $@ main.o\n"


def build(tmp_path: Path, text: str = HOT) -> Path:
    """A build of one C program by make."""
    (tmp_path / "main.c").write_text(text)
    (tmp_path / "Makefile").write_text(BUILD)
    return tmp_path


def test_a_program_becomes_faster(tmp_path: Path) -> None:
    folder = build(tmp_path)
    done = passpilot(
        "tune",
        "--compiles=8",
        "--jobs=2",
        "--reward=run: {}",
        "--unseen={} 4000000",
        "-o",
        "fast",
        "--",
        "make",
        cwd=folder,
        timeout=300,
    )
    assert done.code == 0, done.err
    table = json.loads((folder / "fast/demo.json").read_text())
    assert table["confirmed"]["ratio"] < 0.95
    assert table["unseen"]["ratio"] < 0.95
    assert f"demo: run time {table['confirmed']['ratio']:.3f} (" in done.err
    assert re.search(r"^inline \d+ yes", (folder / "fast/demo.decisions").read_text(), re.MULTILINE)
    assert table["curve"][-1][2] < table["curve"][0][2] == 1


def searched(tmp_path: Path, run: ProgramRun, deadline: float = 30) -> SpeedSearch:
    """A search of a program without decisions."""
    source, module = tmp_path / "quick.c", tmp_path / "quick.bc"
    source.write_text('#include <stdio.h>\nint main() { return puts("done") < 0; }\n')
    clang = ("clang-22", "-O2", "-Xclang", "-disable-llvm-passes", "-emit-llvm", "-fPIE", "-c")
    subprocess.run([*clang, source, "-o", module], check=True)
    unit = Unit(Module.read(module), "default<O2>")
    linker = LinkedSizes(["clang-22", 0], str(tmp_path))
    engine = Engine([unit], Machines(2))
    return SpeedSearch([unit], engine, start_time, Budget(12), linker=linker, runs=[run], deadline=deadline)


def test_without_a_gain_the_decisions_are_llvms(tmp_path: Path) -> None:
    search = searched(tmp_path, ProgramRun())
    found = search.run()
    assert found.best.units[0].code == found.start.units[0].code
    assert search.summary() == "no faster program found"
    assert found.compiles <= 12


@pytest.mark.parametrize(
    ("run", "deadline", "told"),
    [
        (ProgramRun(stdout_sha256="0" * 64), 30, "the output with sha256 000000000000"),
        (ProgramRun(directory="/missing"), 30, "No such file"),
        (ProgramRun(), 1e-6, "an end within 1e-06 s"),
    ],
)
def test_a_program_that_does_not_run_is_an_error(
    run: ProgramRun, deadline: float, told: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told):
        searched(tmp_path, run, deadline).run()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--reward=run: ./demo", "main.ll"), "expected {} and the program's arguments, got './demo'"),
        (("--reward=run: {} 'x", "main.ll"), "expected a command"),
        (("--reward=run", "--at-most=mca:1", "main.ll"), "expected no limit beside --reward=run"),
        (("--reward=run", "main.ll"), "expected a program for 'run', got a module"),
        (("--unseen={}", "main.ll"), "--unseen: expected --reward=run beside it"),
    ],
)
def test_what_is_wrong_with_a_run_is_said(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    (tmp_path / "main.ll").write_text("define void @f() {\n  ret void\n}\n")
    done = passpilot("tune", *arguments, "-o", "out", cwd=tmp_path)
    assert done.code == 2
    assert told in done.err
