# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PriorityAdvisor`: asks a runner for the priority of each live range in the register allocator's queue.

The larger the priority, the earlier the live range gets a register. LLVM asks again whenever it puts the live
range back into the queue, for instance after a split.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passpilot.passes.advisor import Advisor, OnError, Stats

if TYPE_CHECKING:
    from passpilot.runners.spec import RunnerLike


class PriorityAdvisor(Advisor):
    """Lets a runner decide the order of live ranges for LLVM's greedy register allocator.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of the decision log to write; each compilation needs its own log.
        on_error: what happens when the runner fails: ``fail`` ends the compilation with its error; with
            ``default`` LLVM's own heuristic decides, and the fallback is counted and reported.
        timeout: the most seconds to wait for an answer of another process.

    Raises:
        RunnerError: the runner cannot be created, or does not fit the decision point.
    """

    point = "priority"
    _hint = "return the number itself"
    _nobody = "LLVM's own order of live ranges"
    _unasked = (
        "the register allocator asks nobody (as at -O0 or with -regalloc=fast), or the module has no value "
        "to keep in a register"
    )

    def __init__(
        self,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
    ) -> None:
        super().__init__(runner, log=log, on_error=on_error, timeout=timeout, limit=0.0)

    @property
    def stats(self) -> Stats:
        """The counts so far."""
        counts = self._counts()
        return Stats(
            decisions=counts["decisions"],
            fallbacks=counts["fallbacks"],
            not_askable=counts["not_askable"],
            seconds=self._seconds,
        )

    def _rows(self) -> list[tuple[int, str]]:
        stats = self.stats
        return [
            (stats.decisions, "decisions"),
            (stats.fallbacks, "fallbacks to the default"),
            (stats.not_askable, "decided by the default, not askable"),
        ]
