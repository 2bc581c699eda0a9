# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PriorityAdvisor`: asks a runner for the place of each live range in the queue of the register allocator.

The larger the number, the earlier the live range gets a register. A range is asked about again whenever it
is put back into the queue, after a split for instance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passpilot.passes.advisor import Advisor, OnError, Stats

if TYPE_CHECKING:
    from passpilot.runners.spec import RunnerLike


class PriorityAdvisor(Advisor):
    """Advises LLVM's greedy register allocator on the order of live ranges by a runner.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of a decision log to write; one compilation per log.
        on_error: what a failing runner does: ``fail`` ends the compilation with its error; ``default`` lets
            LLVM's own heuristic decide instead, and counts and reports it.
        timeout: seconds that each wait for another process may take.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
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
        """The counts until now."""
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
