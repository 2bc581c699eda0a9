# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The advisors of the four points of the advised register allocator: ``-regalloc=advised``.

Without an advisor, and with the runner ``default``, a point decides by itself, much as LLVM's greedy
allocator. The core offers only what is legal, so that any answers lead to correct code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passpilot.passes.advisor import Advisor, OnError, Stats

if TYPE_CHECKING:
    from passpilot.runners.spec import RunnerLike


class AllocatorAdvisor(Advisor):
    """Base of the advisors of the advised register allocator.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of the decision log to write; each compilation needs its own log.
        on_error: what happens when the runner fails: ``fail`` ends the compilation with its error; with
            ``default`` the default decides, and the fallback is counted and reported.
        timeout: the most seconds to wait for an answer of another process.

    Raises:
        RunnerError: the runner cannot be created, or does not fit the decision point.
    """

    _hint = "obs['mask'] tells which columns are legal"
    _nobody = "the advised allocator's default"
    _unasked = "-regalloc=advised is missing, or the module never needed this decision"

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
            (self._counts()["agreed"], "as the default, where it was computed"),
            (stats.fallbacks, "fallbacks to the default"),
            (stats.not_askable, "decided by the default, not askable"),
        ]


class OrderAdvisor(AllocatorAdvisor):
    """Lets a runner decide which live range the advised register allocator allocates next."""

    point = "ra-order"


class ActionAdvisor(AllocatorAdvisor):
    """Lets a runner decide whether a live range is assigned, evicts, is split, is spilled, or waits."""

    point = "ra-action"


class ColourAdvisor(AllocatorAdvisor):
    """Lets a runner decide which register a live range gets."""

    point = "ra-colour"


class SplitAdvisor(AllocatorAdvisor):
    """Lets a runner decide where a live range is split."""

    point = "ra-split"
