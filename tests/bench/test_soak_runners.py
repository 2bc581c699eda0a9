# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sweep of runners counts decisions and growth, goes on where it ended, and fails for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = ("native", "random", "aot", "pipe", "grpc, unary", "attach")


def soak(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    files = (f"--file={folder / 'cases.jsonl'}", f"--results={folder / 'cases.json'}")
    command = [sys.executable, "-m", "bench.sweeps.runners", *arguments, *files]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT)


def test_runners_of_every_transport(tmp_path: Path) -> None:
    asked = (f"--kinds={';'.join(KINDS)}", "--points=priority", "--decisions=2000")
    done = soak(tmp_path, *asked)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = json.loads((tmp_path / "cases.json").read_text())
    assert {case["kind"] for case in cases} == set(KINDS)
    assert all(case["decisions"] >= 2000 and not case["wrong"] for case in cases)
    assert soak(tmp_path, *asked).returncode == 0
    assert len((tmp_path / "cases.jsonl").read_text().splitlines()) == len(KINDS)  # nothing is done again
    (tmp_path / "cases.jsonl").write_text(json.dumps(cases[0] | {"wrong": "grew"}) + "\n")
    assert soak(tmp_path, "--show").returncode == 1


def test_a_module_of_many_calls(tmp_path: Path) -> None:
    done = soak(tmp_path, "--kinds=decisions;attach", "--points=inline", "--decisions=1500")
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = {case["kind"] for case in json.loads((tmp_path / "cases.json").read_text())}
    assert kinds == {"decisions", "attach"}
