# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`advised-tile`: the tile sizes of linalg's structured operations, by the advice of a runner.

The runner is asked about each loop of an operation, the outermost first. The transform dialect does the
tiling: around the loops of what is left of the operation come those from tile to tile. Run twice, the pass
tiles the tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from passpilot.features.mlir.structured import structured
from passpilot.features.mlir.tile import TABLE, TILE_SIZES, may_tile, observe_loop, observe_operation
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir.api import pass_
from passpilot.plugin.asking import ASKED, advised
from passpilot.plugin.errors import CompilationError
from passpilot.plugin.mlir.bindings import bindings, operations_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.features.mlir.structured import Structured
    from passpilot.plugin.mlir.protocols import Operation

MLIR_TILE: Final = DecisionPoint[int].of(TABLE, lambda _: TILE_SIZES.index(0))
"""The question: one of `TILE_SIZES`, by its place."""

_HANDLE: Final = "!transform.any_op"


@pass_("advised-tile")
@dataclass(frozen=True)
class AdvisedTile:
    """Tiles structured operations of linalg as the runner of `mlir-tile` advises; not at all by default."""

    runner: str | None = None

    def run(self, root: Operation) -> None:
        """Ask the runner that it names, or the one that advises the compilation, about each operation."""
        if self.runner is None:
            tile(root)
        elif found := _found(root):
            with MLIR_TILE.advisor(self.runner) as advisor:
                advised("advised-tile", [advisor], partial(_tile, found))


def tile(root: Operation) -> None:
    """Tile the structured operations in and below `root` as the advisor of `mlir-tile` advises.

    Raises:
        CompilationError: MLIR refuses to tile one of them.
        Error: the advisor has failed.
    """
    if MLIR_TILE.name in ASKED.get():
        _tile(_found(root))


def _found(root: Operation) -> Sequence[Structured]:
    """The operations of which a loop may be tiled."""
    ops = map(structured, operations_in(root))
    return [op for op in ops if op is not None and any(map(may_tile, op.loops))]


def _tile(found: Sequence[Structured]) -> None:
    plan = [(op.operation, sizes) for op in found if any(sizes := _ask(op))]
    _apply(plan)


def _ask(op: Structured) -> Sequence[int]:
    """The tile size of each loop."""
    sizes: list[int] = []
    common = observe_operation(op)
    for number, loop in enumerate(op.loops):
        choice = 0
        if may_tile(loop):
            choice = MLIR_TILE.ask({**common, **observe_loop(op, number, sizes)}, op.operation)
        sizes.append(TILE_SIZES[choice])
    return sizes


def _apply(plan: Sequence[tuple[Operation, Sequence[int]]]) -> None:
    """Tile operations, those in another's body before that, which tiling makes anew."""
    scripts: dict[str, Any] = {}
    for operation, sizes in reversed(plan):
        text = _script(sizes)
        if text not in scripts:
            scripts[text] = bindings().ir.Module.parse(text, operation.context)
        _run(scripts[text], operation)


def _run(script: Any, operation: Operation) -> None:
    """Run a script on an operation, which is gone afterwards."""
    mlir, where = bindings(), operation.location
    try:
        sequence = script.body.operations[0]
        mlir.dialect("transform.interpreter").apply_named_sequence(operation, sequence, script)
    except mlir.ir.MLIRError as error:
        raise CompilationError(f"advised-tile at {where}: expected MLIR to tile it, got: {error}") from error


def _script(sizes: Sequence[int]) -> str:
    """What the transform dialect is to do with an operation."""
    count = sum(size > 0 for size in sizes)
    handles = ", ".join([_HANDLE] * (count + 1))
    return f"""module attributes {{transform.with_named_sequence}} {{
        transform.named_sequence @__transform_main(%op: {_HANDLE} {{transform.consumed}}) {{
            %tile, %loops:{count} = transform.structured.tile_using_for %op tile_sizes {list(sizes)}
                : ({_HANDLE}) -> ({handles})
            transform.yield
        }}
    }}"""
