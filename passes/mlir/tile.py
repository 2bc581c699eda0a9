# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-tile`: a runner chooses the tile sizes of structured linalg operations.

The pass asks about each loop of an operation, outermost first. The transform dialect does the tiling: it puts
loops over the tiles around a smaller operation. Running the pass twice tiles the tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from passpilot.features.mlir.tile import TABLE, TILE_SIZES, may_tile, observe_loop, observe_operation
from passpilot.features.mlir.tileable import Structured, structured
from passpilot.passes.asking import ASKED, advised
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir.api import pass_
from passpilot.plugin.errors import CompilationError
from passpilot.plugin.mlir.bindings import bindings, operations_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.passes.decision_point import Values
    from passpilot.plugin.mlir.protocols import Operation


def _planned(values: Values) -> int:
    """The choice of the planned size, or of the next smaller one."""
    planned: Any = values["planned"]
    return max(choice for choice, size in enumerate(TILE_SIZES) if size <= int(planned))


MLIR_TILE: Final = DecisionPoint[int].of(TABLE, _planned)
"""The decision: an index into `TILE_SIZES`."""

_HANDLE: Final = "!transform.any_op"


@pass_("advised-tile")
@dataclass(frozen=True)
class AdvisedTile:
    """Tiles structured operations of linalg as the runner of `mlir-tile` advises; not at all by default."""

    runner: str | None = None

    def run(self, root: Operation) -> None:
        """Ask the runner of the option `runner`, or the compilation's advisor, about each operation."""
        if self.runner is None:
            tile(root)
        elif found := _found(root):
            with MLIR_TILE.advisor(self.runner) as advisor:
                advised("advised-tile", [advisor], partial(_tile, found))


def tile(root: Operation) -> None:
    """Tile the structured operations in and below `root` as the advisor of `mlir-tile` advises.

    Raises:
        CompilationError: MLIR refuses to tile an operation.
        Error: the advisor failed.
    """
    if MLIR_TILE.name in ASKED.get():
        _tile(_found(root))


def _found(root: Operation) -> Sequence[Structured]:
    ops = map(structured, operations_in(root))
    return [op for op in ops if op is not None and any(map(may_tile, op.loops))]


def _tile(found: Sequence[Structured]) -> None:
    plan = [(op.operation, sizes) for op in found if any(sizes := _ask(op))]
    _apply(plan)


def _ask(op: Structured) -> Sequence[int]:
    sizes: list[int] = []
    common = observe_operation(op)
    for number, loop in enumerate(op.loops):
        choice = 0
        if may_tile(loop):
            choice = MLIR_TILE.ask({**common, **observe_loop(op, number, sizes)}, op.operation)
        sizes.append(TILE_SIZES[choice])
    return sizes


def _apply(plan: Sequence[tuple[Operation, Sequence[int]]]) -> None:
    """Tile operations, inner ones first, because tiling an operation replaces its body."""
    scripts: dict[str, Any] = {}
    for operation, sizes in reversed(plan):
        text = _script(sizes)
        if text not in scripts:
            scripts[text] = bindings().ir.Module.parse(text, operation.context)
        _run(scripts[text], operation)


def _run(script: Any, operation: Operation) -> None:
    """Run a transform script, which consumes the operation."""
    mlir, where = bindings(), operation.location
    try:
        sequence = script.body.operations[0]
        mlir.dialect("transform.interpreter").apply_named_sequence(operation, sequence, script)
    except (mlir.ir.MLIRError, ValueError) as error:
        raise CompilationError(f"advised-tile at {where}: expected MLIR to tile it, got: {error}") from error


def _script(sizes: Sequence[int]) -> str:
    count = sum(size > 0 for size in sizes)
    handles = ", ".join([_HANDLE] * (count + 1))
    return f"""module attributes {{transform.with_named_sequence}} {{
        transform.named_sequence @__transform_main(%op: {_HANDLE} {{transform.consumed}}) {{
            %tile, %loops:{count} = transform.structured.tile_using_for %op tile_sizes {list(sizes)}
                : ({_HANDLE}) -> ({handles})
            transform.yield
        }}
    }}"""
