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

from passpilot.features.mlir_structured import structured
from passpilot.features.mlir_tile import FEATURES, SIZES, may_tile, observe_loop, observe_operation
from passpilot.features.point import Choice
from passpilot.features.spec import TensorSpec
from passpilot.passes.decision_point import DecisionPoint
from passpilot.passes.mlir import pass_
from passpilot.plugin.errors import CompilationError
from passpilot.plugin.mlir import bindings, operations_in
from passpilot.plugin.module import ASKED, advised

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from passpilot.features.mlir_structured import Structured
    from passpilot.plugin.mlir_types import Operation

MLIR_TILE: Final = DecisionPoint[int](
    "mlir-tile",
    features=FEATURES,
    advice=TensorSpec("tile_choice", "int64", (1,)),
    domain=Choice(len(SIZES), "mask"),
    default=lambda _: SIZES.index(0),
)
"""The question: one of `SIZES`, by its place."""

_MARK: Final = "passpilot.tile"
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
                advised("advised-tile", [advisor], partial(_tile, root, found))


def tile(root: Operation) -> None:
    """Tile the structured operations in and below `root` as the advisor of `mlir-tile` advises.

    Raises:
        CompilationError: MLIR refuses to tile one of them.
        Error: the advisor has failed.
    """
    if MLIR_TILE.name in ASKED.get():
        _tile(root, _found(root))


def _found(root: Operation) -> Sequence[Structured]:
    """The operations of which a loop may be tiled."""
    ops = map(structured, operations_in(root))
    return [op for op in ops if op is not None and any(map(may_tile, op.loops))]


def _tile(root: Operation, found: Sequence[Structured]) -> None:
    plan = [(op.operation, sizes) for op in found if any(sizes := _ask(op))]
    if plan:
        _apply(root, plan)


def _ask(op: Structured) -> Sequence[int]:
    """The tile size of each loop."""
    sizes: list[int] = []
    common = observe_operation(op)
    for number, loop in enumerate(op.loops):
        choice = 0
        if may_tile(loop):
            choice = MLIR_TILE.ask({**common, **observe_loop(op, number, sizes)}, op.operation)
        sizes.append(SIZES[choice])
    return sizes


def _apply(root: Operation, plan: Sequence[tuple[Operation, Sequence[int]]]) -> None:
    """Tile operations, each of which is known to the script by the number that it is marked with."""
    mlir = bindings()
    ir, interpreter = mlir.ir, mlir.dialect("transform.interpreter")
    context: Any = root.context
    script = ir.Module.parse(_script([sizes for _, sizes in plan]), context)
    for number, (operation, _) in enumerate(plan):
        operation.attributes[_MARK] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, context), number)
    try:
        interpreter.apply_named_sequence(root, script.body.operations[0], script)
    except ir.MLIRError as error:
        raise CompilationError(
            f"advised-tile: expected MLIR to tile what it is told, got: {error}"
        ) from error
    finally:
        for operation in operations_in(root):
            if _MARK in operation.attributes:
                del operation.attributes[_MARK]


def _script(plan: Iterable[Sequence[int]]) -> str:
    """What the transform dialect is to do."""
    steps = []
    for number, sizes in enumerate(plan):
        count = sum(size > 0 for size in sizes)
        loops = ", ".join([_HANDLE] * count)
        match = f"transform.structured.match attributes {{{_MARK} = {number} : i64}} in %root"
        steps += [
            f"%o{number} = {match} : ({_HANDLE}) -> {_HANDLE}",
            f"%t{number}, %l{number}:{count} = transform.structured.tile_using_for %o{number} "
            f"tile_sizes {list(sizes)} : ({_HANDLE}) -> ({_HANDLE}, {loops})",
        ]
    body = "\n".join(steps)
    return f"""module attributes {{transform.with_named_sequence}} {{
        transform.named_sequence @__transform_main(%root: {_HANDLE}) {{
            {body}
            transform.yield
        }}
    }}"""
