# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`LogComparison`: the decisions of two logs, paired by their places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from passpilot.features.log.reader import read_log
from passpilot.features.log.shown import ShownDecision, style_of
from passpilot.plugin.errors import LogError


class Difference(NamedTuple):
    """A decision that the logs take differently."""

    first: ShownDecision
    second: ShownDecision


class LogComparison:
    """Pairs the decisions of two logs of one decision point.

    Two decisions belong together if context, caller, callee, location and register are the same; of several
    such decisions, the first belongs to the first. Decisions change the code, so each log may have decisions
    that the other lacks.

    Raises:
        LogError: a log cannot be read, or they are of different decision points.
    """

    def __init__(self, first: str, second: str) -> None:
        readers = [read_log(first), read_log(second)]
        styles = [style_of(reader.features) for reader in readers]
        if styles[0].advice != styles[1].advice:
            points = f"{styles[0].advice} and {styles[1].advice}"
            raise LogError(f"logs {first} and {second}: expected two of one decision point, got {points}")
        self.style = styles[0]
        sides = [
            dict(_placed(ShownDecision(decision, style) for decision in reader))
            for reader, style in zip(readers, styles, strict=True)
        ]
        both = sides[0].keys() & sides[1].keys()
        self.common = len(both)
        self.only_first = len(sides[0]) - len(both)
        self.only_second = len(sides[1]) - len(both)
        self.differences = [
            Difference(decision, sides[1][key])
            for key, decision in sides[0].items()
            if key in both and decision.advice != sides[1][key].advice
        ]
        """The common decisions with different advice, in the first log's order."""

    def __str__(self) -> str:
        different = len(self.differences)
        share = f" ({100 * different / self.common:.1f} %)" if self.common else ""
        return (
            f"{self.common} in both, {different} different{share}, "
            f"{self.only_first} only in the first, {self.only_second} only in the second"
        )


def _placed(decisions: Iterator[ShownDecision]) -> Iterator[tuple[tuple[object, ...], ShownDecision]]:
    """The decisions by place and by number among those of the same place."""
    seen: Counter[tuple[str, ...]] = Counter()
    for decision in decisions:
        at = decision.observation
        place = (at.context, at.caller, at.callee, at.location, at.register)
        yield (*place, seen[place]), decision
        seen[place] += 1
