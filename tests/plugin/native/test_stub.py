# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The committed type stub of the core says what the built core has."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_stub_is_what_the_core_gives(tmp_path: Path) -> None:
    fresh = tmp_path / "core.pyi"
    subprocess.run([ROOT / "tools/stub.sh", fresh], check=True, timeout=120)
    assert fresh.read_text() == (ROOT / "plugin/_core.pyi").read_text(), "run tools/stub.sh"
