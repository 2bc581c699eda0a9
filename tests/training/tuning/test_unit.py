# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a search starts from is what clang makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.module import Module
from passpilot.training.tuning.engine import LocalEngine
from passpilot.training.tuning.unit import LLVMS_OWN, Compiled, Unit
from tests import stock
from tests.corpus.programs import programs

CASES = [
    ("box2d", "b2_wheel_joint", "Oz"),  # clang vectorizes straight-line code
    ("box2d", "b2_wheel_joint", "O2"),
    ("lua", "ldblib", "Oz"),  # clang's passes know the relocation model
]


@pytest.mark.parametrize(("name", "source", "level"), CASES)
def test_an_object_is_clangs(name: str, source: str, level: str, tmp_path: Path) -> None:
    program = programs()[name]
    path = program.unit(next(each for each in program.sources() if source in each), level)
    stock.run("clang", f"-{level}", "-fPIE", "-c", "-w", "-x", "ir", path, "-o", tmp_path / "stock.o")
    unit = Unit(Module.read(path), f"default<{level}>", "pic")
    as_clang = Unit(unit.module, unit.pipeline, "pic", as_clang=True)
    expected = code_of(tmp_path / "stock.o")
    assert len(expected) > 1000
    assert made(as_clang, tmp_path) == expected
    if level == "Oz":
        assert made(unit, tmp_path) != expected


def made(unit: Unit, folder: Path) -> bytes:
    """The code of the unit, compiled in a process of its own."""
    [compiled] = LocalEngine([unit]).compile([(0, LLVMS_OWN)])
    assert isinstance(compiled, Compiled)
    (folder / "made.o").write_bytes(compiled.code)
    return code_of(folder / "made.o")


def code_of(path: Path) -> bytes:
    """The disassembled object with its relocations, without the lines that name the file."""
    return stock.run("llvm-objdump", "-dr", path).split(b"Disassembly", 1)[1]
