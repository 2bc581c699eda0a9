# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The policy `@spill`, as it comes with passpilot."""

from __future__ import annotations

import json
from pathlib import Path

from tests.command import passpilot
from tests.passes.allocation.allocated import optimized


def total(report: Path, side: str) -> float:
    return float(json.loads(report.read_text())["total"][side])


def test_spill_code_costs_less(tmp_path: Path) -> None:
    source = optimized("lz4")
    flags = ("-relocation-model=pic", "-filetype=obj", "--report=report.json", "-o", "lz4.o")
    done = passpilot("llc", "--policy=@spill", source, *flags, cwd=tmp_path)
    assert done.code == 0, done.err
    assert total(tmp_path / "report.json", "advised") < 0.95 * total(tmp_path / "report.json", "default")


def test_other_processors_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text('target triple = "aarch64-linux-gnu"\ndefine void @f() {\n  ret void\n}\n')
    done = passpilot("llc", "--policy=@spill", "a.ll", "-o", "a.s", cwd=tmp_path)
    assert done.code == 1
    assert "expected a module for x86_64" in done.err
