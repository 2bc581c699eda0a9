# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ProgramRuns`: runs several builds of one program in turns, checks what they print, and times them.

The time is processor time, on one processor. In every round all competitors run, each time in another order;
a competitor and the reference of the same round are a pair, so that a slow phase of the machine meets both.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from passpilot.plugin.errors import CompilationError
from passpilot.training.corpus.layout import ProgramRun
from passpilot.training.timing.commands import TIED, CommandResult, Commands
from passpilot.training.timing.instructions import executed_instructions
from passpilot.training.timing.paired_times import RunTime, paired_ratio


@dataclass(slots=True)
class RunOutcome:
    """What the runs of one competitor's program showed."""

    output: str = "right"
    """``right``, ``wrong``, or ``unknown``."""
    time: RunTime | None = None
    instructions: int | None = None
    """Those of all runs together."""
    errors: list[str] = field(default_factory=list)


class ProgramRuns:
    """The runs of one program. `step` is called after each round of a competitor.

    With `counts`, the executed instructions are counted in one more round.
    """

    def __init__(
        self,
        commands: Commands,
        runs: Sequence[ProgramRun],
        deadline: float,
        step: Callable[[], object],
        *,
        counts: bool = False,
    ) -> None:
        self._commands, self._runs, self._deadline, self._step = commands, runs, deadline, step
        self._counts = counts
        self._expected = [run.stdout_sha256 for run in runs]
        self._processor = max(os.sched_getaffinity(0))
        self._before = TIED if shutil.which(TIED[0]) else ()

    def measure(self, linked: Mapping[str, str], reference: str, rounds: int) -> dict[str, RunOutcome]:
        """Run the programs at these paths: once for their output, then `rounds` times for their time.

        A program that fails, hangs or prints something else is not timed. Times are compared with the
        reference's. Where a run's output is not known, it is that of the first program.
        """
        outcomes = {name: RunOutcome() for name in linked}
        for name, path in linked.items():
            self._once(path, outcomes[name])
        well = [name for name in linked if outcomes[name].output == "right"]
        times: dict[str, list[float]] = {name: [] for name in well}
        for number in range(rounds):
            turn = number % len(well) if well else 0
            for name in (*well[turn:], *well[:turn]):
                times[name].append(self._once(linked[name], outcomes[name]))
        for _ in range(rounds * (len(linked) - len(well))):
            self._step()
        for name in well if self._counts else ():
            outcomes[name].instructions = self._counted(linked[name], outcomes[name])
        for name, taken in times.items():
            is_right = outcomes[name].output == "right"
            outcomes[name].time = _time(taken, times.get(reference, [])) if is_right else None
        return outcomes

    def _once(self, path: str, outcome: RunOutcome) -> float:
        """Make all runs of a program once; their processor time."""

        def timed(run: ProgramRun) -> CommandResult:
            return self._commands.run(
                [*self._before, path, *run.arguments],
                self._deadline,
                directory=run.directory or None,
                environment=_environment(),
                processor=self._processor,
            )

        seconds = self._all_runs(timed, outcome)
        self._step()
        return seconds

    def _counted(self, path: str, outcome: RunOutcome) -> int | None:
        """The instructions of all runs of a program; None if one fails."""
        count = 0

        def counted(run: ProgramRun) -> CommandResult:
            nonlocal count
            words = [*self._before, path, *run.arguments]
            found, done = executed_instructions(
                self._commands, words, self._deadline, run.directory or None, _environment()
            )
            count += found
            return done

        self._all_runs(counted, outcome)
        return count if outcome.output == "right" else None

    def _all_runs(self, make: Callable[[ProgramRun], CommandResult], outcome: RunOutcome) -> float:
        """Make all runs and check what they print; their processor time."""
        seconds = 0.0
        for number, run in enumerate(self._runs):
            try:
                done = make(run)
            except CompilationError as error:
                _refuse(outcome, "unknown", str(error))
                continue
            what = f"run {number + 1}: expected" if len(self._runs) > 1 else "run: expected"
            if done.is_late:
                _refuse(outcome, "unknown", f"{what} an end within {self._deadline:g} s, got none")
            elif done.code:
                how = f"signal {-done.code}" if done.code < 0 else f"exit code {done.code}"
                _refuse(outcome, "wrong", f"{what} success, got {how}")
            else:
                self._expected[number] = self._expected[number] or done.stdout_sha256
                if done.stdout_sha256 != self._expected[number]:
                    got = f"{self._expected[number][:12]}, got {done.stdout_sha256[:12]}"
                    _refuse(outcome, "wrong", f"{what} the output with sha256 {got}")
            seconds += done.seconds
        return seconds


def _environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("PASSPILOT_")}


def _refuse(outcome: RunOutcome, output: str, text: str) -> None:
    outcome.output = output
    if text not in outcome.errors:
        outcome.errors.append(text)


def _time(taken: Sequence[float], reference: Sequence[float]) -> RunTime | None:
    if not taken or not reference or not (paired := paired_ratio(taken, reference)):
        return None
    return {"seconds": round(median(taken), 4), **paired}
