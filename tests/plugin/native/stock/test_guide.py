# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of the guide to stock tools run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

from tests import stock
from tests.command import GENEROUS, PASSPILOT
from tests.corpus.build import bindir

ROOT: Final = Path(__file__).parents[4]
GUIDE: Final = ROOT / "docs" / "stock-plugin.md"
TOOLS: Final = re.compile(r"^    ((?:PASSPILOT_\w+=\S+ )?(?:opt|llc|clang)-22 .*)", re.MULTILINE)


def test_the_guide(tmp_path: Path) -> None:
    stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")
    (tmp_path / "policy.py").write_text("def decide(obs):\n    return obs['callee_users'] > 1\n")
    (leaves,) = re.findall(r"```python\n(# leaves\.py\n.*?)```", GUIDE.read_text(), re.DOTALL)
    (tmp_path / "leaves.py").write_text(leaves)
    commands = TOOLS.findall(GUIDE.read_text())
    assert len(commands) == 8
    path = os.pathsep.join([str(PASSPILOT.parent), str(bindir()), os.environ["PATH"]])
    for command in commands:
        done = subprocess.run(
            ["bash", "-ec", command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=GENEROUS,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr)
        if command.startswith("PASSPILOT_INLINE=replay"):
            assert (tmp_path / "again.bc").read_bytes() == (tmp_path / "out.bc").read_bytes()
