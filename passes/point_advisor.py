# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointAdvisor`: advises compilations at a decision point of a pass in Python."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NoReturn

from passpilot.passes.advisor import Advisor, Stats
from passpilot.passes.points import search_point
from passpilot.passes.site import context_of, location_of
from passpilot.plugin.errors import InputError
from passpilot.runners.base import own_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.features.point import Point
    from passpilot.passes.advisor import OnError
    from passpilot.passes.decision_point import Answer, DecisionPoint, Values
    from passpilot.plugin import _core
    from passpilot.runners.spec import RunnerLike


class PointAdvisor(Advisor):
    """Advises compilations at a decision point of a pass in Python; `DecisionPoint.advisor` makes it.

    Args:
        point: the decision point's name.
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of a decision log to write; one compilation per log.
        on_error: what a failing runner does: ``fail`` ends the compilation with its error; ``default`` lets
            the point's default decide instead, and counts and reports it.
        timeout: seconds that each wait for another process may take.

    Raises:
        RunnerError: the runner cannot be made, or does not fit the decision point.
    """

    _hint = "return the decision itself"
    _nobody = "the pass's default"
    _unasked = "the pipeline has no pass that asks here, or it found nothing to ask about"

    def __init__(
        self,
        point: str,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
    ) -> None:
        asked = search_point(point)
        self.point = asked.name
        self._asker: object = None
        self._asked = _question_of(asked)
        super().__init__(runner, log=log, on_error=on_error, timeout=timeout, limit=0.0)

    @property
    def reads(self) -> bool:
        """Whether anybody looks at the values: the runner, custom features, or the log."""
        return bool(self.runner.inputs) or self._log is not None

    def ask(self, point: DecisionPoint[Answer], values: Values, site: object) -> object:
        """The advice on one decision; used by `DecisionPoint.ask`.

        Raises:
            FeatureError: a value does not fit.
            InputError: this is not the thread that compiles, or not the point that the advisor was made for.
            PolicyError: this decision is asked for while another one is.
            Error: the advisor has failed.
        """
        core = self._bound(point)
        advice = core.ask(values, site, context_of(site), point.decide)
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
        """The core, which stores values as the point that asks has them.

        Raises:
            InputError: the point is another than the one that it was made for.
        """
        core = self._core
        assert core is not None, "start() gave it"
        if self._asker is not point:
            if _question_of(point.point()) != self._asked:
                got = f"one of its name at {point.origin}"
                told = f"expected the decision point that it was made for, got {got}; make a new advisor"
                raise InputError(f"{self._who}: {told}")
            buffers = core.views(True)
            stores = [
                (name, partial(each.store, out=buffers[name]), point.absent.get(name))
                for name, each in ((each.spec.name, each) for each in point.values)
            ]
            core.set_pass(stores, point.checked, location_of)
            self._asker = point
        return core

    def _failed(self, core: _core.Advisor) -> NoReturn:
        """Raise what left a decision open."""
        assert core.failure is not None, "only a failure does"
        raise self._error_of(core.failure)

    @property
    def stats(self) -> Stats:
        """The counts until now."""
        counts = self._counts()
        return Stats(
            decisions=counts["decisions"],
            fallbacks=counts["fallbacks"],
            not_askable=0,
            seconds=self._seconds,
        )

    def _rows(self) -> list[tuple[int, str]]:
        stats = self.stats
        return [(stats.decisions, "decisions"), (stats.fallbacks, "fallbacks to the default")]

    def _check_table(self, point: Point) -> None:
        """Nothing of LLVM's is in it."""


def _question_of(point: Point) -> object:
    """What an advisor has to know of a point beforehand."""
    return own_features(point), point.advice, point.domain
