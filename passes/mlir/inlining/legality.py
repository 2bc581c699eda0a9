# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Legality`: whether MLIR's inliner may inline a call, as its dialects decide.

The bindings do not offer this question, so MLIR's pass `inline` is tried on copies of caller and callee in a
temporary module. The answer is cached by the names of the callee's operations and of the operation around the
call. For operations of affine and calls of llvm, legality depends on more than names, so each call is tried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from passpilot.passes.mlir.inlining.isolated import is_inlined, is_inlined_alone, types_of

if TYPE_CHECKING:
    from collections.abc import Set

    from passpilot.features.mlir.call_graph import CallGraphNode
    from passpilot.features.mlir.contents import Call
    from passpilot.plugin.mlir.protocols import Operation

_Place = tuple[str, bool]
"""The name of the operation around a call, and whether the callee is straight."""


class Legality:
    """Caches what MLIR allows."""

    def __init__(self) -> None:
        self._allowed: dict[_Place, set[str]] = {}
        self._refused: set[tuple[_Place, frozenset[str]]] = set()

    def allows(self, call: Call, caller: CallGraphNode, callee: CallGraphNode) -> bool:
        """Whether the callee's body may replace the call; ignores recursion."""
        if not callee.kind.upstream:
            there = callee.is_straight or call.operation.parent == caller.operation
            return there and _fits(call.operation, callee)
        if call.refuses or callee.refuses:
            return False
        if callee.kind.by_mlir:
            return is_inlined(call.operation, caller, callee)
        around = caller.kind.function if caller.is_flat else _around(call.operation)
        known = callee.contents.places.get(around)
        return self._ask(call, caller, callee, around) if known is None else known

    def _ask(self, call: Call, caller: CallGraphNode, callee: CallGraphNode, around: str) -> bool:
        place, names = (around, callee.is_straight), callee.contents.names.keys()
        if names <= self._allowed.setdefault(place, set()):
            allowed = True
        elif (place, frozenset(names)) in self._refused:
            allowed = False
        elif any(name.startswith("affine.") for name in (around, *names)):
            return is_inlined(call.operation, caller, callee)  # the answer holds for this call only
        else:
            allowed = is_inlined_alone(call.operation, caller, callee)
            self._learn(place, names, allowed=allowed)
        callee.contents.places[around] = allowed
        return allowed

    def _learn(self, place: _Place, names: Set[str], *, allowed: bool) -> None:
        if allowed:
            self._allowed[place].update(names)
        else:
            self._refused.add((place, frozenset(names)))


def _around(call: Operation) -> str:
    parent = call.parent
    assert parent is not None, "a call is in a function"
    return parent.name


def _fits(call: Operation, callee: CallGraphNode) -> bool:
    """Whether a registered call has its callee's types, and the callee returns only at ends of blocks."""
    blocks = list(callee.operation.regions[0])
    ends = [list(block.operations)[-1].operation for block in blocks if len(block.operations)]
    returns = [end for end in ends if end.name == callee.kind.terminator]
    if len(ends) < len(blocks) or len(returns) != callee.contents.names[callee.kind.terminator]:
        return False
    wanted = types_of(call.operands), *(types_of(call.results) for _ in returns)
    return wanted == (types_of(blocks[0].arguments), *(types_of(end.operands) for end in returns))
