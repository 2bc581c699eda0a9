# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EvictAdvisor`: asks a runner which live range to evict, when one finds no free register.

LLVM's own advisor of its release mode computes the features and decides what is legal; the answer is one of
the columns that its mask allows. Where LLVM finds nothing that could be evicted it asks nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.passes.advisor import Advisor, OnError, Stats
from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    from passpilot.runners.spec import RunnerLike

EVICTION_LIMIT: Final = 100
"""How often one live range may be evicted, as in LLVM, unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictStats(Stats):
    """What an eviction advisor did; `not_askable` counts candidates of more than 32 registers, and others."""

    evictions: int
    """Answered by the runner with a register."""
    kept: int
    """Answered by the runner with `DO_NOT_EVICT`."""
    agreed: int
    """Answered by the runner as LLVM's default, of those of which the default was computed."""


class EvictAdvisor(Advisor):
    """Advises LLVM's greedy register allocator on evictions by a runner.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of a decision log to write; one compilation per log.
        on_error: what a failing runner does: ``fail`` ends the compilation with its error; ``default`` lets
            LLVM's own heuristic decide instead, and counts and reports it.
        timeout: seconds that each wait for another process may take.
        eviction_limit: a live range that has been evicted this often is legal no more, unless the candidate
            cannot be spilled, or LLVM's default would evict it; 0 for no limit, under which a policy may
            never end. A log replays only under the limit that it was taken with.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """

    point = "evict"
    _hint = "obs['mask'] tells which columns are legal"
    _nobody = "LLVM's own evictions"
    _unasked = (
        "the register allocator asks nobody (as at -O0 or with -regalloc=fast), or no function of the module "
        "has more live values than registers"
    )

    def __init__(
        self,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
        eviction_limit: int = EVICTION_LIMIT,
    ) -> None:
        if type(eviction_limit) is not int or not 0 <= eviction_limit < 1 << 32:
            msg = f"evict advisor: expected an eviction limit of 0 to 4294967295, got {eviction_limit!r}"
            raise UsageError(msg)
        super().__init__(runner, log=log, on_error=on_error, timeout=timeout, limit=eviction_limit)

    @property
    def stats(self) -> EvictStats:
        """The counts until now."""
        counts = self._counts()
        asked, accepted = counts["asked"], counts["accepted"]
        return EvictStats(
            decisions=counts["decisions"],
            evictions=accepted,
            kept=asked - accepted,
            agreed=counts["agreed"],
            fallbacks=counts["fallbacks"],
            not_askable=counts["not_askable"],
            seconds=self._seconds,
        )

    def _rows(self) -> list[tuple[int, str]]:
        stats = self.stats
        return [
            (stats.decisions, "decisions"),
            (stats.evictions, "evictions"),
            (stats.kept, "kept"),
            (stats.agreed, "as the default, where it was computed"),
            (stats.fallbacks, "fallbacks to the default"),
            (stats.not_askable, "decided by the default, not askable"),
        ]
