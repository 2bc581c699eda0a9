# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`InlineAdvisor`: asks a runner about each call site that LLVM's inliner could inline.

LLVM's own `MLInlineAdvisor` computes the features, decides what is legal and keeps its books. Call sites that
it would refuse without asking (in unreachable blocks, recursive ones) get LLVM's default decision.
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
"""How many times its size a module may reach before the default decides, unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InlineStats(Stats):
    """What an inline advisor did; `not_askable` counts what the default inlines in unreachable blocks."""

    accepted: int
    """Answered yes by the runner."""
    refused: int
    """Answered no by the runner."""
    budget_hits: int
    """Decided by LLVM's default because the module had grown over the size budget."""


class InlineAdvisor(Advisor):
    """Advises LLVM's inliner by a runner.

    Args:
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of a decision log to write; one compilation per log.
        on_error: what a failing runner does: ``fail`` ends the compilation with its error; ``default`` lets
            LLVM's own heuristic decide instead, and counts and reports it.
        timeout: seconds that each wait for another process may take.
        size_budget: once inlining has made the module this many times as large, by LLVM's running count of
            instructions, LLVM's own heuristic decides the rest, which is counted and reported; 0 for no
            limit, under which a policy that says yes too often may never end.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
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
        """The counts until now."""
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
