# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MLIR examples run: tuned code, and code with decisions in both compilers, computes the same."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus.modules import unpacked

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(*arguments: str | Path) -> str:
    """What an example prints."""
    return subprocess.check_output([sys.executable, *arguments], text=True, timeout=120)


@pytest.mark.soak
def test_tiles_are_tuned() -> None:
    pytest.importorskip("sklearn", reason="of the extra `demo`")
    printed = run(EXAMPLES / "tune_tiles.py", "--samples", "6", "--rounds", "5")
    assert len(re.findall(r"(?m)^ .*(?:untiled|\d+ at random|\d+ more by the model) ", printed)) == 6
    assert len(re.findall(r"untiled .* ms +1\.00", printed)) == 2
    found = [float(speed_up) for speed_up in re.findall(r"more by the model .* ms +(\d+\.\d+)", printed)]
    assert len(found) == 2
    assert min(found) > 1.2, "medians of runs in turns: 2.5 and 5.8 on an idle machine"


def test_from_mlir_to_an_object() -> None:
    printed = run(EXAMPLES / "mlir_to_object.py")
    lines = [re.split(r"  +", line) for line in printed.splitlines()]
    assert len(lines) == 4
    assert len({line[-1] for line in lines}) == 1, "all compute the same"
    assert len({line[-2] for line in lines}) > 1, "the policies decide"


def test_a_real_program_from_mlir_to_an_object(tmp_path: Path) -> None:
    program = unpacked("jax_ode_and_linalg", tmp_path)
    made = tmp_path / "made.o"
    run(EXAMPLES / "mlir_to_object.py", tmp_path / "memref.mlir", made)
    assert program.run_object(made.read_bytes())
