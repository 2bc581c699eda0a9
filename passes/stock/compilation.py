# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompilationAdvisors`: the advisors of Python passes in a compiler that is not ours."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from passpilot.passes.asking import ASKED
from passpilot.plugin.errors import InputError, UsageError

if TYPE_CHECKING:
    from passpilot.passes.advisor import Advisor
    from passpilot.passes.point_advisor import PointAdvisor
    from passpilot.plugin import _core


class CompilationAdvisors:
    """The advisors of one compilation, by decision point; one thread uses them."""

    def __init__(self) -> None:
        self._advisors: dict[str, tuple[PointAdvisor, _core.Advisor]] = {}
        self._failure: BaseException | None = None

    def advise(self, advisor: PointAdvisor) -> None:
        """Let an advisor take the decisions of its point.

        Raises:
            UsageError: the point has an advisor.
            Error: the advisor cannot start.
        """
        if advisor.point in self._advisors:
            advisor.close()
            raise UsageError(f"-passpilot-advise: expected one advisor of the point {advisor.point}, got two")
        core = advisor.start()
        if core is None:
            advisor.close()
            return
        core.begin()
        self._advisors[advisor.point] = (advisor, core)

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Let the advisors take the decisions of passes in the block."""
        token = ASKED.set({point: advisor for point, (advisor, _) in self._advisors.items()})
        try:
            yield
        finally:
            ASKED.reset(token)

    def raise_failure(self) -> None:
        """Raise the failure of an advisor, if one has failed; again, if it has been raised before."""
        if self._failure is None:
            for advisor, core in self._advisors.values():
                if core.failure is not None:
                    self._failure = _finished(advisor, None)
                    break
        if self._failure is not None:
            raise self._failure

    def end(self, *, good: bool, stats: bool) -> None:
        """End the compilation: close the advisors, and raise their errors.

        Args:
            good: whether the compilation has succeeded.
            stats: whether to print the counts.
        """
        errors = []
        for advisor, core in self._advisors.values():
            core.end()
            if stats and good:
                print(advisor.report(), file=sys.stderr)
            if good or core.failure is None:
                failed = None if good else InputError("the compiler has failed")
                errors.append(_finished(advisor, failed))
            advisor.close()
        self._advisors.clear()
        for error in filter(None, errors):
            raise error


def _finished(advisor: Advisor, error: BaseException | None) -> BaseException | None:
    """Finish an advisor; returns the error that it raises, if any."""
    try:
        advisor.finish(error)
    except BaseException as raised:  # noqa: BLE001  (raised again by the caller)
        return raised
    return None
