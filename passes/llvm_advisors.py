# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The advisor classes of LLVM's own decision points; `passpilot.advisor` finds them by the point's name."""

from __future__ import annotations

from passpilot.passes.advisor import Advisor, OnError
from passpilot.plugin.errors import UsageError
from passpilot.runners.spec import RunnerLike


class InlineAdvisor(Advisor):
    """Lets a runner decide about each call site that LLVM's inliner could inline.

    It asks about the call sites that LLVM's `MLInlineAdvisor` asks about, with the same features; those that
    nobody reads are not computed. Call sites that LLVM does not ask about (in unreachable blocks, recursive
    ones) get its default decision.

    Args:
        runner: as in `passpilot.advisor`.
        log: as in `passpilot.advisor`.
        on_error: as in `passpilot.advisor`.
        timeout: as in `passpilot.advisor`.
        size_budget: once the module is this many times as large as before inlining, by LLVM's running count
            of instructions, LLVM's own heuristic decides; such decisions are counted and reported. 0 means no
            limit; then a policy that inlines too much may never end.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """

    point = "inline"

    def __init__(
        self,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
        size_budget: float = 4.0,
    ) -> None:
        if not size_budget >= 0:
            raise UsageError(f"inline advisor: expected a size budget of 0 or more, got {size_budget}")
        self._limit = size_budget
        super().__init__(runner, log=log, on_error=on_error, timeout=timeout)


class EvictAdvisor(Advisor):
    """Lets a runner decide which live range to evict when a live range finds no free register.

    LLVM's release-mode advisor computes the features and decides what is legal; the answer is a column that
    its mask allows. LLVM does not ask if it finds nothing to evict, or has more than 32 candidates.

    Args:
        runner: as in `passpilot.advisor`.
        log: as in `passpilot.advisor`.
        on_error: as in `passpilot.advisor`.
        timeout: as in `passpilot.advisor`.
        eviction_limit: a live range that has been evicted this often must not be evicted again, unless the
            candidate cannot be spilled or LLVM's default would evict it. 0 means no limit; then a policy may
            never end. A log replays only under the limit that it was recorded with.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """

    point = "evict"

    def __init__(
        self,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
        eviction_limit: int = 100,
    ) -> None:
        if type(eviction_limit) is not int or not 0 <= eviction_limit < 1 << 32:
            msg = f"evict advisor: expected an eviction limit of 0 to 4294967295, got {eviction_limit!r}"
            raise UsageError(msg)
        self._limit = eviction_limit
        super().__init__(runner, log=log, on_error=on_error, timeout=timeout)


class PriorityAdvisor(Advisor):
    """Lets a runner decide the priority of each live range in the queue of LLVM's greedy register allocator.

    The larger the priority, the earlier the live range gets a register. LLVM asks again whenever it puts the
    live range back into the queue, for instance after a split.
    """

    point = "priority"


class OrderAdvisor(Advisor):
    """Lets a runner decide which live range the advised register allocator allocates next.

    This allocator, ``-regalloc=advised``, asks at four points. It offers only what is legal, so that any
    answers lead to correct code, and decides by itself where it has no advisor.
    """

    point = "ra-order"


class ActionAdvisor(Advisor):
    """Lets a runner decide whether a live range is assigned, evicts, is split, is spilled, or waits."""

    point = "ra-action"


class ColourAdvisor(Advisor):
    """Lets a runner decide which register a live range gets."""

    point = "ra-colour"


class SplitAdvisor(Advisor):
    """Lets a runner decide where a live range is split."""

    point = "ra-split"


class ScheduleAdvisor(Advisor):
    """Lets a runner decide which instruction the machine scheduler places next, before register allocation.

    It asks about the instructions that are ready at the end of the region that the target's scheduler has
    chosen, if there are several. All answers are legal: they keep every dependence.
    """

    point = "schedule"
