# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`PointAdvisor`: lets a runner decide at a decision point of a Python pass."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NoReturn

from passpilot.features.catalogue import EMIT_PASSES
from passpilot.passes.advisor import Advisor, Stats
from passpilot.passes.points import search_point
from passpilot.passes.python.pipeline import bind, raise_failure
from passpilot.passes.site import context_of, describe_site
from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.runners.base import own_features

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.features.point import Point
    from passpilot.passes.advisor import OnError
    from passpilot.passes.decision_point import Answer, DecisionPoint, Values
    from passpilot.runners.spec import RunnerLike


class PointAdvisor(Advisor):
    """Lets a runner decide at a decision point of a Python pass; created by `DecisionPoint.advisor`.

    Args:
        point: the decision point's name.
        runner: a Python policy, a runner spec such as ``onnx:model.onnx``, or a `Runner`.
        log: path of the decision log to write; each compilation needs its own log.
        on_error: what happens when the runner fails: ``fail`` ends the compilation with its error; with
            ``default`` the point's default decides, and the fallback is counted and reported.
        timeout: the most seconds to wait for an answer of another process.

    Raises:
        RunnerError: the runner cannot be created, or does not fit the decision point.
    """

    _batched = True
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
    def emits(self) -> bool:
        """Whether its point is asked when code generation begins, too."""
        return self.point in EMIT_PASSES

    def prepare(self, core: _core.Module, options: _core.EmitOptions) -> None:
        """Run the pass that asks, at the beginning of code generation; used by `emit`.

        Raises:
            Error: the pass has failed.
        """
        assert self._core is not None, "start() gave it"
        passes = bind(EMIT_PASSES[self.point], {})
        wanted = _core.PipelineOptions()
        wanted.cpu, wanted.features, wanted.verify = options.cpu, options.features, options.verify
        core.optimize(EMIT_PASSES[self.point], [self._core], passes, wanted)
        options.outlines = options.outlines or self.point == "advised-outliner"
        if passes is not None and self._core.failure is None:
            raise_failure(passes)

    @property
    def reads(self) -> bool:
        """Whether the runner or the log reads the values."""
        return bool(self.runner.inputs) or self._log is not None

    def ask(self, point: DecisionPoint[Answer], values: Values, site: object) -> object:
        """The advice on one decision; used by `DecisionPoint.ask`.

        Raises:
            FeatureError: a value does not fit its feature.
            InputError: called outside the compiling thread, or for a point other than the advisor's.
            PolicyError: another decision of this advisor is not finished yet.
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
        """The core, set up to store the values of this point.

        Raises:
            InputError: the advisor was created for another point.
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

    @property
    def stats(self) -> Stats:
        """The counts so far."""
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
        """Checks nothing: the table is not LLVM's."""


def _question_of(point: Point) -> object:
    """The parts of a point that an advisor depends on."""
    return own_features(point), point.advice, point.domain
