# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands and programs of docs/training.md run as they stand, but for the network, which needs torch."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
from pathlib import Path

import onnx

from passpilot.features.columns import columns_of
from passpilot.features.point import find_point
from tests import stock
from tests.command import GENEROUS, PASSPILOT

GUIDE = Path(__file__).parents[2] / "docs" / "training.md"


def test_from_a_log_to_a_model(program: Path, tmp_path: Path) -> None:
    for folder in ("train/lua", "train/zstd", "valid/lz4", "test/sqlite"):
        (tmp_path / folder).mkdir(parents=True)
        shutil.copy(program, tmp_path / folder / "in.bc")
    stock.clang(stock.MANY_CALLS, tmp_path / "train/lua/other.bc", "-Oz")
    shutil.copy(program, tmp_path / "in.bc")
    text = GUIDE.read_text()
    for piece in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        if titled := re.match(r"# (\w+\.py)\n", piece):
            (tmp_path / titled[1]).write_text(piece)
            compile(piece, titled[1], "exec")
    shown = re.findall(r"^    ((?:passpilot|python) .*)", text, re.MULTILINE)
    assert len(shown) == 7
    assert run(tmp_path, shown).startswith(tuple("123456789"))
    names = tuple(spec.name for spec in find_point("inline").features)
    assert columns_of(onnx.load(tmp_path / "model.onnx")) == {"X": names}
    rows = csv.DictReader((tmp_path / "test.csv").read_text().splitlines())
    llvm, by_onnx, by_aot = list(rows)[:3]
    assert llvm["contender"] == "LLVM"
    for key in ("text", "decisions", "agreed"):
        assert by_onnx[key] == by_aot[key]
    assert int(by_onnx["agreed"]) > 0.8 * int(by_onnx["decisions"]) > 0


def run(folder: Path, commands: list[str]) -> str:
    """Run the commands in a shell; what they print."""
    environment = {**os.environ, "PATH": f"{PASSPILOT.parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euc", "\n".join(commands)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=GENEROUS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
