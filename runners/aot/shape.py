# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators that move elements: reshapes of the same memory, and strided copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from llvmlite import ir

from passpilot.runners.aot.elementwise import broadcast_strides, dense_strides, walk
from passpilot.runners.aot.emitter import I64, Buffer, Emitter, Node, operator, refused


@operator("Identity", "Flatten")
@operator("Reshape", "Squeeze", "Unsqueeze", constant=(1,))
def same_memory(node: Node, emit: Emitter) -> None:
    """Changes the shape, not the elements or their order."""
    emit.alias(node.outputs[0], emit.value(node.inputs[0]))


@operator("Dropout", constant=(2,))
def dropout(node: Node, emit: Emitter) -> None:
    """The identity, in inference."""
    if len(node.outputs) > 1 or any(emit.integers(node, 2) or ()):
        raise refused(node, "inference", "training or a mask", "export the model in evaluation mode")
    emit.alias(node.outputs[0], emit.value(node.inputs[0]))


@operator("Transpose")
def transpose(node: Node, emit: Emitter) -> None:
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    rank = len(source.shape)
    order = node.integers("perm") or list(range(rank))[::-1]
    strides = dense_strides(source.shape)
    copy_from(emit, output, source, 0, [strides[axis] for axis in order])


def copy_from(emit: Emitter, output: Buffer, source: Buffer, base: int, strides: Sequence[int]) -> None:
    """Fill `output` from elements of `source`: the first at `base`, the others by `strides`."""
    with walk(emit, output.shape, [dense_strides(output.shape), strides]) as (to, at):
        at = emit.builder.add(at, I64(base), flags=("nsw",))
        emit.store(output, to, emit.load(source, at))


@operator("Slice", constant=(1, 2, 3, 4))
def slice_(node: Node, emit: Emitter) -> None:
    """Takes parts of axes, with constant bounds."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    starts = node.integers("starts") or emit.integers(node, 1) or []
    axes = node.integers("axes") or emit.integers(node, 3) or list(range(len(starts)))
    steps = emit.integers(node, 4) or [1] * len(starts)
    strides, base = dense_strides(source.shape), 0
    for axis, start, step in zip(axes, starts, steps, strict=True):
        axis %= len(source.shape)
        first = slice(start, None, step).indices(source.shape[axis])[0]
        base += first * strides[axis]
        strides[axis] *= step
    copy_from(emit, output, source, base, strides)


@operator("Expand", constant=(1,))
def expand(node: Node, emit: Emitter) -> None:
    """Broadcasts to a constant shape."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    copy_from(emit, output, source, 0, broadcast_strides(source.shape, output.shape))


@operator("Tile", constant=(1,))
def tile(node: Node, emit: Emitter) -> None:
    """Repeats every axis a constant number of times."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    sizes = zip(source.shape, output.shape, strict=True)
    shape = tuple(count for size, whole in sizes for count in (whole // max(size, 1), size))
    strides = [step for dense in dense_strides(source.shape) for step in (0, dense)]
    copy_from(emit, replace(output, shape=shape), source, 0, strides)


@operator("Concat")
def concat(node: Node, emit: Emitter) -> None:
    output = emit.output(node.outputs[0])
    strides = dense_strides(output.shape)
    axis, base = node.integer("axis", 0) % len(output.shape), 0
    for name in node.inputs:
        source = emit.value(name)
        with walk(emit, source.shape, [dense_strides(source.shape), strides]) as (at, to):
            to = emit.builder.add(to, I64(base), flags=("nsw",))
            emit.store(output, to, emit.load(source, at))
        base += source.shape[axis] * strides[axis]


@operator("Split", constant=(1,))
def split(node: Node, emit: Emitter) -> None:
    """Splits a tensor along an axis, at constant positions."""
    source = emit.value(node.inputs[0])
    strides = dense_strides(source.shape)
    axis, base = node.integer("axis", 0) % len(source.shape), 0
    for name in node.outputs:
        output = emit.output(name)
        copy_from(emit, output, source, base, strides)
        base += output.shape[axis] * strides[axis]


def _checked(emit: Emitter, indices: Buffer, at: ir.Value, size: int) -> ir.Value:
    """Load an index into an axis; a negative one counts from the end, one out of range fails the run."""
    build = emit.builder
    index = emit.load(indices, at)
    index = build.sext(index, I64) if indices.dtype.itemsize < 8 else index
    negative = build.icmp_signed("<", index, I64(0))
    index = build.select(negative, build.add(index, I64(size)), index)
    good = build.icmp_unsigned("<", index, I64(size))
    emit.check(good)
    return build.select(good, index, I64(0))


@operator("Gather", "ArrayFeatureExtractor")
def gather(node: Node, emit: Emitter) -> None:
    """Takes the positions of an axis that an integer tensor lists; ArrayFeatureExtractor: the last axis."""
    source, indices = emit.value(node.inputs[0]), emit.value(node.inputs[1])
    output = emit.output(node.outputs[0])
    rank = len(source.shape)
    axis = node.integer("axis", 0) % rank if node.op_type == "Gather" else rank - 1
    before, size, after = prod(source.shape[:axis]), source.shape[axis], prod(source.shape[axis + 1 :])
    shape = (before, indices.size, after)
    rows = [[0, 1, 0], dense_strides(shape), [size * after, 0, 1]]
    with walk(emit, shape, rows) as (at, to, base):
        index = _checked(emit, indices, at, size)
        place = emit.builder.add(base, emit.builder.mul(index, I64(after)))
        emit.store(output, to, emit.load(source, place))


@operator("GatherElements")
def gather_elements(node: Node, emit: Emitter) -> None:
    """Takes one element of an axis for every element of the output."""
    source, indices = emit.value(node.inputs[0]), emit.value(node.inputs[1])
    output = emit.output(node.outputs[0])
    axis = node.integer("axis", 0) % len(source.shape)
    size, strides = source.shape[axis], dense_strides(source.shape)
    others = [0 if at == axis else step for at, step in enumerate(strides)]
    with walk(emit, output.shape, [dense_strides(output.shape), others]) as (to, base):
        index = _checked(emit, indices, to, size)
        place = emit.builder.add(base, emit.builder.mul(index, I64(strides[axis])))
        emit.store(output, to, emit.load(source, place))
