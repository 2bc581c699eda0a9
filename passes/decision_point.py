# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`DecisionPoint`: a decision of a Python pass that any runner can take.

    FACTOR = passpilot.DecisionPoint(
        "my-unroll",
        features=[TensorSpec("trip_count", "int64", (1,)), TensorSpec("size", "int64", (1,))],
        advice=TensorSpec("factor", "int64", (1,)),
        domain=passpilot.Choice(4),
        default=lambda values: 0,
    )

    factor = 1 << FACTOR.ask({"trip_count": loop.trip_count or 0, "size": 12}, loop)
    factors = FACTOR.ask_all(rows, loops)

The core asks the runner, checks the advice, writes the log and follows the error policy as at LLVM's own
points. If the compilation has no advisor for this point, the default decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from passpilot.features.custom import CustomFeature
from passpilot.features.domain import Choice, Flag
from passpilot.features.point import POINTS, Feature, Point
from passpilot.features.spec import TensorSpec, by_name
from passpilot.features.table import PointTable
from passpilot.passes.asking import ASKED
from passpilot.passes.declaration import domain_of, feature_row, rows_of, whole_mask
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.plugin.errors import (
    AdviceError,
    FeatureError,
    RegistrationError,
    restated,
)
from passpilot.plugin.origin import definition_origin

if TYPE_CHECKING:
    from passpilot.features.domain import Domain, Tensors
    from passpilot.passes.advisor import OnError
    from passpilot.runners.spec import RunnerLike

    Values = Mapping[str, object]

Answer = TypeVar("Answer", bound=float)  # bool, int or float


class DecisionPoint(Generic[Answer]):
    """A decision that a pass takes with `ask`: its features, its advice, and the default.

    Args:
        name: the NAME of ``--advise NAME=RUNNER``, in kebab-case.
        features: what the runner sees: a `TensorSpec`, or a `Feature` with a description, for each tensor.
        advice: the answer: ``int64[1]`` for a flag or a choice, ``float64[1]`` for a number.
        default: a function of the values that decides without a runner.
        domain: the allowed answers: `Flag`, `Choice` or `Number`. If None, a float64 is any finite number; an
            int64 is a choice if there is a feature ``mask``, else a flag. A choice always has a mask among
            its features; if `ask` gets no mask, every column is legal.

    Raises:
        RegistrationError: the arguments do not fit each other, or the name is taken.
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
            rows = [feature_row(feature) for feature in features]
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
        """A point for a table of the catalogue, whose name is already reserved."""
        point = cls.__new__(cls)
        point._take(table, default, definition_origin("passpilot.passes.shipped.phases"))
        return point

    def _take(self, table: PointTable, default: Callable[[Values], Answer], origin: str) -> None:
        self.name, self.advice, self.origin, self.default = table.name, table.advice, origin, default
        self._who = f"decision point {self.name!r} at {origin}"
        self._table, self._domain = table, table.domain
        self.values = tuple(
            CustomFeature(row.spec, itemgetter(row.spec.name), row.doc, origin) for row in table.rows
        )
        """Checks and stores the value of each feature."""
        self._names = frozenset(row.spec.name for row in table.rows)
        self.absent = whole_mask(table.domain, table.rows)
        """The values that stand in for omitted ones: the mask of a choice."""
        names = [feature.spec.name for feature in self.values]
        self._checks = [
            (name, feature.check, self.absent.get(name, self))
            for name, feature in zip(names, self.values, strict=True)
        ]

    def __repr__(self) -> str:
        return f"<DecisionPoint {self.name!r} at {self.origin}>"

    def table(self) -> tuple[Feature, ...]:
        """All offered features: its own, the default decision, then the custom features."""
        return self._table.table()

    def point(self) -> Point:
        """The point as runners see it."""
        return self._table.point()

    @property
    def is_asked(self) -> bool:
        """Whether this compilation has an advisor for the point; if not, the default decides."""
        return isinstance(ASKED.get().get(self.name), PointAdvisor)

    def ask(self, values: Values, site: object = None) -> Answer:
        """The decision: the advisor's of this compilation, or the default's without an advisor.

        `site` is what the decision is about: a function, block, instruction or loop, an MLIR operation, or a
        function's name. Policies in this process see it as ``obs.site``; its function is the context of the
        decision.

        Raises:
            FeatureError: the values do not match the features.
            Error: the advisor's failure, which ends the compilation.
        """
        advisor = ASKED.get().get(self.name)
        if isinstance(advisor, PointAdvisor):
            return cast("Answer", advisor.ask(self, values, site))
        return self._decided(values)

    def ask_all(self, rows: Iterable[Values], sites: Iterable[object] | None = None) -> list[Answer]:
        """Several decisions; none of them may depend on the outcome of another.

        Answers, log and errors are those of `ask` for one row after the other, but all rows are checked
        first, and a runner that can answer several questions at once gets them together.

        Raises:
            FeatureError: as `ask`, or the number of sites differs from the number of rows.
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
        for values in all_values:
            self._check_values(self.checked(values))
        return [self.decide(values) for values in all_values]

    def _decided(self, values: Values) -> Answer:
        """The default's decision without an advisor, after the checks of the advisor."""
        values = self.checked(values)
        self._check_values(values)
        return self._by_default(values)

    def _check_values(self, values: Values) -> None:
        """Refuse values that do not fit, so that an author finds them though nobody advises."""
        for name, check, whole in self._checks:
            if (value := values[name]) is not whole:
                check(value)

    def decide(self, values: Values) -> Answer:
        """The default's decision.

        Raises:
            FeatureError: the values do not match the features.
            AdviceError: the default's answer is outside the domain.
        """
        return self._by_default(self.checked(values))

    def _by_default(self, values: Values) -> Answer:
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
        """Create an advisor that lets a runner decide at this point; see `PointAdvisor`.

        Raises:
            RunnerError: the runner cannot be created, or does not fit the decision point.
        """
        return PointAdvisor(self.name, runner, log=log, on_error=on_error, timeout=timeout)

    def unregister(self) -> None:
        """Free the name; for notebooks and tests.

        Raises:
            RegistrationError: the name is not registered.
        """
        POINTS.unregister(self.name)

    def checked(self, values: Values) -> Values:
        """The values by feature name; adds a mask that allows everything if it is missing.

        Raises:
            FeatureError: values are missing, or have no feature.
        """
        if values.keys() == self._names:
            return values
        whole = {**self.absent, **values}
        if whole.keys() == self._names:
            return whole
        missing, extra = self._names - whole.keys(), whole.keys() - self._names
        got = [f"no {name}" for name in sorted(missing)]
        got += [f"{name}, which is no feature of it" for name in sorted(map(str, extra))]
        expected = ", ".join(sorted(self._names - self.absent.keys()))
        raise FeatureError(f"{self._who}: expected values of {expected}, got {' and '.join(got)}")

    def _mask(self, values: Values) -> Tensors | None:
        if not isinstance(self._domain, Choice):
            return None
        import numpy as np

        return {self._domain.mask: np.asarray(values[self._domain.mask])}
