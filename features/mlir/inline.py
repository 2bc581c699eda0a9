# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a model sees of a call in MLIR that may be inlined.

The inliner in plugin/native/mlir computes the values. A function's numbers are up to date: they are counted
again after each simplification, and each inlined call adds the callee's numbers. Uses of a symbol are its
mentions in functions; as in MLIR's inliner, mentions in dropped functions still count. Heights and component
sizes are those of the call graph before the first decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from passpilot.features.domain import Flag
from passpilot.features.point import Site, row
from passpilot.features.spec import TensorSpec
from passpilot.features.table import PointTable
from passpilot.plugin.errors import InputError, StaleViewError
from passpilot.plugin.mlir.inliner import inliner

if TYPE_CHECKING:
    from passpilot.plugin import _core
    from passpilot.plugin.mlir.protocols import Operation

DIALECTS: Final = (
    *("affine", "arith", "cf", "func", "linalg", "llvm", "math", "memref", "scf", "tensor", "vector"),
)
"""The dialects whose operations have a feature of their own, as in plugin/native/mlir/contents.h."""

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

    `call`, `caller` and `callee` are operations of upstream's Python bindings. Do not change or keep them.
    """

    __slots__ = ("_core", "_ordinal")

    def __init__(self, core: _core.Advisor) -> None:
        self._core, self._ordinal = core, core.ordinal

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.caller_name} -> {self.callee_name}>"

    @property
    def call(self) -> Operation:
        """The calling operation.

        Raises:
            StaleViewError: the decision is over.
        """
        return self._operation("call")

    @property
    def caller(self) -> Operation:
        """The function that contains the call.

        Raises:
            StaleViewError: the decision is over.
        """
        return self._operation("caller")

    @property
    def callee(self) -> Operation:
        """The function that is called.

        Raises:
            StaleViewError: the decision is over.
        """
        return self._operation("callee")

    @property
    def caller_name(self) -> str:
        """The symbol of the caller."""
        return self._place("caller_name").caller

    @property
    def callee_name(self) -> str:
        """The symbol of the callee."""
        return self._place("callee_name").callee

    @property
    def context(self) -> str:
        """The symbol of the caller."""
        return self.caller_name

    @property
    def place(self) -> tuple[str, int, int] | None:
        """File, line and column of the call, if known."""
        place = self._place("place")
        return (place.file, place.line, place.column) if place.file else None

    def _operation(self, part: str) -> Operation:
        self._place(part)
        operation = inliner().operation(self._core.session, part)
        assert operation is not None, "there is a question"
        return operation

    def _place(self, what: str) -> _core.DecisionPlace:
        """Where the call is."""
        try:
            if self._core.ordinal == self._ordinal:
                return self._core.place
        except StaleViewError:  # there is no decision
            pass
        raise StaleViewError(f"obs.site.{what}: it can be read within its decision alone")


class OperationText:
    """An operation of an MLIR in another place, of which Python has the text: ``str(obs.site.callee)``."""

    __slots__ = ("_only", "_part", "_text", "_where")

    def __init__(
        self, part: str, text: str, where: str = "in a stock mlir-opt", only: str = "`passpilot mlir-opt`"
    ) -> None:
        self._part, self._text, self._where, self._only = part, text, where, only

    def __str__(self) -> str:
        return self._text

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        message = f"only {self._only} has it; here, use the text, str(obs.site.{self._part})"
        raise InputError(f"obs.site.{self._part}.{name} {self._where}: {message}")
