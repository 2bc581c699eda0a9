# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`DecisionPoint`: a question of a pass in Python, which any runner can answer.

    FACTOR = passpilot.DecisionPoint(
        "my-unroll",
        features=[TensorSpec("trip_count", "int64", (1,)), TensorSpec("size", "int64", (1,))],
        advice=TensorSpec("factor", "int64", (1,)),
        domain=passpilot.Choice(4),
        default=lambda values: 0,
    )

    factor = 1 << FACTOR.ask({"trip_count": loop.trip_count or 0, "size": 12}, loop)
    factors = FACTOR.ask_all(rows, loops)

The core asks the runner, checks the advice, writes the log and keeps to the error policy as at LLVM's own
points. Where nobody advises the compilation at this point, the default decides.
"""

from __future__ import annotations

import sys
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Generic, NoReturn, TypeVar, cast

from passpilot.features.custom import CustomFeature
from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.point import POINTS, Feature, Point, Site
from passpilot.features.spec import TensorSpec, by_name
from passpilot.features.table import PointTable
from passpilot.passes.advisor import Advisor, Stats
from passpilot.passes.points import search_point
from passpilot.passes.python.names import NAME
from passpilot.plugin._core import BasicBlock, Function, Instruction, Loop
from passpilot.plugin.asking import ASKED
from passpilot.plugin.errors import (
    AdviceError,
    FeatureError,
    InputError,
    RegistrationError,
    restated,
)
from passpilot.plugin.mlir.place import operation_of, place_of, symbol_around
from passpilot.plugin.origin import definition_origin
from passpilot.runners.base import own_features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from passpilot.features.domain import Domain, Tensors
    from passpilot.passes.advisor import OnError
    from passpilot.plugin import _core
    from passpilot.runners.spec import RunnerLike

    Values = Mapping[str, object]

Answer = TypeVar("Answer", bound=float)  # bool, int or float

_LARGEST: Final = sys.float_info.max


class DecisionPoint(Generic[Answer]):
    """A question that a pass asks by `ask`: what it tells, what it takes for an answer, and who else decides.

    Args:
        name: what ``--advise NAME=RUNNER`` calls it, in kebab-case.
        features: what is told, a `TensorSpec` or, with its meaning, a `Feature` each.
        advice: the answer: ``int64[1]`` for a flag or a choice, ``float64[1]`` for a number.
        default: decides by the values where no runner does.
        domain: the answers that there are: `Flag`, `Choice` or `Number`. Without it a float64 is any finite
            number, and an int64 a choice where a feature is called ``mask``, else a flag. A choice has a mask
            among its features; where `ask` leaves it out, every column is legal.

    Raises:
        RegistrationError: these do not fit each other, or the name is taken.
    """

    def __init__(
        self,
        name: str,
        *,
        features: Sequence[TensorSpec | Feature],
        advice: TensorSpec,
        default: Callable[[Values], Answer],
        domain: Domain | None = None,
    ) -> None:
        origin = definition_origin("passpilot.passes.shipped.phases")
        try:
            rows = [_row(each) for each in features]
            domain = _domain(advice, domain, [row.spec for row in rows])
            table = PointTable(name, _rows(name, rows, domain), advice, domain)
            if not callable(default):
                raise TypeError(f"expected a function of the values as default, got {default!r}")
            by_name([*(row.spec for row in table.rows), table.default, advice])
        except (FeatureError, TypeError) as error:
            raise RegistrationError(f"decision point {name!r} at {origin}: {error}") from None
        self._take(table, default, origin)
        POINTS.add(name, self)

    @classmethod
    def of(cls, table: PointTable, default: Callable[[Values], Answer]) -> DecisionPoint[Answer]:
        """The point of the catalogue that has this table, which needs no declaration."""
        made = cls.__new__(cls)
        made._take(table, default, definition_origin("passpilot.passes.shipped.phases"))
        return made

    def _take(self, table: PointTable, default: Callable[[Values], Answer], origin: str) -> None:
        self.name, self.advice, self.origin, self.default = table.name, table.advice, origin, default
        self._who = f"decision point {self.name!r} at {origin}"
        self._table, self._domain = table, table.domain
        self.values = tuple(
            CustomFeature(row.spec, itemgetter(row.spec.name), row.doc, origin) for row in table.rows
        )
        """How each of the features is checked and stored."""
        self._names = frozenset(row.spec.name for row in table.rows)
        self.absent = _whole_mask(table.domain, table.rows)
        """What is taken for values that are left out."""

    def __repr__(self) -> str:
        return f"<DecisionPoint {self.name!r} at {self.origin}>"

    def table(self) -> tuple[Feature, ...]:
        """What it offers: its features, then the default decision, then the custom features of now."""
        return self._table.table()

    def point(self) -> Point:
        """What runners know of it."""
        return self._table.point()

    def ask(self, values: Values, site: object = None) -> Answer:
        """The advice on one decision, of those who advise this compilation, or the default's.

        `site` is what the decision is about: a function, block, instruction or loop, an operation of MLIR's,
        or a function's name. It is what a policy in this process sees as ``obs.site``; its function is the
        context of the decision.

        Raises:
            FeatureError: the values are not those of the features.
            Error: the advisor's failure, which ends the compilation.
        """
        advisor = ASKED.get().get(self.name)
        if isinstance(advisor, PointAdvisor):
            return cast("Answer", advisor.ask(self, values, site))
        return self.decide(values)

    def ask_all(self, rows: Iterable[Values], sites: Iterable[object] | None = None) -> list[Answer]:
        """The advice on several decisions, none of which may depend on the advice on another.

        Answers, log and errors are those of `ask` for one row after the other, but all rows are checked
        first, and a runner that answers several questions faster together is asked about them at once.

        Raises:
            FeatureError: as `ask`, or there is not one site for each row.
            Error: as `ask`.
        """
        all_values = list(rows)
        places: list[object] = [None] * len(all_values) if sites is None else list(sites)
        if len(places) != len(all_values):
            got = f"{len(places)} for {len(all_values)}"
            raise FeatureError(f"{self._who}: expected a site for each row of values, got {got}")
        advisor = ASKED.get().get(self.name)
        if isinstance(advisor, PointAdvisor):
            return cast("list[Answer]", advisor.ask_all(self, all_values, places))
        return [self.decide(values) for values in all_values]

    def decide(self, values: Values) -> Answer:
        """What the default decides.

        Raises:
            FeatureError: the values are not those of the features.
            AdviceError: it is not among the answers that there are.
        """
        values = self.checked(values)
        answer = self.default(values)
        try:
            plain = self._domain.accept(answer, self._mask(values))
        except AdviceError as error:
            raise restated(error, f"{self._who}: default: {error}") from None
        return cast("Answer", bool(plain) if isinstance(self._domain, Flag) else plain)

    def advisor(
        self,
        runner: RunnerLike,
        *,
        log: str | None = None,
        on_error: OnError = "fail",
        timeout: float = 10.0,
    ) -> PointAdvisor:
        """Who advises compilations at this point, by a runner; see `PointAdvisor`.

        Raises:
            RunnerError: the runner cannot be made, or does not fit the decision point.
        """
        return PointAdvisor(self.name, runner, log=log, on_error=on_error, timeout=timeout)

    def unregister(self) -> None:
        """Free the name; for notebooks and tests.

        Raises:
            RegistrationError: it is free.
        """
        POINTS.unregister(self.name)

    def checked(self, values: Values) -> Values:
        """The values by the names of the features, with a mask that allows everything where it is left out.

        Raises:
            FeatureError: there are more of them, or fewer.
        """
        if values.keys() == self._names:
            return values
        whole = {**self.absent, **values}
        if whole.keys() == self._names:
            return whole
        expected, got = ", ".join(sorted(self._names)), ", ".join(sorted(map(str, values))) or "none"
        raise FeatureError(f"{self._who}: expected values of {expected}, got {got}")

    def _mask(self, values: Values) -> Tensors | None:
        if not isinstance(self._domain, Choice):
            return None
        import numpy as np

        return {self._domain.mask: np.asarray(values[self._domain.mask])}


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
        advice = core.ask(values, site, _context(site), point.decide)
        return self._failed(core) if advice is None else advice

    def ask_all(
        self, point: DecisionPoint[Answer], rows: list[Values], sites: list[object]
    ) -> Sequence[object]:
        """The advice on several decisions; used by `DecisionPoint.ask_all`.

        Raises:
            Error: as `ask`.
        """
        core = self._bound(point)
        advice = core.ask_all(rows, sites, [_context(site) for site in sites], point.decide)
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
            core.set_pass(stores, point.checked, _location)
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


def _context(site: object) -> str:
    """The name of the function that a decision is about; empty if it is about a whole module."""
    if isinstance(site, str):
        return site
    if isinstance(site, Site):
        return site.context
    if isinstance(site, Loop):
        site = site.header
    if isinstance(site, (BasicBlock, Instruction)):
        site = site.function
    if operation := operation_of(site):
        return symbol_around(operation)
    return site.name if isinstance(site, Function) else ""


def _location(site: object) -> tuple[str, int, int] | None:
    """File, line and column of what a decision is about, as far as debug information tells."""
    if isinstance(site, Site):
        return site.place
    if isinstance(site, Loop):
        site = site.header
    if isinstance(site, BasicBlock):
        site = site.terminator
    if operation := operation_of(site):
        file, line, column = place_of(operation.location)
        return (file, line, column) if line else None
    place = site.debug_location if isinstance(site, Instruction) else None
    return (place.file, place.line, place.column) if place else None


def _row(feature: TensorSpec | Feature) -> Feature:
    """A feature as a row of a table.

    Raises:
        TypeError: it is none.
    """
    if isinstance(feature, Feature):
        return feature
    if not isinstance(feature, TensorSpec):
        raise TypeError(f"expected a TensorSpec or a Feature for each feature, got {feature!r}")
    return Feature(feature, "")


def _rows(name: object, rows: Sequence[Feature], domain: Domain) -> tuple[Feature, ...]:
    """The rows of the table, with the mask of a choice.

    Raises:
        TypeError: a name is not one, or the mask does not fit.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise TypeError(f"expected a name in kebab-case, such as 'unroll-factor', got {name!r}")
    for row in rows:
        if not (row.spec.name.isascii() and row.spec.name.isidentifier()):
            raise TypeError(f"expected ASCII identifiers as names of features, got {row.spec.name!r}")
    if not isinstance(domain, Choice):
        return tuple(rows)
    wanted = TensorSpec(domain.mask, "int64", (1, domain.count))
    mask = next((row.spec for row in rows if row.spec.name == domain.mask), None)
    if mask is None:
        return (*rows, Feature(wanted, "1 in the column of each choice that is allowed"))
    if (mask.dtype, mask.size) != (wanted.dtype, wanted.size):
        raise TypeError(f"expected the mask {mask.name} as {wanted}, got it as {mask}")
    return tuple(rows)


def _whole_mask(domain: Domain, rows: Iterable[Feature]) -> Values:
    """The mask of a choice by its name, all columns legal; nothing of another domain."""
    if not isinstance(domain, Choice):
        return {}
    value: object = 1
    for count in reversed(next(row.spec.shape for row in rows if row.spec.name == domain.mask)):
        value = (value,) * count
    return {domain.mask: value}


def _domain(advice: object, domain: object, specs: Iterable[TensorSpec]) -> Domain:
    """The answers that there are, by what was given.

    Raises:
        TypeError: advice and domain do not fit.
    """
    if not isinstance(advice, TensorSpec) or str(advice) not in ("int64[1]", "float64[1]"):
        raise TypeError(f"expected a TensorSpec of int64[1] or float64[1] as advice, got {advice!r}")
    numbers = advice.dtype == "float64"
    if domain is None:
        mask = next((spec for spec in specs if spec.name == "mask" and not numbers), None)
        domain = Number(-_LARGEST, _LARGEST) if numbers else Choice(mask.size, "mask") if mask else Flag()
    if not isinstance(domain, (Flag, Choice, Number)) or isinstance(domain, Number) != numbers:
        wanted = "a Number for" if numbers else "a Flag or a Choice for"
        raise TypeError(f"expected {wanted} the advice {advice}, got {domain!r}")
    if isinstance(domain, Choice) and domain.count < 1:
        raise TypeError(f"expected at least one choice, got {domain!r}")
    if isinstance(domain, Number):
        if not domain.low <= domain.high:
            raise TypeError(f"expected a range of numbers, got {domain!r}")
        return Number(max(domain.low, -_LARGEST), min(domain.high, _LARGEST))
    return domain
