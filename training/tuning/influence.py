# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which functions a flipped decision can change: what makes many flips of one compilation tell apart.

A flip of the call of G in C changes C, G (it may be dropped, or must be kept), and every function that the
body of C is inlined into. Flips whose sets are disjoint do not disturb each other, and the sizes of the
functions in a set tell the flip's own gain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from passpilot.training.tuning.decision_file import CallKey
    from passpilot.training.tuning.unit import Asked


class Influence:
    """The sets of one compilation."""

    def __init__(self, asked: Mapping[CallKey, Asked]) -> None:
        self._into: dict[str, set[str]] = {}
        for call, each in asked.items():
            if each.inlined:
                self._into.setdefault(call.callee, set()).add(call.caller)
        self._holders: dict[str, frozenset[str]] = {}

    def of(self, call: CallKey) -> frozenset[str]:
        """The functions that a flip of the call can change."""
        return self._holding(call.caller) | {call.callee}

    def _holding(self, function: str) -> frozenset[str]:
        """The function, and all that its body is inlined into."""
        if function not in self._holders:
            found, new = {function}, [function]
            while new:
                more = self._into.get(new.pop(), set()) - found
                found |= more
                new += more
            self._holders[function] = frozenset(found)
        return self._holders[function]

    def disjoint(self, calls: Iterable[CallKey]) -> tuple[list[CallKey], list[CallKey]]:
        """Split calls into some whose sets are disjoint, taken in order, and the rest."""
        used: set[str] = set()
        chosen: list[CallKey] = []
        rest: list[CallKey] = []
        for call in calls:
            changed = self.of(call)
            if used & changed:
                rest.append(call)
            else:
                used |= changed
                chosen.append(call)
        return chosen, rest


def components(compilations: Sequence[Mapping[CallKey, Asked]]) -> dict[str, str]:
    """A representative of each function's component: no compilation inlines a call across components."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := parent.setdefault(name, name)) != name:
            parent[name] = parent[above]
            name = above
        return name

    for asked in compilations:
        for call, each in asked.items():
            caller, callee = root(call.caller), root(call.callee)
            if each.inlined:
                parent[callee] = caller
    return {name: root(name) for name in parent}
