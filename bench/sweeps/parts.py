# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the corpus in parts, so that a case of bench.sweeps.programs has random advice in one of them.

A large program with random answers takes minutes to compile, a part of it seconds. The other parts are
stock's code, made once and kept in build/parts, in a folder named by the program's bitcode.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.lib.records import ROOT
from tests import stock
from tests.corpus.programs import Program
from tests.passes.allocation.allocated import by_llc

KEPT: Final = ROOT / "build/parts"
SIZE: Final = 40_000
"""Bytes of the whole program's bitcode for a part."""


@dataclass(frozen=True)
class Part:
    """A part of a program, and stock's object files of the others."""

    source: Path
    others: tuple[Path, ...] = ()


def part(program: Program, seed: int) -> Part:
    """The part of a seed: one after the other."""
    folder = split(program.whole("O2"))
    parts = sorted(folder.glob("*.bc"))
    mine = parts[seed % len(parts)]
    return Part(mine, tuple(other.with_suffix(".o") for other in parts if other != mine))


def split(whole: Path) -> Path:
    """The folder with a program's parts and their stock code after -O2; made if it is not there."""
    content = whole.read_bytes()
    count = len(content) // SIZE | 1  # odd, so that a part has odd and even seeds
    folder = KEPT / f"{hashlib.sha256(content).hexdigest()[:16]}-{count}"
    if folder.exists():
        return folder
    KEPT.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=KEPT))
    try:
        split_into(partial, whole, count)
        partial.rename(folder)
    except BaseException as error:
        shutil.rmtree(partial)
        if not (isinstance(error, OSError) and folder.exists()):  # another process was first
            raise
    return folder


def split_into(partial: Path, whole: Path, count: int) -> None:
    """Write the parts of a program, and stock's code of them."""
    text = partial / "whole.ll"
    stock.run("llvm-dis", whole, "-o", text)
    # copies of library functions that are to be inlined: the library may not have them
    text.write_bytes(text.read_bytes().replace(b"\ndefine available_externally ", b"\ndefine internal "))
    stock.run("llvm-split", "-j", str(count), text, "-o", partial / "split")
    text.unlink()
    for piece in sorted(partial.iterdir()):
        source, after = Path(f"{piece}.bc"), Path(f"{piece}.optimized")
        stock.run("opt", "-passes=globaldce,strip-dead-prototypes", piece, "-o", source)
        stock.run("opt", "-O2", source, "-o", after)
        Path(f"{piece}.o").write_bytes(by_llc(after))
        piece.unlink()
        after.unlink()
