# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`schedule`: carries a `KernelPlan` out in a module, and says which operations every step has left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from passpilot.passes.mlir.schedule.plan import KernelPlan
from passpilot.passes.mlir.schedule.script import (
    fusion_script,
    operations_script,
    softmax_script,
    structure_script,
    whole_script,
)
from passpilot.passes.mlir.schedule.shape import SOFTMAX, OperationShape, functions_in, shapes_in
from passpilot.plugin.errors import CompilationError, InputError
from passpilot.plugin.mlir.bindings import bindings, operations_in
from passpilot.plugin.mlir.diagnostics import error_list

if TYPE_CHECKING:
    from collections.abc import Callable

    from passpilot.plugin.mlir.protocols import Operation

    Decide = Callable[[KernelPlan, Operation, Sequence[OperationShape]], KernelPlan]


@dataclass(frozen=True, slots=True)
class ScheduledShapes:
    """The operations after the first and the second step of a plan."""

    plan: KernelPlan
    fused: tuple[OperationShape, ...]
    structured: tuple[OperationShape, ...]
    has_softmax: bool

    def script(self, plan: KernelPlan) -> str:
        """The script of a plan with this structure."""
        return whole_script(plan, self.fused, self.structured, has_softmax=self.has_softmax)


def _as_it_is(plan: KernelPlan, _function: Operation, _shapes: Sequence[OperationShape]) -> KernelPlan:
    return plan


def schedule(
    module: Operation, plan: KernelPlan, structure: Decide = _as_it_is, operations: Decide = _as_it_is
) -> ScheduledShapes:
    """Schedule a function in a module as a plan says.

    Args:
        module: the module, which the steps change.
        plan: what to do.
        structure: may change the plan when elementwise operations are fused.
        operations: may change the plan when loops are fused and operands packed.

    Raises:
        InputError: there is no such function, or a number of the plan is that of no operation.
        CompilationError: MLIR cannot carry the plan out.
    """
    function, who = _function(module, plan.function), f"schedule: function {plan.function}"
    has_softmax = any(each.name == SOFTMAX for each in operations_in(function))
    _run(module, who, fusion_script(plan, has_softmax=has_softmax))
    fused = shapes_in(_function(module, plan.function))
    _check_structure(plan, fused)
    plan = structure(plan, _function(module, plan.function), fused)
    _run(module, who, structure_script(plan, fused))
    shapes = shapes_in(_function(module, plan.function))
    _check_operations(plan, shapes)
    plan = operations(plan, _function(module, plan.function), shapes)
    _run(module, who, operations_script(plan, shapes))
    return ScheduledShapes(plan, fused, shapes, has_softmax)


def decompose_softmax(module: Operation) -> None:
    """Give every softmax of a module the operations that MLIR can lower.

    Raises:
        CompilationError: MLIR refuses to.
    """
    if any(each.name == SOFTMAX for each in operations_in(module)):
        _run(module, "lower", softmax_script())


def _function(module: Any, name: str) -> Any:
    if found := functions_in(module).get(name):
        return found
    raise InputError(f"schedule: expected a function {name} in the module, got none")


def _run(module: Any, who: str, text: str) -> None:
    mlir = bindings()
    with error_list(module.context, lambda _: None) as errors:
        try:
            script = mlir.ir.Module.parse(text, module.context)
            sequence = script.body.operations[0]
            mlir.dialect("transform.interpreter").apply_named_sequence(module, sequence, script)
        except (mlir.ir.MLIRError, ValueError) as error:
            got = errors[0].message if errors else str(error).partition("\n")[2] or str(error)
            msg = f"{who}: expected MLIR to carry the plan out, got: {got}"
            raise CompilationError(msg) from error


def _check_structure(plan: KernelPlan, shapes: Sequence[OperationShape]) -> None:
    who = f"schedule: function {plan.function}"
    for number, sizes in plan.packs.items():
        if not number.isdecimal() or int(number) >= len(shapes):
            raise InputError(f"{who}: packs: expected numbers below {len(shapes)}, got {number}")
        _check_count(f"{who}: packs: {number}", sizes, shapes[int(number)])
    if any(plan.root.tile):
        if plan.packs:
            raise InputError(f"{who}: root: expected no packs beside it, got {len(plan.packs)}")
        if not shapes:
            raise InputError(f"{who}: root: expected operations of linalg, got none")
        _check_count(f"{who}: root: tile", plan.root.tile, shapes[-1])
        _check_order(f"{who}: root", plan.root.interchange, shapes[-1])


def _check_operations(plan: KernelPlan, shapes: Sequence[OperationShape]) -> None:
    who = f"schedule: function {plan.function}: operations"
    if len(plan.operations) > len(shapes):
        raise InputError(f"{who}: expected at most {len(shapes)}, got {len(plan.operations)}")
    for number, (operation, shape) in enumerate(zip(plan.operations, shapes, strict=False)):
        for name, sizes in (("tile", operation.tile), ("vector", operation.vector)):
            if sizes:
                _check_count(f"{who}[{number}]: {name}", sizes, shape)
        _check_order(f"{who}[{number}]", operation.interchange, shape)


def _check_count(where: str, sizes: Sequence[int], shape: OperationShape) -> None:
    if len(sizes) != len(shape.loops):
        raise InputError(f"{where}: expected {len(shape.loops)} numbers for {shape.name}, got {len(sizes)}")
    for loop, size in zip(shape.loops, sizes, strict=True):
        if loop.is_fixed and size:
            raise InputError(f"{where}: expected 0 for a loop whose order matters, got {size}")


def _check_order(where: str, order: Sequence[int], shape: OperationShape) -> None:
    if order and sorted(order) != list(range(len(shape.loops))):
        loops = f"each of the {len(shape.loops)} loops of {shape.name} once"
        raise InputError(f"{where}: interchange: expected {loops}, got {list(order)}")
