# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`replay:LOG`: repeats the advice of a decision log, and checks that the questions are the same.

It compares every logged tensor that the decision point offers, bit by bit, with the live one: a log replays
only on the compilation that it was taken from. The log is streamed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from passpilot.features.log.reader import LoggedDecision
from passpilot.features.point import Point
from passpilot.plugin.errors import AdviceError, LogError, PasspilotWarning, RunnerSpecError
from passpilot.runners.base import Frame, Host, Runner, Tensor

_COMPARE: Final = (
    "compare the input, the pipeline, and the versions of the compiler and of passpilot with those of the log"
)


class ReplayRunner(Runner):
    """Answers from a log, one logged decision per question.

    Raises:
        LogError: the log cannot be read, or lacks this point's advice.
    """

    budgeted = False

    def __init__(self, path: str, point: Point) -> None:
        from passpilot.features.log.reader import read_log

        self.path = path
        log = read_log(path)
        advice = next((spec for spec in log.features if spec.name == point.advice.name), None)
        if str(advice) != str(point.advice):
            wanted = f"the advice {point.advice.name} as {point.advice}"
            got = (
                f"it as {advice}"
                if advice
                else f"one of another decision point, with {log.features[-1].name}"
            )
            raise LogError(f"replay {path}: expected a log with {wanted}, got {got}")
        offered = {spec.name for spec in point.features}
        self.inputs = tuple(spec for spec in log.features if spec.name in offered)
        self.output = point.advice
        self._accept = point.domain.accept
        self._decisions = iter(log)
        self._asked = 0
        self._unfinished = False  # bound, and no error so far

    def bind(self, tensors: Mapping[str, Tensor], frame: Frame, host: Host | None = None) -> None:
        super().bind(tensors, frame, host)
        self._live = [(spec.name, tensors[spec.name]) for spec in self.inputs]
        self._unfinished = True

    def evaluate(self) -> int | float:
        """The logged advice.

        Raises:
            AdviceError: the live decision differs from the logged one, or the log has ended.
            LogError: the log cannot be read further.
        """
        unfinished, self._unfinished = self._unfinished, False
        logged = next(self._decisions, None)
        if logged is None:
            raise AdviceError(
                f"replay {self.path}: expected at most {self._asked} decisions, as logged, got one more; "
                f"{_COMPARE}"
            )
        self._asked += 1
        tensors = logged.tensors
        for name, live in self._live:
            recorded = tensors[name]
            if recorded.tobytes() != live.tobytes():
                where = f"replay {self.path} at decision {self._asked - 1}{_place(logged)}"
                raise AdviceError(f"{where}: expected {_difference(name, recorded, live)}; {_COMPARE}")
        self._unfinished = unfinished
        return self._accept(tensors[self.output.name], tensors)

    def close(self) -> None:
        """End the replay; warn of logged decisions that were never asked for, unless an error ended it."""
        decisions, self._decisions = self._decisions, iter(())
        unasked = next(decisions, None) if self._unfinished else None
        self._unfinished = False
        if close := getattr(decisions, "close", None):
            close()
        if unasked is not None:
            text = (
                f"replay {self.path}: the log has more decisions than the {self._asked} that were asked for"
            )
            warnings.warn(text, PasspilotWarning, stacklevel=2)


def _place(logged: LoggedDecision) -> str:
    if logged.register:
        return f", function {logged.context}, {logged.register}"
    location = f" ({logged.location})" if logged.location else ""
    if logged.caller or logged.callee:
        return f", {logged.caller} -> {logged.callee}{location}"
    return f", function {logged.context}{location}" if logged.context else location


def _difference(name: str, recorded: NDArray[np.generic], live: Tensor) -> str:
    """The logged and the live value of a tensor, or of its first element that differs."""
    old, new = recorded.reshape(-1), live.reshape(-1)
    if old.size == 1:
        return f"{name} = {recorded.tolist()}, got {live.tolist()}"
    first = next(i for i in range(old.size) if old[i].tobytes() != new[i].tobytes())
    return f"{name}[{first}] = {old[first].item()}, got {new[first].item()}"


def replay_runner(target: str, options: dict[str, str], point: Point, timeout: float) -> ReplayRunner:  # noqa: ARG001
    if not target:
        msg = "runner replay: expected replay:LOG, got no log; name the file of a decision log"
        raise RunnerSpecError(msg)
    return ReplayRunner(target, point)
