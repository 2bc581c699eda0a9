# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether MLIR's inliner would inline a call: what its dialects say, which the bindings do not offer.

So MLIR itself is asked: its pass `inline` is run on copies of caller and callee in a module of their own.
What it has inlined once, it is known to inline again: operations of these names, into regions of operations
of that name. Where operations of affine or calls of llvm are, of which more than the names counts, it is
asked each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from passpilot.passes.mlir_alone import is_inlined

if TYPE_CHECKING:
    from collections.abc import Iterable, Set

    from passpilot.features.mlir_call_graph import CallGraphNode
    from passpilot.plugin.mlir_types import Operation, Value

MARK: Final = "no_inline"
"""The attribute by which functions and calls of upstream's dialects refuse to be inlined."""

_Place = tuple[str, bool]
"""The name of the operation around a call, and whether the callee is straight."""


class Legality:
    """What MLIR allows, learnt call by call."""

    def __init__(self) -> None:
        self._allowed: dict[_Place, set[str]] = {}
        self._refused: set[tuple[_Place, frozenset[str]]] = set()

    def allows(self, call: Operation, caller: CallGraphNode, callee: CallGraphNode) -> bool:
        """Whether the call may be replaced by the callee's body, whatever their places in the call graph."""
        parent = call.parent
        assert parent is not None, "a call is in a function"
        if not callee.kind.upstream:
            return (callee.is_straight or parent == caller.operation) and _fits(call, callee)
        if MARK in call.attributes or MARK in callee.operation.attributes:
            return False
        if callee.kind.by_mlir:
            return is_inlined(call, caller, callee)
        place, names = (parent.name, callee.is_straight), callee.contents.names.keys()
        if names <= self._allowed.setdefault(place, set()):
            return True
        if (place, frozenset(names)) in self._refused:
            return False
        return self._learn(place, names, is_inlined(call, caller, callee))

    def _learn(self, place: _Place, names: Set[str], allowed: bool) -> bool:
        if any(name.startswith("affine.") for name in (place[0], *names)):
            return allowed
        if allowed:
            self._allowed[place].update(names)
        else:
            self._refused.add((place, frozenset(names)))
        return allowed


def _fits(call: Operation, callee: CallGraphNode) -> bool:
    """Whether a call that no verifier knows has the types of its callee, which ends where it returns."""
    blocks = list(callee.operation.regions[0])
    ends = [list(block.operations)[-1].operation for block in blocks if len(block.operations)]
    returns = [end for end in ends if end.name == callee.kind.terminator]
    if len(ends) < len(blocks) or len(returns) != callee.contents.names[callee.kind.terminator]:
        return False
    wanted = _types(call.operands), *(_types(call.results) for _ in returns)
    return wanted == (_types(blocks[0].arguments), *(_types(each.operands) for each in returns))


def _types(values: Iterable[Value]) -> list[object]:
    return [value.type for value in values]
