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

from operator import itemgetter
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from passpilot.features.custom import CustomFeature
from passpilot.features.domain import Choice, Flag
from passpilot.features.point import POINTS, Feature, Point
from passpilot.features.spec import TensorSpec, by_name
from passpilot.features.table import PointTable
from passpilot.passes.declaration import domain_of, feature_row, rows_of, whole_mask
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.plugin.asking import ASKED
from passpilot.plugin.errors import (
    AdviceError,
    FeatureError,
    RegistrationError,
    restated,
)
from passpilot.plugin.origin import definition_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from passpilot.features.domain import Domain, Tensors
    from passpilot.passes.advisor import OnError
    from passpilot.runners.spec import RunnerLike

    Values = Mapping[str, object]

Answer = TypeVar("Answer", bound=float)  # bool, int or float


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
            rows = [feature_row(each) for each in features]
            domain = domain_of(advice, domain, [row.spec for row in rows])
            table = PointTable(name, rows_of(name, rows, domain), advice, domain)
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
        self.absent = whole_mask(table.domain, table.rows)
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
