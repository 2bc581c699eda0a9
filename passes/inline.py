# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`InlineAdvisor`: asks a runner about each call site that LLVM's inliner could inline.

It asks about the call sites that LLVM's `MLInlineAdvisor` asks about, with the same features; those that
nobody reads are not computed. Call sites that LLVM does not ask about (in unreachable blocks, recursive ones)
get its default decision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from passpilot.passes.advisor import Advisor, OnError, Stats
from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from passpilot.plugin import _core
    from passpilot.runners.spec import RunnerLike

SIZE_BUDGET: Final = 4.0
"""The default budget: the growth factor of the module beyond which LLVM's default decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineStats(Stats):
    """The counts of an inline advisor; `not_askable`: inlined by the default in unreachable blocks."""

    accepted: int
    """Calls that the runner inlined."""
    refused: int
    """Calls that the runner refused to inline."""
    budget_hits: int
    """Calls that LLVM's default decided because the module had outgrown the size budget."""


class InlineAdvisor(Advisor):
    """Lets a runner decide for LLVM's inliner.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of the decision log to write; each compilation needs its own log.
        on_error: what happens when the runner fails: ``fail`` ends the compilation with its error; with
            ``default`` LLVM's own heuristic decides, and the fallback is counted and reported.
        timeout: the most seconds to wait for an answer of another process.
        size_budget: once the module is this many times as large as before inlining, by LLVM's running count
            of instructions, LLVM's own heuristic decides; such decisions are counted and reported. 0 means no
            limit; then a policy that inlines too much may never end.

    Raises:
        RunnerError: the runner cannot be created, or does not fit the decision point.
    """

    point = "inline"
    _hint = "return the decision itself"
    _nobody = "LLVM's own inliner"
    _unasked = (
        "the pipeline has no inliner that asks (as default<O2> and inliner-wrapper do; a bare inline "
        "does not), or the module no call that could be inlined"
    )

    def __init__(
        self,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
        size_budget: float = SIZE_BUDGET,
    ) -> None:
        if not size_budget >= 0:
            msg = f"inline advisor: expected a size budget of 0 or more, got {size_budget}"
            raise UsageError(msg)
        self._size_budget = size_budget
        super().__init__(runner, log=log, on_error=on_error, timeout=timeout, limit=size_budget)

    def _limit_of(self, limit: float) -> float:
        return limit if self.runner.budgeted else 0.0

    @property
    def stats(self) -> InlineStats:
        """The counts so far."""
        counts = self._counts()
        asked, accepted = counts["asked"], counts["accepted"]
        return InlineStats(
            decisions=counts["decisions"],
            accepted=accepted,
            refused=asked - accepted,
            fallbacks=counts["fallbacks"],
            budget_hits=counts["budget_hits"],
            not_askable=counts["not_askable"],
            seconds=self._seconds,
        )

    def _rows(self) -> list[tuple[int, str]]:
        stats = self.stats
        return [
            (stats.decisions, "decisions"),
            (stats.accepted, "accepted"),
            (stats.refused, "refused"),
            (stats.fallbacks, "fallbacks to the default"),
            (stats.budget_hits, "decided by the default, over the size budget"),
            (stats.not_askable, "inlined by the default, not askable"),
        ]

    def _complaints(self, core: _core.Advisor) -> Iterator[str]:
        yield from super()._complaints(core)
        new = self._new_counts()
        if (count := new["budget_hits"]) > 0:
            yield (
                f"inline advisor: {count} of {new['decisions']} decisions went to the default, because the "
                f"module had grown over {self._size_budget:g} times its size; --size-budget (size_budget=) "
                "sets the limit"
            )
