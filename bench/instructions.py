# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole commands that are compared by their instructions, which valgrind's cachegrind counts.

On a virtual machine the processor time of one command varies by a factor of two with what the neighbours do.
There a bar some hundredths above stock cannot be checked by time. A count varies by less than a thousandth.
"""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

COUNTER: Final = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes")
NO_FILE: Final = "--cachegrind-out-file=/dev/null"
TARGET: Final = "x86-64-v3"
"""The processor that valgrind has, for code compiled ahead of time."""


def executed(command: Sequence[str | Path], folder: Path | None = None) -> int:
    """The instructions of all processes of one run in a folder, whose output is dropped."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # threads of numpy's would spin at its import
    counted = [*COUNTER, NO_FILE, *command]
    done = subprocess.run(counted, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    counts = re.findall(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not counts:
        raise SystemExit(f"{command}: exit code {done.returncode} under valgrind: {done.stderr[-400:]}")
    return sum(int(count.replace(",", "")) for count in counts)


def instructions(commands: Mapping[str, Sequence[str | Path]], folder: Path | None = None) -> dict[str, int]:
    """The same of commands by name, a run for every processor at once."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(commands, pool.map(partial(executed, folder=folder), commands.values()), strict=True))
