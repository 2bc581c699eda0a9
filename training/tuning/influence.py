# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which functions a flipped decision can change: what makes many flips of one compilation tell apart.

A flip of the call of G in C changes C, G (it may be dropped, or must be kept), and every function that the
body of C is inlined into. Flips whose sets are disjoint do not disturb each other, and the sizes of the
functions in a set tell the flip's own gain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Edge(NamedTuple):
    """A call by the names of both functions among those of the whole program."""

    caller: str
    callee: str


class Influence:
    """The sets of one program, by the calls that are inlined in it."""

    def __init__(self, inlined: Iterable[Edge]) -> None:
        self._into: dict[str, set[str]] = {}
        for call in inlined:
            self._into.setdefault(call.callee, set()).add(call.caller)
        self._holders: dict[str, frozenset[str]] = {}

    def of(self, call: Edge) -> frozenset[str]:
        """The functions that a flip of the call can change."""
        return self.holders(call.caller) | {call.callee}

    def holders(self, function: str) -> frozenset[str]:
        """The function, and all that its body is inlined into."""
        if function not in self._holders:
            holders, todo = {function}, [function]
            while todo:
                callers = self._into.get(todo.pop(), set()) - holders
                holders |= callers
                todo += callers
            self._holders[function] = frozenset(holders)
        return self._holders[function]


def components(compilations: Sequence[Mapping[Edge, bool]]) -> dict[str, str]:
    """A representative of each function's component: no compilation inlines a call across components."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while (above := parent.setdefault(name, name)) != name:
            parent[name] = parent[above]
            name = above
        return name

    for asked in compilations:
        for call, inlined in asked.items():
            caller, callee = root(call.caller), root(call.callee)
            if inlined:
                parent[callee] = caller
    return {name: root(name) for name in parent}


def component_sizes(
    functions: Mapping[str, float], component_of: Mapping[str, str]
) -> defaultdict[str, float]:
    sizes: defaultdict[str, float] = defaultdict(float)
    for name, size in functions.items():
        sizes[component_of.get(name, name)] += size
    return sizes


def disjoint(sets: Iterable[frozenset[str]]) -> list[bool]:
    """Of each set, in order, whether it has nothing in common with those that were chosen before it."""
    used: set[str] = set()
    chosen: list[bool] = []
    for names in sets:
        chosen.append(used.isdisjoint(names))
        if chosen[-1]:
            used |= names
    return chosen
