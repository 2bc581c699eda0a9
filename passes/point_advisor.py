# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointAdvisor`: lets a runner decide at a decision point of a Python pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from passpilot.passes.advisor import Advisor, OnError
from passpilot.passes.point_search import search_point
from passpilot.passes.site import context_of, describe_site
from passpilot.plugin.errors import InputError
from passpilot.runners.base import own_features

if TYPE_CHECKING:
    from passpilot.features.point import Point
    from passpilot.passes.decision_point import Answer, DecisionPoint, Values
    from passpilot.plugin import _core
    from passpilot.runners.spec import RunnerLike


class PointAdvisor(Advisor):
    """Lets a runner decide at a decision point of a Python pass; created by `DecisionPoint.advisor`.

    Args:
        point: the decision point's name.
        runner: as in `passpilot.advisor`.
        log: as in `passpilot.advisor`.
        on_error: as in `passpilot.advisor`.
        timeout: as in `passpilot.advisor`.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """

    def __init__(
        self,
        point: str,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
    ) -> None:
        found = search_point(point)
        self.point = found.name
        self._asker: object = None
        self._given: list[object] = [None]
        """The site of a question about a call of MLIR that comes from another process."""
        self._question = _question_of(found)
        super().__init__(runner, log=log, on_error=on_error, timeout=timeout)

    def _site_reader(self) -> Callable[[_core.Advisor], object]:
        if self.point != "mlir-inline":
            return super()._site_reader()
        from passpilot.features.mlir.inline import CallSite

        given = self._given
        return lambda core: given[0] or CallSite(core)

    @property
    def session(self) -> int:
        """The address of the core's session, for a pass in C++ that asks."""
        return self._core.session if self._core is not None else 0

    def raise_failure(self) -> None:
        """Raise what has failed, if anything has."""
        if self._core is not None and self._core.failure is not None:
            self._failed(self._core)

    def ask(self, point: DecisionPoint[Answer], values: Values, site: object) -> object:
        """The advice on one decision; used by `DecisionPoint.ask`.

        Raises:
            FeatureError: a value does not fit its feature.
            InputError: called outside the compiling thread, or for a point other than the advisor's.
            PolicyError: another decision of this advisor is not finished yet.
            Error: the advisor has failed.
        """
        core = self._bound(point)
        self._given[0] = site
        try:
            advice = core.ask(values, site, context_of(site), point.decide)
        finally:
            self._given[0] = None
        return self._failed(core) if advice is None else advice

    def ask_all(
        self, point: DecisionPoint[Answer], rows: list[Values], sites: list[object]
    ) -> Sequence[object]:
        """The advice on several decisions; used by `DecisionPoint.ask_all`.

        Raises:
            Error: as `ask`.
        """
        core = self._bound(point)
        advice = core.ask_all(rows, sites, [context_of(site) for site in sites], point.decide)
        return self._failed(core) if advice is None else advice

    def _bound(self, point: DecisionPoint[Answer]) -> _core.Advisor:
        """The core, set up to store the values of this point."""
        core = self._core
        assert core is not None, "start() gave it"
        if self._asker is not point:
            if _question_of(point.point()) != self._question:
                raise InputError(
                    f"{self._who}: the decision point at {point.origin} differs from the one of this name "
                    "that the advisor was made for; make a new advisor"
                )
            buffers = core.views(True)
            stores = [
                (name, partial(value.store, out=buffers[name]), point.absent.get(name))
                for name, value in ((value.spec.name, value) for value in point.values)
            ]
            core.set_pass(stores, point.checked, describe_site)
            self._asker = point
        return core

    def _failed(self, core: _core.Advisor) -> NoReturn:
        """Raise the failure that left a decision open."""
        assert core.failure is not None, "only a failure does"
        raise self._error_of(core.failure)


def _question_of(point: Point) -> object:
    """The parts of a point that an advisor depends on."""
    return own_features(point), point.advice, point.domain
