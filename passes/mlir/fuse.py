# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-fuse`: a runner chooses the elementwise operations of linalg that are fused into their consumers.

MLIR's own pass `linalg-fuse-elementwise-ops` does the fusion, and decides what is possible. Two casts keep
apart what the runner does not want fused: MLIR does not look through them, and they are gone afterwards.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from passpilot.features.mlir.fuse import TABLE, observe, read_output
from passpilot.features.mlir.tileable import Operand, Structured, structured
from passpilot.passes.asking import ASKED, advised
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir.api import pass_
from passpilot.passes.mlir.pipeline import run_pipeline
from passpilot.plugin.errors import CompilationError, restated
from passpilot.plugin.mlir.bindings import bindings, operations_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from passpilot.plugin.mlir.protocols import Operation

MLIR_FUSE: Final = DecisionPoint[bool].of(TABLE, lambda _: True)
"""The decision: whether a producer is fused into its consumer."""

FUSION: Final = "linalg-fuse-elementwise-ops"
"""MLIR's pass, which fuses all that it can."""

_KEPT: Final = "passpilot.kept"
_CAST: Final = "builtin.unrealized_conversion_cast"
_FUSED: Final = "linalg.generic"


class _Pair(NamedTuple):
    """Operand `number` of the consumer is the result of the producer."""

    producer: Structured
    consumer: Structured
    number: int


@pass_("advised-fuse")
@dataclass(frozen=True)
class AdvisedFuse:
    """Fuses elementwise operations of linalg as the runner of `mlir-fuse` advises; all by default."""

    runner: str | None = None

    def run(self, root: Operation) -> None:
        """Ask the runner of the option `runner`, or the compilation's advisor, about each pair."""
        if self.runner is None:
            fuse(root)
            return
        with MLIR_FUSE.advisor(self.runner) as advisor:
            advised("advised-fuse", [advisor], lambda: fuse(root))


def fuse(root: Operation) -> None:
    """Fuse operations in and below `root` as the advisor of `mlir-fuse` advises; all without one.

    Raises:
        CompilationError: MLIR's pass failed.
        Error: the advisor failed.
    """
    refused: list[_Pair] = []
    if MLIR_FUSE.name in ASKED.get():
        refused = [pair for pair in list(_pairs(root)) if not _ask(pair)]
    with _kept_apart(root, refused):
        _fuse_all(root)


def _ask(pair: _Pair) -> bool:
    return MLIR_FUSE.ask(observe(*pair), pair.consumer.operation)


def _pairs(root: Operation) -> Iterator[_Pair]:
    """The pairs that MLIR fuses, in the order of the consumers."""
    known: dict[Operation, Structured | None] = {}
    for operation in list(operations_in(root)):
        if operation.name != _FUSED:
            continue
        known[operation] = consumer = structured(operation)
        for number in range(consumer.inputs if consumer else 0):
            owner = getattr(operation.operands[number].owner, "operation", None)
            producer = known.get(owner) if owner is not None else None
            if consumer and producer and _is_fusable(producer, read_output(producer, consumer, number)):
                yield _Pair(producer, consumer, number)


def _is_fusable(producer: Structured, output: Operand) -> bool:
    """Whether MLIR fuses it into a consumer: its tensors are used once in all, and `output` needs no sum.

    MLIR's pass drops results that nobody uses before it looks.

    Source: areElementwiseOpsFusable in LinalgOps' fusion, and the control function of MLIR's pass.
    """
    return (
        sum(len(list(result.uses)) for result in producer.operation.results) == 1
        and not any(loop.is_reduction for loop in producer.loops)
        and len(output.loops) == len(producer.loops)
    )


@contextmanager
def _kept_apart(root: Operation, pairs: Iterable[_Pair]) -> Iterator[None]:
    """Put casts between the operations of the pairs, and take them away again."""
    for _, consumer, number in pairs:
        _keep(consumer.operation, number)
    try:
        yield
    finally:
        for operation in list(operations_in(root)):
            if operation.name == _CAST and _KEPT in operation.attributes:
                _release(operation)


def _keep(consumer: Any, number: int) -> None:
    """Put two casts before an operand. The first has two results, so that MLIR does not fold them."""
    ir = bindings().ir
    value, place = consumer.operands[number], ir.InsertionPoint(consumer)
    with consumer.context, consumer.location:
        index = ir.IndexType.get()
        first = ir.Operation.create(_CAST, [index, index], [value], ip=place)
        marks = {_KEPT: ir.UnitAttr.get()}
        second = ir.Operation.create(_CAST, [value.type], [first.results[0]], marks, ip=place)
    consumer.operands[number] = second.results[0]


def _release(second: Any) -> None:
    first = second.operands[0].owner
    second.results[0].replace_all_uses_with(first.operands[0])
    second.operation.erase()
    first.operation.erase()


def _fuse_all(root: Operation) -> None:
    try:
        run_pipeline(root, f"any({FUSION})")
    except CompilationError as error:
        got = str(error).removeprefix("--pass-pipeline: expected passes that succeed, got: ")
        raise restated(
            error, f"advised-fuse at {root.location}: expected MLIR to fuse, got: {got}"
        ) from error
