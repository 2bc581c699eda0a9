# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The committed modules match the .proto files."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_modules_are_what_the_protos_give(tmp_path: Path) -> None:
    subprocess.run([ROOT / "tools/proto.sh", tmp_path], check=True, timeout=120)
    made = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*_pb2.*"))
    assert Path("runners/remote/advisor_pb2.py") in made
    for path in made:
        assert (tmp_path / path).read_text() == (ROOT / path).read_text(), "run tools/proto.sh"
