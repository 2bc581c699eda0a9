# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole commands that are compared by their instructions, which valgrind's cachegrind counts.

On a virtual machine the processor time of one command varies by a factor of two with what the neighbours do.
There a bar some hundredths above stock cannot be checked by time. A count of the same command varies by less
than a thousandth, with Python in it by two.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

COUNTER: Final = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--trace-children=yes")
NO_FILE: Final = "--cachegrind-out-file=/dev/null"
DEADLINE: Final = 1800
"""Seconds for one command; valgrind takes fifteen to fifty times as long as the command."""


def executed(command: Sequence[str | Path], folder: Path | None = None) -> int:
    """The instructions of all processes of one run in a folder, whose output is dropped."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # threads of numpy's would spin at its import
    try:
        done = subprocess.run(
            [*COUNTER, NO_FILE, *command],
            capture_output=True,
            text=True,
            cwd=folder,
            env=environment,
            timeout=DEADLINE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SystemExit(f"valgrind: expected an end within {DEADLINE} s of {command}") from None
    counts = re.findall(r"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode or not counts:
        raise SystemExit(f"valgrind: exit code {done.returncode} of {command}: {done.stderr[-400:].strip()}")
    return sum(int(count.replace(",", "")) for count in counts)


def instructions(commands: Mapping[str, Sequence[str | Path]], folder: Path | None = None) -> dict[str, int]:
    """The same of commands by name, a run for every processor at once."""
    if not shutil.which(COUNTER[0]):
        raise SystemExit("valgrind: not found; run `make setup-test`, or install Debian's package valgrind")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(commands, pool.map(partial(executed, folder=folder), commands.values()), strict=True))
