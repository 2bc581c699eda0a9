# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs all measurements, one after the other, and stops at the first that fails; `make bench`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from bench.lib.records import ROOT

for path in sorted(Path(__file__).parent.rglob("*.py")):
    if path != Path(__file__) and "\n@command\n" in path.read_text():
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
        print(f"== {module}", flush=True)
        subprocess.run([sys.executable, "-m", module], cwd=ROOT, check=True)
