# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether MLIR's inliner would inline a call: what its dialects say, which the bindings do not offer.

So MLIR itself is asked: its pass `inline` is run on copies of caller and callee in a module of their own,
where every other call is marked ``no_inline``. What it has inlined once, it is known to inline again:
operations of these names, into regions of operations of that name. Where affine's operations are, it is asked
each time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from passpilot.features.mlir_call_graph import contents_of
from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir import bindings

if TYPE_CHECKING:
    from collections.abc import Set

    from passpilot.features.mlir_call_graph import CallGraphNode
    from passpilot.plugin.mlir_types import Operation, PassManager

MARK: Final = "no_inline"
"""The attribute by which functions and calls of upstream's dialects refuse to be inlined."""

_ALONE: Final = "builtin.module(inline{default-pipeline= max-iterations=1})"
"""MLIR's inliner without what it does besides."""

_CALLER: Final = "passpilot.caller"
_CALLEE: Final = "passpilot.callee"

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
            return callee.is_straight or parent == caller.operation
        if MARK in call.attributes or MARK in callee.operation.attributes:
            return False
        place, names = (parent.name, callee.is_straight), callee.contents.names.keys()
        if names <= self._allowed.setdefault(place, set()):
            return True
        if (place, frozenset(names)) in self._refused:
            return False
        return self._learn(place, names, _is_inlined(call, caller, callee))

    def _learn(self, place: _Place, names: Set[str], allowed: bool) -> bool:
        if any(name.startswith("affine.") for name in (place[0], *names)):
            return allowed
        if allowed:
            self._allowed[place].update(names)
        else:
            self._refused.add((place, frozenset(names)))
        return allowed


def _is_inlined(call: Operation, caller: CallGraphNode, callee: CallGraphNode) -> bool:
    """Whether MLIR inlines a call in copies of the two functions, of which nobody else calls any."""
    ir = bindings().ir
    number = contents_of(caller.operation).calls.index(call)
    module = ir.Module.create(ir.Location.unknown(call.context))
    with ir.InsertionPoint(module.body):
        body, copy = callee.operation.clone().operation, caller.operation.clone().operation
    copy.attributes["sym_visibility"] = ir.StringAttr.get("public", call.context)  # else it is dead
    for function, name in ((body, _CALLEE), (copy, _CALLER)):
        function.attributes["sym_name"] = ir.StringAttr.get(name, call.context)
    calls = contents_of(copy).calls
    asked = calls.pop(number)
    asked.attributes[callee.kind.callee] = ir.FlatSymbolRefAttr.get(_CALLEE, call.context)
    for other in calls + contents_of(body).calls:
        other.attributes[MARK] = ir.UnitAttr.get(call.context)
    pass_manager(_ALONE, call.context).run(module.operation)
    return all(MARK in each.attributes for each in contents_of(copy).calls)


def pass_manager(pipeline: str, context: object) -> PassManager:
    """MLIR's pass manager for a pipeline, which does not verify: what it is run on may be incomplete.

    Raises:
        InputError: MLIR cannot parse the text.
    """
    passes = bindings().passmanager.PassManager
    try:
        made: PassManager = passes.parse(pipeline, context)
    except Exception as error:
        raise InputError(f"pipeline {pipeline!r}: expected one that MLIR takes, got: {error}") from error
    made.enable_verifier(False)
    return made
