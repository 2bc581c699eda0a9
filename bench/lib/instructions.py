# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole commands that are compared by the instructions that they execute.

On a virtual machine the processor time of one command varies by a factor of two with what the neighbours do.
There a bar some hundredths above stock cannot be checked by time. A count of the same command varies by less
than a thousandth, with Python in it by two.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

from passpilot.plugin.errors import Error
from passpilot.training.timing.commands import Commands
from passpilot.training.timing.instructions import executed_instructions

DEADLINE: Final = 30
"""Seconds for one command without valgrind, which may take sixty times as long."""


def executed(command: Sequence[str | Path], folder: Path | None = None) -> int:
    """The instructions of all processes of one run in a folder, whose output is dropped."""
    words = [os.fspath(word) for word in command]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # threads of numpy's would spin at its import
    directory = os.fspath(folder) if folder else None
    try:
        count, done = executed_instructions(Commands(), words, DEADLINE, directory, environment)
        done.check(f"valgrind: expected success of {words}", DEADLINE)
    except Error as error:
        raise SystemExit(str(error)) from error
    return count


def instructions(commands: Mapping[str, Sequence[str | Path]], folder: Path | None = None) -> dict[str, int]:
    """The same of commands by name, a run for every processor at once."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(commands, pool.map(partial(executed, folder=folder), commands.values()), strict=True))
