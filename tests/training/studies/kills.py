# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kills commands at a trial of their study."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from tests.command import GENEROUS, PASSPILOT, started


def killed_at(trials: int, study: str, *words: str | Path, cwd: Path) -> None:
    """Run a command, and kill it as soon as its study has so many trials."""
    path = cwd / study
    with started(PASSPILOT, *words, cwd=cwd) as child:
        end = time.monotonic() + GENEROUS
        while child.poll() is None and not (
            path.exists() and path.read_bytes().count(b'"op_code":4') >= trials
        ):
            assert time.monotonic() < end
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.wait(GENEROUS)
