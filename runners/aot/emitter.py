# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Emitter`: writes LLVM IR for a graph's nodes; and the table of operators.

An operator is a function that writes the IR of one node, registered by the op type:

    @operator("Relu")
    def relu(node: Node, emit: Emitter) -> None: ...

All shapes are known, so that tensors are plain memory, row-major and dense: inputs and outputs in the
caller's memory, small results on the stack, large ones in the instance's arena. Nothing is allocated while
the model runs. Booleans are bytes in memory and ``i1`` in registers. Tensors have their element's alignment.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final, TypeAlias

import numpy as np
from llvmlite import ir
from numpy.typing import DTypeLike, NDArray

from passpilot.plugin.errors import ModelError

Array: TypeAlias = NDArray[np.generic]
Attribute: TypeAlias = Any
"""A number, a text, a list of these, or a tensor."""
Lowering: TypeAlias = "Callable[[Node, Emitter], None]"

I1: Final = ir.IntType(1)
I8: Final = ir.IntType(8)
I32: Final = ir.IntType(32)
I64: Final = ir.IntType(64)
POINTER: Final = ir.PointerType()
INTERNAL: Final = "model."
"""The prefix of the names of functions and data; no C program can name them."""
FLAGS: Final = ("contract",)
"""The flags of floating-point operations: a product and a sum may be fused, nothing may be reordered."""

_STACK_EACH: Final = 4096
_STACK_TOTAL: Final = 1 << 16

_TYPES: Final[dict[str, ir.Type]] = {
    "float32": ir.FloatType(),
    "float64": ir.DoubleType(),
    "bool": I8,
    **{f"{sign}int{bits}": ir.IntType(bits) for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


@dataclass(frozen=True, slots=True)
class Node:
    """One operation of the graph; an omitted optional input is an empty name."""

    op_type: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Attribute]
    opset: int
    """The version of the op type's domain."""

    def __str__(self) -> str:
        return f"node {self.name or ', '.join(self.outputs)!r} ({self.op_type})"

    def input(self, place: int) -> str:
        """The name of an input; empty if it is omitted."""
        return self.inputs[place] if place < len(self.inputs) else ""

    def integer(self, name: str, default: int) -> int:
        return int(self.attributes.get(name, default))

    def number(self, name: str, default: float) -> float:
        """A float attribute, which ONNX stores as float32."""
        return float(np.float32(self.attributes.get(name, default)))

    def text(self, name: str, default: str) -> str:
        return str(self.attributes.get(name, default))

    def integers(self, name: str) -> list[int] | None:
        """A list of integers, or None."""
        value = self.attributes.get(name)
        return [int(item) for item in value] if isinstance(value, list) else None

    def numbers(self, name: str) -> list[float]:
        """A list of floats; empty if there is none."""
        value = self.attributes.get(name)
        return [float(item) for item in value] if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor in memory: dense, row-major."""

    pointer: ir.Value
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def element(self) -> ir.Type:
        """The type of an element in memory."""
        return memory_type(self.dtype)


OPERATORS: Final[dict[str, Lowering]] = {}
"""The function that writes the IR of a node, by op type."""

CONSTANT: Final[dict[str, tuple[int, ...]]] = {}
"""The indices of inputs that must be constant, by op type."""


def operator(*names: str, constant: tuple[int, ...] = ()) -> Callable[[Lowering], Lowering]:
    """Register the decorated function for these op types.

    The inputs with the indices `constant` must be constant, as shapes depend on them.
    """

    def register(lower: Lowering) -> Lowering:
        OPERATORS.update(dict.fromkeys(names, lower))
        CONSTANT.update(dict.fromkeys(names, constant))
        return lower

    return register


def memory_type(dtype: np.dtype[np.generic]) -> ir.Type:
    """The LLVM type of an element in memory."""
    return _TYPES[dtype.name]


def register_type(dtype: np.dtype[np.generic]) -> ir.Type:
    """The LLVM type of an element in a register."""
    return I1 if dtype.kind == "b" else memory_type(dtype)


def is_supported(dtype: np.dtype[np.generic]) -> bool:
    """Whether tensors of the type can be compiled."""
    return dtype.name in _TYPES


def refused(node: Node, expected: str, got: str, hint: str = "") -> ModelError:
    """The error for a node that cannot be compiled."""
    return ModelError(f"{node}: expected {expected}, got {got}{f'; {hint}' if hint else ''}")


class Emitter:
    """Writes the body of one model, node after node.

    `specs` gives dtype and shape of every tensor, `known` the values of constant ones. `inputs` and `results`
    are the caller's memory for the model's inputs and outputs.
    """

    def __init__(
        self,
        builder: ir.IRBuilder,
        arena: ir.Value,
        specs: Mapping[str, tuple[np.dtype[np.generic], tuple[int, ...]]],
        known: Mapping[str, Array],
        inputs: Mapping[str, Buffer],
        results: Mapping[str, Buffer],
    ) -> None:
        self.builder = builder
        self.module: ir.Module = builder.module
        self.arena_size = 0
        self.wide = 32
        """The number of float32 that a dot product keeps in registers."""
        self._arena = arena
        self._specs = specs
        self._known = known
        self._results = results
        self._buffers = dict(inputs)
        self._stack = 0
        self._status: ir.Value | None = None

    def static(self, name: str) -> Array | None:
        """The value of a tensor that is the same in every run, else None."""
        return self._known.get(name)

    def integers(self, node: Node, place: int) -> list[int] | None:
        """The values of a constant input; None if it is omitted."""
        if not node.input(place):
            return None
        return [int(item) for item in self._known[node.inputs[place]].ravel()]

    def spec(self, name: str) -> tuple[np.dtype[np.generic], tuple[int, ...]]:
        return self._specs[name]

    def value(self, name: str) -> Buffer:
        """A tensor to read."""
        if name not in self._buffers:
            array = self._known[name]
            self._buffers[name] = self.constant(array)
        return self._buffers[name]

    def output(self, name: str) -> Buffer:
        """A tensor to write, even if the node leaves its name empty."""
        if name in self._results:
            self._buffers[name] = self._results[name]
        elif name not in self._buffers:
            self._buffers[name] = self.scratch(*self._specs[name])
        return self._buffers[name]

    def alias(self, name: str, buffer: Buffer) -> None:
        """Let an output share another tensor's memory, with its own shape."""
        dtype, shape = self._specs[name]
        assert buffer.dtype == dtype, "an alias has the type of its buffer"
        self._buffers[name] = Buffer(buffer.pointer, dtype, shape)

    def finish(self) -> None:
        """Copy those outputs to the results that are aliases, inputs or constants."""
        for name, result in self._results.items():
            source = self.value(name)
            if source.pointer is not result.pointer:
                with self.loop(result.size) as index:
                    self.store(result, index, self.load(source, index))

    def scratch(self, dtype: DTypeLike, shape: Sequence[int]) -> Buffer:
        """Uninitialised memory for the rest of the run."""
        kind = np.dtype(dtype)
        size = prod(shape) * kind.itemsize
        if size <= _STACK_EACH and self._stack + size <= _STACK_TOTAL:
            self._stack += size
            with self.builder.goto_entry_block():
                pointer = self.builder.alloca(ir.ArrayType(memory_type(kind), max(prod(shape), 1)))
            pointer.align, pointer.type = 64, POINTER
        else:
            pointer = self.builder.gep(self._arena, [I64(self.arena_size)], source_etype=I8)
            self.arena_size += -(-size // 64) * 64
        return Buffer(pointer, kind, tuple(shape))

    def constant(self, array: Array) -> Buffer:
        """Add a constant tensor to the module."""
        data = np.ascontiguousarray(array).tobytes()
        kind = ir.ArrayType(I8, len(data))
        name = self.module.get_unique_name(f"{INTERNAL}constant")
        held = ir.GlobalVariable(self.module, kind, name)
        held.global_constant, held.linkage, held.align, held.type = True, "internal", 64, POINTER
        held.initializer = ir.FormattedConstant(kind, 'c"\\' + data.hex("\\") + '"' if data else 'c""')
        return Buffer(held, array.dtype, array.shape)

    @contextlib.contextmanager
    def loop(self, count: int, step: int = 1, start: int = 0) -> Iterator[ir.Value]:
        """Loop over ``range(start, count, step)``; yield the index, int64."""
        trips = len(range(start, count, step))
        if trips == 1:
            yield I64(start)
            return
        build = self.builder
        before = build.block
        body, after = build.append_basic_block("body"), build.append_basic_block("after")
        build.cbranch(I1(trips > 0), body, after)
        build.position_at_end(body)
        index = build.phi(I64)
        index.add_incoming(I64(start), before)
        yield index
        following = build.add(index, I64(step), flags=("nuw", "nsw"))
        index.add_incoming(following, build.block)
        last = I64(start + (trips - 1) * step)
        build.cbranch(build.icmp_unsigned("!=", index, last), body, after)
        build.position_at_end(after)

    def cell(self, kind: ir.Type, initial: ir.Value) -> ir.Value:
        """A new variable, which LLVM turns into a register."""
        with self.builder.goto_entry_block():
            place = self.builder.alloca(kind)
        self.builder.store(initial, place)
        return place

    def get(self, cell: ir.Value, kind: ir.Type) -> ir.Value:
        """The value of a variable."""
        return self.builder.load(cell, typ=kind)

    def check(self, good: ir.Value) -> None:
        """Let the run return status 1 if an `i1` is false; the run goes on, and must stay safe."""
        if self._status is None:
            with self.builder.goto_entry_block():
                self._status = self.builder.alloca(I32)
                self.builder.store(I32(0), self._status)
        bad = self.builder.zext(self.builder.not_(good), I32)
        self.builder.store(self.builder.or_(self.get(self._status, I32), bad), self._status)

    def status(self) -> ir.Value:
        """The status that the run returns."""
        return I32(0) if self._status is None else self.get(self._status, I32)

    def address(self, buffer: Buffer, index: ir.Value) -> ir.Value:
        """The address of an element by its flat index."""
        return self.builder.gep(buffer.pointer, [index], inbounds=True, source_etype=buffer.element)

    def load(self, buffer: Buffer, index: ir.Value) -> ir.Value:
        """An element by its flat index."""
        value = self.builder.load(self.address(buffer, index), typ=buffer.element)
        value.align = buffer.dtype.itemsize
        if buffer.dtype.kind == "b":
            return self.builder.icmp_unsigned("!=", value, I8(0))
        return value

    def store(self, buffer: Buffer, index: ir.Value, value: ir.Value) -> None:
        """Set an element by its flat index."""
        if buffer.dtype.kind == "b":
            value = self.builder.zext(value, I8)
        self.builder.store(value, self.address(buffer, index), align=buffer.dtype.itemsize)
