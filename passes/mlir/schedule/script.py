# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a `KernelPlan` as a script of MLIR's transform dialect, for `mlir-opt -transform-interpreter`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from passpilot.passes.mlir.schedule.plan import KernelPlan, OperationPlan
from passpilot.passes.mlir.schedule.shape import SOFTMAX, OperationShape

_ANY: Final = "!transform.any_op"
_GENERIC: Final = '!transform.op<"linalg.generic">'
_PACK: Final = '!transform.op<"linalg.pack">'
_LOWERED_PACK: Final = ("tensor.pad", "tensor.expand_shape", "linalg.transpose")
_LOWERED_UNPACK: Final = ("tensor.empty", "linalg.transpose", "tensor.collapse_shape", "tensor.extract_slice")

SEQUENCE: Final = "__transform_main"

_CONTRACTIONS: Final = ("vector.transfer_permutation_patterns", "vector.reduction_to_contract")
_SUBSETS: Final = (
    "canonicalization",
    "tensor.fold_tensor_subset_ops_into_vector_transfers",
    "vector.cast_away_vector_leading_one_dim",
)
_VECTORS: Final = (
    'vector.lower_contraction lowering_strategy = "outerproduct"',
    'vector.lower_multi_reduction lowering_strategy = "innerreduction"',
    "vector.lower_transpose",
    "vector.lower_shape_cast",
)


@dataclass(slots=True)
class _Writer:
    """The lines of a sequence, and the number of values so far."""

    lines: list[str] = field(default_factory=list)
    values: int = 0

    def value(self) -> str:
        """The name of a new value."""
        self.values += 1
        return f"%{self.values}"

    def does(self, text: str, operand: str, kind: str = _ANY) -> None:
        """An operation without results."""
        self.lines.append(f"{text.format(operand)} : {kind}")

    def gives(
        self, text: str, operands: Sequence[str], results: Sequence[str], of: Sequence[str] = ()
    ) -> list[str]:
        """An operation with results of these types."""
        names = [self.value() for _ in results]
        kinds = of or [_ANY] * len(operands)
        left = f"{', '.join(names)} = " if names else ""
        made = results[0] if len(results) == 1 else f"({', '.join(results)})"
        self.lines.append(f"{left}{text.format(*operands)} : ({', '.join(kinds)}) -> {made}")
        return names

    def patterns(self, target: str, patterns: Sequence[str]) -> None:
        """Patterns that are applied together until nothing changes."""
        inner = " ".join(f"transform.apply_patterns.{pattern}" for pattern in patterns)
        self.lines.append(f"transform.apply_patterns to {target} {{{{ {inner} }}}} : {_ANY}".format())

    def operations(self, function: str, count: int) -> list[str]:
        """The structured operations of the function."""
        (found,) = self.gives("transform.structured.match interface{{LinalgOp}} in {}", [function], [_ANY])
        return self.gives("transform.split_handle {}", [found], [_ANY] * count) if count > 1 else [found]


def fusion_script(plan: KernelPlan, *, has_softmax: bool) -> str:
    """The first step of a plan."""
    writer = _Writer()
    _fuse(writer, plan, has_softmax=has_softmax)
    return _module(writer)


def softmax_script() -> str:
    """Decomposes every softmax of a module."""
    writer = _Writer()
    _softmax(writer, "%module")
    return _module(writer)


def structure_script(plan: KernelPlan, shapes: Sequence[OperationShape]) -> str:
    """The second step; `shapes` are those after the first one."""
    writer = _Writer()
    _structure(writer, plan, shapes)
    return _module(writer)


def operations_script(plan: KernelPlan, shapes: Sequence[OperationShape]) -> str:
    """The third step; `shapes` are those after the second one."""
    writer = _Writer()
    _operations(writer, plan, shapes)
    return _module(writer)


def whole_script(
    plan: KernelPlan, fused: Sequence[OperationShape], shapes: Sequence[OperationShape], *, has_softmax: bool
) -> str:
    """All steps in one script."""
    writer = _Writer()
    _fuse(writer, plan, has_softmax=has_softmax)
    _structure(writer, plan, fused)
    _operations(writer, plan, shapes)
    return _module(writer)


def _module(writer: _Writer) -> str:
    main = f"@{SEQUENCE}(%module: {_ANY} {{transform.readonly}})"
    body = "\n".join(f"    {line}" for line in [*writer.lines, "transform.yield"])
    return (
        "module attributes {transform.with_named_sequence} {\n"
        f"  transform.named_sequence {main} {{\n{body}\n  }}\n}}\n"
    )


def _function(writer: _Writer, plan: KernelPlan) -> str:
    name = plan.function.replace("\\", "\\\\").replace('"', '\\"')
    text = (
        f'transform.structured.match ops{{{{["func.func"]}}}} attributes {{{{sym_name = "{name}"}}}} in {{}}'
    )
    (function,) = writer.gives(text, ["%module"], [_ANY])
    return function


def _fuse(writer: _Writer, plan: KernelPlan, *, has_softmax: bool) -> None:
    function = _function(writer, plan)
    if has_softmax:
        _softmax(writer, function)
    if plan.fuse:
        text = 'transform.apply_registered_pass "linalg-fuse-elementwise-ops" to {}'
        writer.gives(text, [function], [_ANY])


def _softmax(writer: _Writer, root: str) -> None:
    text = f'transform.structured.match ops{{{{["{SOFTMAX}"]}}}} in {{}}'
    found = writer.gives(text, [root], [_ANY])
    writer.gives("transform.structured.decompose_interface {}", found, [_ANY])


def _structure(writer: _Writer, plan: KernelPlan, shapes: Sequence[OperationShape]) -> None:
    if plan.packs:
        function = _function(writer, plan)
        operations = writer.operations(function, len(shapes))
        for number, sizes in plan.packs.items():
            _pack(writer, operations[int(number)], shapes[int(number)], sizes)
        writer.patterns(function, ["canonicalization", "linalg.fold_pack_unpack_into_empty"])
        for name, results in (("pack", _LOWERED_PACK), ("unpack", _LOWERED_UNPACK)):
            kind = f'!transform.op<"linalg.{name}">'
            text = f'transform.structured.match ops{{{{["linalg.{name}"]}}}} in {{}}'
            found = writer.gives(text, [function], [kind])
            kinds = [f'!transform.op<"{result}">' for result in results]
            writer.gives(f"transform.structured.lower_{name} {{}}", found, kinds, [kind])
        writer.patterns(function, ["canonicalization"])
    if any(plan.root.tile):
        function = _function(writer, plan)
        root = writer.operations(function, len(shapes))[-1]
        tiles, order = list(plan.root.tile), list(plan.root.interchange)
        text = f"transform.structured.fuse {{}} tile_sizes {tiles}" + (
            f" interchange {order}" if order else ""
        )
        writer.gives(text, [root], [_ANY] * (1 + sum(size > 0 for size in tiles)))
        writer.patterns(function, ["canonicalization"])
        writer.does(
            "transform.apply_cse to {}", function
        )  # a producer of several consumers is there several times


def _pack(writer: _Writer, operation: str, shape: OperationShape, sizes: Sequence[int]) -> None:
    """Pack the operands, and lay out every panel so that its vectors are contiguous."""
    text = f"transform.structured.pack {{}} packed_sizes = {list(sizes)}"
    (packed,) = writer.gives(text, [operation], [_GENERIC])
    for number in range(shape.inputs):
        outer, inner = panel_order(shape, number, sizes)
        if outer is None and inner is None:
            continue
        (pack,) = writer.gives(
            f"transform.get_producer_of_operand {{}}[{number}]", [packed], [_PACK], [_GENERIC]
        )
        perms = "".join(
            f" {name}_perm = {list(perm)}" for name, perm in (("outer", outer), ("inner", inner)) if perm
        )
        text = f"transform.structured.pack_transpose {{}} with_compute_op({{}}){perms}"
        packed, _, _ = writer.gives(text, [pack, packed], [_GENERIC, _PACK, _ANY], [_PACK, _GENERIC])


def panel_order(
    shape: OperationShape, number: int, sizes: Sequence[int]
) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """How the dimensions of a packed operand move: reductions innermost among panels, outermost within.

    None where nothing moves.
    """
    loops = [next(iter(loops)) if len(loops) == 1 else -1 for loops in shape.operands[number].loops]
    reductions = shape.reductions
    outer = sorted(range(len(loops)), key=lambda at: loops[at] in reductions)
    packed = [loop for loop, size in enumerate(sizes) if size and loop in loops]
    inner = sorted(range(len(packed)), key=lambda at: packed[at] not in reductions)
    return (
        None if outer == sorted(outer) else tuple(outer),
        None if inner == sorted(inner) else tuple(inner),
    )


def _operations(writer: _Writer, plan: KernelPlan, shapes: Sequence[OperationShape]) -> None:
    function = _function(writer, plan)
    if any(map(_is_planned, plan.operations)):
        handles = writer.operations(function, len(shapes))
        for handle, shape, operation in zip(handles, shapes, plan.operations, strict=False):
            if _is_planned(operation):
                _operation(writer, handle, shape, operation)
    writer.patterns(function, ["canonicalization", *_SUBSETS[1:]])
    writer.patterns(function, _VECTORS)
    writer.patterns(function, ["canonicalization"])


def _is_planned(plan: OperationPlan) -> bool:
    return any(plan.tile) or bool(plan.vector) or plan.threads > 1


def _operation(writer: _Writer, handle: str, shape: OperationShape, plan: OperationPlan) -> None:
    order = list(plan.interchange) or list(range(len(shape.loops)))
    if plan.threads > 1:
        shared = next((loop for loop in order if loop in shape.parallel and shape.extents[loop] > 1), None)
        if shared is not None:
            share = _share(shape.extents[shared], plan, shared)
            sizes = [share if loop == shared else 0 for loop in range(len(shape.loops))]
            text = f"transform.structured.tile_using_forall {{}} tile_sizes {sizes}"
            handle, _ = writer.gives(text, [handle], [_ANY, _ANY])
    if any(plan.tile):
        handle, *_ = _tiled(writer, handle, plan.tile, order)
    if plan.vector:
        _vectorized(writer, handle, shape, plan, order)


def _share(extent: int, plan: OperationPlan, loop: int) -> int:
    """The iterations of a loop for one thread: whole tiles, and the same number for all where possible."""
    least = max((plan.tile[loop] if plan.tile else 0), (plan.vector[loop] if plan.vector else 0), 1)
    even = [size for size in range(least, extent, least) if extent % size == 0]
    fair = -(-extent // plan.threads)
    return min(even, key=lambda size: abs(size - fair), default=-(-fair // least) * least)


def _tiled(writer: _Writer, handle: str, sizes: Sequence[int], order: Sequence[int]) -> list[str]:
    """The tile, and its loops, outermost first."""
    text = f"transform.structured.tile_using_for {{}} tile_sizes {list(sizes)} interchange = {list(order)}"
    return writer.gives(text, [handle], [_ANY] * (1 + sum(size > 0 for size in sizes)))


def _vectorized(
    writer: _Writer, handle: str, shape: OperationShape, plan: OperationPlan, order: Sequence[int]
) -> None:
    """Tile to vectors; what the loops of a reduction do not change stays in registers."""
    parallel = [loop for loop in reversed(order) if loop in shape.parallel]
    inner = [*parallel, *(loop for loop in order if loop in shape.reductions)]
    tiled = [loop for loop in inner if plan.vector[loop]]
    if not tiled:
        writer.does("transform.structured.vectorize {}", handle)
        return
    handle, *loops = _tiled(writer, handle, plan.vector, inner)
    reducing = [at for loop, at in zip(tiled, loops, strict=True) if loop in shape.reductions][::-1]
    if shape.is_tensor:
        for loop in reducing:
            writer.does("transform.loop.hoist_loop_invariant_subsets {}", loop)
    last = loops[-1]
    writer.gives("transform.structured.generalize {}", [handle], [_ANY])
    writer.patterns(last, ["linalg.fold_unit_extent_dims_via_slices"])
    (small,) = writer.gives('transform.structured.match ops{{["linalg.generic"]}} in {}', [last], [_ANY])
    writer.does("transform.structured.vectorize {}", small)
    if shape.reductions:
        writer.patterns(last, _CONTRACTIONS)
    writer.patterns(last, _SUBSETS)
    if shape.is_tensor:
        for loop in reducing:
            writer.does("transform.apply_licm to {}", loop)
            writer.does("transform.loop.hoist_loop_invariant_subsets {}", loop)
    if plan.unroll > 1:
        writer.does(f"transform.loop.unroll {{}} {{{{factor = {plan.unroll}}}}}", last)
