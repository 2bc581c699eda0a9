# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a call in MLIR that may be inlined.

A function's numbers are up to date: they are counted again after each simplification, and each inlined call
adds the callee's numbers. Uses of a symbol are its mentions in functions; as in MLIR's inliner, mentions in
dropped functions still count. Heights and component sizes are those of the call graph before the first
decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from passpilot.features.domain import Flag
from passpilot.features.mlir.contents import LOOPS, around
from passpilot.features.point import Site, row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable
from passpilot.plugin.errors import StaleViewError
from passpilot.plugin.mlir.place import place_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from passpilot.features.mlir.call_graph import CallGraph, CallGraphNode
    from passpilot.features.mlir.contents import Call
    from passpilot.plugin.mlir.protocols import Operation, Value

DIALECTS: Final = (
    *("affine", "arith", "cf", "func", "linalg", "llvm", "math", "memref", "scf", "tensor", "vector"),
)
"""The dialects whose operations have a feature of their own, as in plugin/native/runtime/mlir_contents.h."""

FEATURES: Final = (
    row("arguments", "operands of the call"),
    row("constant_arguments", "operands of the call that are constants"),
    row("results", "results of the call"),
    row("loop_depth", "loops around the call in its caller, of scf and affine"),
    row("region_depth", "regions around the call in its caller; 1 directly in its body"),
    row("callee_operations", "operations of the callee"),
    row("callee_blocks", "blocks of the callee, those in regions of its operations included"),
    row("callee_region_depth", "how deep the regions of the callee are nested; 1 for its body alone"),
    row("callee_loops", "loops of the callee"),
    row("callee_calls", "calls in the callee"),
    *(row(f"callee_{name}_operations", f"operations of the callee of {name}") for name in DIALECTS),
    row("callee_other_operations", "operations of the callee of other dialects"),
    row("callee_uses", "uses of the callee's symbol"),
    row("callee_is_private", "1 if the callee goes away with its last use"),
    row("callee_is_recursive", "1 if the callee calls itself, directly or not"),
    row("callee_height", "calls on the longest way from the callee to a leaf"),
    row("callee_component_size", "functions that call each other around the callee"),
    row("caller_operations", "operations of the caller"),
    row("caller_blocks", "blocks of the caller"),
    row("caller_calls", "calls in the caller"),
    row("caller_uses", "uses of the caller's symbol"),
    row("caller_is_private", "1 if the caller goes away with its last use"),
    row("caller_height", "calls on the longest way from the caller to a leaf"),
    row("functions", "functions with a body in the module"),
)

TABLE: Final = PointTable("mlir-inline", FEATURES, TensorSpec("inlining_decision", "int64", (1,)), Flag())
"""The answer is 1 to inline the call."""


class CallSite(Site):
    """A call that may be inlined, valid during its decision.

    `call`, `caller` and `callee` are operations of MLIR's Python bindings. Do not change or keep them.
    """

    __slots__ = ("_call", "_callee", "_caller", "_over")

    def __init__(self, call: Call, caller: CallGraphNode, callee: CallGraphNode) -> None:
        self._call, self._caller, self._callee = call, caller, callee
        self._over = False

    def __repr__(self) -> str:
        return f"<CallSite {self.caller_name} -> {self.callee_name}>"

    @property
    def call(self) -> Operation:
        """The calling operation.

        Raises:
            StaleViewError: the decision is over.
        """
        self._check("call")
        return self._call.operation

    @property
    def caller(self) -> Operation:
        """The function that contains the call.

        Raises:
            StaleViewError: the decision is over.
        """
        self._check("caller")
        return self._caller.operation

    @property
    def callee(self) -> Operation:
        """The function that is called.

        Raises:
            StaleViewError: the decision is over.
        """
        self._check("callee")
        return self._callee.operation

    @property
    def caller_name(self) -> str:
        """The symbol of the caller."""
        return self._caller.name

    @property
    def callee_name(self) -> str:
        """The symbol of the callee."""
        return self._callee.name

    @property
    def context(self) -> str:
        """The symbol of the caller."""
        return self._caller.name

    @property
    def place(self) -> tuple[str, int, int] | None:
        """File, line and column of the call, if known."""
        self._check("place")
        place = place_of(self._call.operation.location)
        return place if place[1] else None

    def end(self) -> None:
        """Invalidate the site: the decision is over."""
        self._over = True

    def _check(self, what: str) -> None:
        if self._over:
            expected = "expected to be read within its decision, got a read after it"
            raise StaleViewError(f"obs.site.{what}: {expected}")


def observe(
    call: Call, caller: CallGraphNode, callee: CallGraphNode, graph: CallGraph
) -> Mapping[str, object]:
    """The feature values of a call."""
    operation = call.operation
    parents = [] if caller.is_flat else list(around(operation, caller.operation))
    operands = operation.operands
    return {
        **_callee_row(callee),
        "arguments": len(operands),
        "constant_arguments": sum(map(_is_constant, operands)),
        "results": len(operation.results),
        "loop_depth": sum(parent.name in LOOPS for parent in parents),
        "region_depth": len(parents) + 1,
        "callee_uses": callee.uses,
        "caller_operations": caller.operations,
        "caller_blocks": caller.blocks,
        "caller_calls": caller.calls,
        "caller_uses": caller.uses,
        "caller_is_private": caller.discardable,
        "caller_height": caller.height,
        "functions": len(graph.nodes),
    }


def _callee_row(callee: CallGraphNode) -> Mapping[str, object]:
    """The values that depend on the callee alone; cached until the function is counted again."""
    contents = callee.contents
    if contents.row is None:
        dialects = zip((*DIALECTS, "other"), contents.dialects, strict=True)
        contents.row = {
            "callee_operations": contents.operations,
            "callee_blocks": contents.blocks,
            "callee_region_depth": contents.depth,
            "callee_loops": contents.loops,
            "callee_calls": len(contents.calls),
            **{f"callee_{name}_operations": count for name, count in dialects},
            "callee_is_private": callee.discardable,
            "callee_is_recursive": callee.component_size > 1 or callee in callee.targets,
            "callee_height": callee.height,
            "callee_component_size": callee.component_size,
        }
    return contents.row


def _is_constant(value: Value) -> bool:
    """Whether an operation such as ``arith.constant`` or ``llvm.mlir.constant`` defines the value."""
    operation = getattr(value.owner, "operation", None)
    return operation is not None and operation.name.endswith(".constant")
