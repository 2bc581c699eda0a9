# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Vocabularies of our own making, for LLVM's embeddings: no package has trained ones."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Final

import numpy as np

from passpilot.plugin import _core
from tests.corpus.build import bindir

if TYPE_CHECKING:
    from pathlib import Path

    Sections = dict[str, dict[str, list[float]]]

DIMENSION: Final = 7


def ir2vec_sections(*, without: str = "", dimension: int = DIMENSION) -> Sections:
    """A vector for every entity of LLVM's IR but one."""
    rng = np.random.default_rng(22)
    made: Sections = {"Opcodes": {}, "Types": {}, "Arguments": {}}
    for section, key in _core.ir2vec_entities():
        vector = rng.uniform(-9, 9, dimension).tolist()
        if key != without:
            made[section][key] = vector
    return made


def mir2vec_sections(mir: Path, dimension: int = DIMENSION) -> Sections:
    """A vector for every entity of the target of a file of machine code; llvm-ir2vec names them."""
    rng = np.random.default_rng(23)
    command = [str(bindir() / "llvm-ir2vec"), "entities", "--mode=mir", str(mir)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    names = [line.partition("\t")[0] for line in lines]
    registers = next(number for number, name in enumerate(names) if name.startswith("PhyReg_"))
    made: Sections = {section: {} for section in _core.mir2vec_sections()}
    for number, name in enumerate(names):
        section = "Opcodes" if number < registers - len(COMMON) else "CommonOperands"
        for prefix, registers_section in PREFIXES.items():
            if name.startswith(prefix):
                section, name = registers_section, name.removeprefix(prefix)
        made[section][name] = rng.uniform(-9, 9, dimension).tolist()
    assert set(made["CommonOperands"]) == set(COMMON)
    return made


PREFIXES: Final = {"PhyReg_": "PhysicalRegisters", "VirtReg_": "VirtualRegisters"}

COMMON: Final = (
    *("Immediate", "CImmediate", "FPImmediate", "MBB", "FrameIndex", "ConstantPoolIndex", "TargetIndex"),
    *("JumpTableIndex", "ExternalSymbol", "GlobalAddress", "BlockAddress", "RegisterMask"),
    *("RegisterLiveOut", "Metadata", "MCSymbol", "CFIIndex", "IntrinsicID", "Predicate", "ShuffleMask"),
    "LaneMask",
)


def written(path: Path, content: object) -> Path:
    """A file of JSON."""
    path.write_text(json.dumps(content))
    return path
