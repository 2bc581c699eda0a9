# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`RunCounts`: the instructions of a program's runs, for searches; an equal program is counted once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from passpilot.training.corpus.layout import ProgramRun
from passpilot.training.timing.commands import Commands
from passpilot.training.timing.paired_times import RunTime
from passpilot.training.timing.program_runs import ProgramRuns, RunOutcome

NOISE: Final = 1e-4
"""A change of less than this part of the instructions is none."""


class RunCounts:
    """Counts builds of one program, which must print what the first one does."""

    def __init__(self, commands: Commands, runs: Sequence[ProgramRun], deadline: float) -> None:
        self._runs = ProgramRuns(commands, runs, deadline, lambda: None, counts=True)
        self._known: dict[bytes, RunOutcome] = {}

    def outcome(self, path: str) -> RunOutcome:
        """What the runs of the program at a path show; no instructions if one is wrong."""
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        if digest not in self._known:
            self._known[digest] = self._runs.measure({path: path}, path, 0)[path]
        return self._known[digest]

    def ratio(self, old: str, new: str) -> RunTime | None:
        """The instructions of `new` relative to `old`; None if one is wrong."""
        before, after = self.outcome(old).instructions, self.outcome(new).instructions
        if not before or not after:
            return None
        ratio = after / before if abs(after / before - 1) >= NOISE else 1.0
        return {"ratio": ratio, "low": ratio, "high": ratio, "pairs": 1, "seconds": 0.0}
