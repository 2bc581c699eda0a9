# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Phases`: chooses the order of passes by a sequence of decisions, as POSET-RL does.

    PHASES = Phases(
        "my-phases",
        ["globalopt,globaldce", "function(sroa,instcombine,simplifycfg)", "cgscc(inline),globaldce"],
        TensorSpec("embedding", "float32", (75,)),
        vocabulary.embed,
    )

    @passpilot.llvm.module_pass("my-phases")
    @dataclass(frozen=True)
    class MyPhases:
        budget: int = 10

        def run(self, module):
            return PHASES.run(module, self.budget)

To search for a good sequence, compile with ``isolated=True``: some sequences crash LLVM or never end.

At each step the runner sees an embedding of the present unit and picks the pipeline to run next, or stops.

In pipeline text, LLVM's ``instcombine`` checks that it has reached a fixpoint, and ends the process if not: a
check for LLVM's own tests, which LLVM's own pipelines do not make. `Phases` therefore adds the option
``no-verify-fixpoint``, unless the text has ``verify-fixpoint``.
Source of the idea: Jain et al., POSET-RL, ISPASS 2022.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from passpilot.features.llvm.phases import phase_table
from passpilot.passes.decision_point import DecisionPoint
from passpilot.plugin.errors import RegistrationError
from passpilot.plugin.ir import Function

if TYPE_CHECKING:
    from passpilot.features.llvm.phases import Unit
    from passpilot.features.spec import TensorSpec
    from passpilot.features.table import PointTable

    Embed: TypeAlias = Callable[[Unit], object]

STOP: Final = 0
"""The choice that ends the sequence; choice N runs pipeline N of the table, counted from 1."""

_INSTCOMBINE: Final = re.compile(r"(?<![\w-])instcombine(?![\w-])(?:<([^>]*)>)?")


class Phases:
    """A table of pipelines, an embedding, and the decision point that picks a pipeline by the embedding.

    Args:
        name: of the decision point, the NAME of ``--advise NAME=RUNNER``.
        table: texts of LLVM's pipelines: of modules, or of functions if `run` gets functions.
        embedding: the spec of the tensor that `embed` returns.
        embed: computes the embedding of a unit; called for each decision.
        limits: for pipelines of the table that take long on large functions, the most instructions of a
            function; a pipeline cannot be chosen for a unit with a larger function.

    Raises:
        RegistrationError: the table is empty, the name is taken, or the tensor or a limit does not fit.
    """

    def __init__(
        self,
        name: str,
        table: Sequence[str],
        embedding: TensorSpec,
        embed: Embed,
        limits: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        if unknown := [text for text in limits if text not in table]:
            raise RegistrationError(
                f"phases {name!r}: expected limits of pipelines of the table, got {unknown}"
            )
        if isinstance(table, str) or not table or not all(table):
            raise RegistrationError(f"phases {name!r}: expected a table of pipeline texts, got {table!r}")
        row = phase_table(name, embedding, len(table))
        point = DecisionPoint[int](
            name, features=row.rows, advice=row.advice, domain=row.domain, default=_stop
        )
        self._take(point, table, embedding.name, embed, limits)

    @classmethod
    def of(cls, row: PointTable, table: Sequence[str], embed: Embed, limits: Mapping[str, int]) -> Self:
        """The phases of a point of the catalogue; its first feature is the embedding."""
        phases = cls.__new__(cls)
        phases._take(DecisionPoint[int].of(row, _stop), table, row.rows[0].spec.name, embed, limits)
        return phases

    def _take(
        self,
        point: DecisionPoint[int],
        table: Sequence[str],
        embedding: str,
        embed: Embed,
        limits: Mapping[str, int],
    ) -> None:
        self.table = tuple(map(_without_fixpoint_check, table))
        """The pipelines; choice 1 is the first."""
        self.point = point
        self._embedding, self._embed = embedding, embed
        self._limits = (inf, *(limits.get(text, inf) for text in table))

    def run(self, unit: Unit, budget: int) -> bool:
        """Run at most `budget` advised pipelines on the unit; returns whether the unit has changed.

        A pipeline that has changed nothing cannot be chosen again until another one has changed something.
        One with a limit cannot be chosen while the unit has a larger function.

        Raises:
            Error: the advisor's failure, or a pipeline of the table is not valid.
        """
        initial, last, changed = sum(_sizes(unit)), STOP, False
        useful = [True] * len(self._limits)
        for step in range(budget):
            sizes = _sizes(unit)
            most = max(sizes, default=0)
            mask = [int(use and most <= limit) for use, limit in zip(useful, self._limits, strict=True)]
            values = {
                self._embedding: self._embed(unit),
                "size": sum(sizes),
                "initial_size": initial,
                "step": step,
                "last": last,
                "mask": [mask],
            }
            last = self.point.ask(values, unit)
            if last == STOP:
                break
            if unit.run(self.table[last - 1]):
                changed, useful = True, [True] * len(useful)
            else:
                useful[last] = False
        return changed


def _without_fixpoint_check(pipeline: str) -> str:
    """The text with ``no-verify-fixpoint`` for each ``instcombine``; the docstring of this file says why."""

    def safe(found: re.Match[str]) -> str:
        options = found[1] or ""
        if "verify-fixpoint" in options:
            return found[0]
        return f"instcombine<{options + ';' if options else ''}no-verify-fixpoint>"

    return _INSTCOMBINE.sub(safe, pipeline)


def _stop(_: Mapping[str, object]) -> int:
    """Leaves the unit as LLVM made it."""
    return STOP


def _sizes(unit: Unit) -> list[int]:
    functions = [unit] if isinstance(unit, Function) else unit.functions
    return [function.instruction_count for function in functions]
