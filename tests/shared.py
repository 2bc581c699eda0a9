# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What several workers of pytest-xdist need is made once."""

from __future__ import annotations

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder `name` of this run, filled by `make`, which one worker calls while the others wait."""
    base = factory.getbasetemp()
    if base.name.startswith("popen-"):  # a worker's own; the folder of the run is above it
        base = base.parent
    folder, done = base / name, base / f"{name}.done"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
