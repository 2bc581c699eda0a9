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
import pytest

from passpilot.features.columns import columns_of
from passpilot.features.point import find_point
from tests import stock
from tests.command import GENEROUS, PASSPILOT

GUIDE = Path(__file__).parents[2] / "docs" / "training.md"


@pytest.mark.soak
def test_from_decisions_to_a_policy(program: Path, tmp_path: Path) -> None:
    for name in ("lua", "zstd", "lz4", "sqlite"):
        (tmp_path / "modules" / name).mkdir(parents=True)
        shutil.copy(program, tmp_path / "modules" / name / "in.bc")
    stock.clang(stock.MANY_CALLS, tmp_path / "modules/lua/other.bc", "-Oz")
    shutil.copy(program, tmp_path / "in.bc")
    text = GUIDE.read_text()
    for language, piece in re.findall(r"```(python|toml)\n(.*?)```", text, re.DOTALL):
        if titled := re.match(r"# (\w+\.(?:py|toml))\n", piece):
            (tmp_path / titled[1]).write_text(piece)
            if language == "python":
                compile(piece, titled[1], "exec")
    shown = re.findall(r"^    ((?:passpilot|python) .*)", text, re.MULTILINE)
    # tests/training/tuning searches programs, the soak has agents (PyTorch), and no cluster is running
    skipped = "corpus| ppo | evict.toml| worth.toml|--engine=ray"
    shown = [line for line in shown if not re.search(skipped, line)]
    assert len(shown) == 10
    said = run(tmp_path, shown)
    assert re.search(r"^train +2 programs, 3 modules, \d+ decisions", said, re.MULTILINE)
    assert re.search(r"^test .* as labelled", said, re.MULTILINE)
    names = tuple(spec.name for spec in find_point("inline").features)
    assert columns_of(onnx.load(tmp_path / "model" / "model.onnx")) == {
        "features": names[:38]
    }  # without LLVM's own decision
    run(tmp_path, ["python patient.py"])
    assert (tmp_path / "patient" / "model.onnx").exists()
    assert columns_of(onnx.load(tmp_path / "own.onnx")) == {"X": names}
    rows = csv.DictReader((tmp_path / "test.csv").read_text().splitlines())
    llvm, by_onnx, by_aot = list(rows)[:3]
    assert llvm["contender"] == "LLVM"
    for key in ("text", "decisions", "agreed"):
        assert by_onnx[key] == by_aot[key]
    assert int(by_onnx["agreed"]) > 0.6 * int(by_onnx["decisions"]) > 0


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
