# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`EvictAdvisor`: asks a runner which live range to evict when a live range finds no free register.

LLVM's release-mode advisor computes the features and decides what is legal; the answer is a column that its
mask allows. LLVM does not ask if it finds nothing to evict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.passes.advisor import Advisor, OnError, Stats
from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    from passpilot.runners.spec import RunnerLike

EVICTION_LIMIT: Final = 100
"""The default limit, LLVM's own: how often one live range may be evicted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvictStats(Stats):
    """The counts of an eviction advisor; `not_askable` includes candidates with more than 32 registers."""

    evictions: int
    """Decisions in which the runner chose a register."""
    kept: int
    """Decisions in which the runner chose `DO_NOT_EVICT`."""
    agreed: int
    """Decisions in which the runner agreed with LLVM's default, where that was computed."""


class EvictAdvisor(Advisor):
    """Lets a runner decide on evictions for LLVM's greedy register allocator.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of the decision log to write; each compilation needs its own log.
        on_error: what happens when the runner fails: ``fail`` ends the compilation with its error; with
            ``default`` LLVM's own heuristic decides, and the fallback is counted and reported.
        timeout: the most seconds to wait for an answer of another process.
        eviction_limit: a live range that has been evicted this often must not be evicted again, unless the
            candidate cannot be spilled or LLVM's default would evict it. 0 means no limit; then a policy may
            never end. A log replays only under the limit that it was recorded with.

    Raises:
        RunnerError: the runner cannot be created, or does not fit the decision point.
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
        """The counts so far."""
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
