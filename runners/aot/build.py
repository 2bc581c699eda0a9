# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a `Graph` or a `Function` to LLVM IR of one constant, `passpilot_model`, and that to machine code.

passpilot_model.h declares the constant. LLVM's own ``default<O3>`` optimizes the IR. A library is linked
without any other library: malloc and memcpy are the process's own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Final

from llvmlite import ir
from onnx import helper

from passpilot.plugin import _core
from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.plugin.version import MAJOR
from passpilot.runners.aot.emitter import (
    I8,
    I32,
    I64,
    INTERNAL,
    OPERATORS,
    POINTER,
    Buffer,
    Emitter,
)
from passpilot.runners.aot.function.program import Function
from passpilot.runners.aot.graph import Graph, Tensor

ABI: Final = 2
SYMBOL: Final = "passpilot_policy"
CUSTOM_SYMBOL: Final = "passpilot_custom_features"
"""The text ``name=file.py,...`` of a shared library whose model reads features of users."""
FAILURES_SYMBOL: Final = "passpilot_failures"
"""The texts of the statuses from 2 on, one per line, of a shared library of a Python function."""
LINKERS: Final = (f"ld.lld-{MAJOR}", "ld.lld", "ld", "cc", f"clang-{MAJOR}")
"""Tried in this order; all take the same arguments."""

_CALLED: Final = ("aligned_alloc", "free", "memcpy", "memmove", "memset")
_TENSOR: Final = ir.LiteralStructType([POINTER, POINTER, I32, I32, I64, POINTER])
_LINK_SECONDS: Final = 60
EVALUATE: Final = ir.FunctionType(I32, [POINTER] * 3)
"""Of context, inputs and output block; returns the status."""

_NO_GATHER: Final = "+prefer-no-gather"
"""With the microcode against its data leak, x86's gather is slower than single loads: six times in a forest
of 100 trees."""


@dataclass(frozen=True, slots=True)
class Processor:
    """The target of code generation: triple, -mcpu, -mattr, and the features that the code needs."""

    triple: str
    name: str
    attributes: str
    features: Sequence[str]

    @classmethod
    def find(cls, name: str) -> Processor:
        """The processor that -mcpu calls `name`; ``native`` is this machine's.

        Raises:
            InputError: LLVM does not know it.
        """
        triple, cpu, attributes, features = _core.processor(name)
        if triple.startswith("x86_64"):
            attributes = ",".join(filter(None, (attributes, _NO_GATHER)))
        return cls(triple, cpu, attributes, features)

    @property
    def wide(self) -> int:
        """The number of float32 accumulators of a dot product that fit into registers."""
        return 64 if "avx" in self.features else 32


def compile_graph(graph: Graph | Function, processor: Processor, symbol: str = SYMBOL) -> Module:
    """Compile a graph or a function to an optimized module.

    Raises:
        ModelError: a node cannot be compiled.
        PolicyError: a part of the function cannot be compiled.
    """
    built = _Builder(graph, processor, symbol).build()
    module = Module.read(built, name=symbol, mtriple=processor.triple, for_codegen=True)
    options = _core.PipelineOptions()
    options.cpu, options.features = processor.name, processor.attributes
    module._core.optimize("default<O3>", [], None, options)
    return module


def object_of(module: Module, processor: Processor) -> bytes:
    """Compile the module to a position-independent object file."""
    options = _core.EmitOptions()
    options.filetype, options.opt_level, options.relocation_model = _core.FileType.OBJ, 3, "pic"
    options.cpu, options.features = processor.name, processor.attributes
    return module._core.emit(options, []).code


def link(code: bytes, driver: Sequence[str] = ()) -> bytes:
    """Link an object file to a shared library, without other libraries or with those of a compiler driver.

    Raises:
        InputError: no linker was found, or it failed.
    """
    linker = driver[0] if driver else next(filter(None, map(shutil.which, LINKERS)), None)
    if linker is None:
        raise InputError(
            f"aot: expected a linker, one of {', '.join(LINKERS)}, got none; install lld, or use -o policy.o"
        )
    with tempfile.TemporaryDirectory(prefix="passpilot-") as folder:
        source, target = Path(folder, "policy.o"), Path(folder, "policy.so")
        start = driver or [linker, "-nostdlib"]
        command = [*start, "-shared", "-o", str(target), str(source)]
        try:
            source.write_bytes(code)
            done = subprocess.run(
                command, capture_output=True, errors="surrogateescape", timeout=_LINK_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            msg = f"aot: expected {linker} to link, got: {error}; use -o policy.o, or set TMPDIR"
            raise InputError(msg) from error
        if done.returncode != 0:
            msg = f"aot: expected {linker} to link, got exit code {done.returncode}: {done.stderr[-500:]}"
            raise InputError(msg)
        return target.read_bytes()


def is_symbol(name: str) -> bool:
    """Whether `name` is a C identifier, and not that of a function that the code calls."""
    return name not in _CALLED and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name, re.ASCII) is not None


class _Builder:
    """Writes the module's functions and data; everything but the symbol is internal."""

    def __init__(self, graph: Graph | Function, processor: Processor, symbol: str) -> None:
        self.graph = graph
        self.processor = processor
        self.symbol = symbol
        self.module = ir.Module(symbol)
        self.module.triple = processor.triple

    def build(self) -> ir.Module:
        if isinstance(self.graph, Graph):
            run, arena = self._run(self.graph)
            evaluate = self._evaluate(run)
        else:
            arena, evaluate = 0, self._evaluate_function(self.graph)
        self._describe(self._create(arena), evaluate, self._switch_context(), self._destroy(arena))
        return self.module

    def _evaluate_function(self, function: Function) -> ir.Function:
        evaluate, builder = self._function(EVALUATE, "evaluate")
        function.write(builder, *evaluate.args[1:])
        return evaluate

    def _run(self, graph: Graph) -> tuple[ir.Function, int]:
        """The model's function of arena, output block and inputs, none of which overlap; the arena's size."""
        kind = ir.FunctionType(I32, [POINTER] * (2 + len(graph.inputs)))
        run, builder = self._function(kind, "run")
        run.attributes.add("noinline")
        for argument in run.args:
            argument.add_attribute("noalias")
        body = run.append_basic_block("model")
        builder.branch(body)
        builder.position_at_end(body)
        arena, block, *places = run.args
        inputs = {
            tensor.name: Buffer(place, tensor.dtype, tensor.shape)
            for tensor, place in zip(graph.inputs, places, strict=True)
        }
        results = {
            tensor.name: Buffer(
                builder.gep(block, [I64(offset)], source_etype=I8), tensor.dtype, tensor.shape
            )
            for tensor, offset in zip(graph.outputs, self._offsets(), strict=False)
        }
        emitter = Emitter(builder, arena, graph.specs, graph.known, inputs, results)
        emitter.wide = self.processor.wide
        for node in graph.nodes:
            OPERATORS[node.op_type](node, emitter)
        emitter.finish()
        builder.ret(emitter.status())
        return run, emitter.arena_size

    def _offsets(self) -> list[int]:
        """The outputs' byte offsets in the output block, then the block's size."""
        offsets = [0]
        for tensor in self.graph.outputs:
            size = tensor.dtype.itemsize * prod(tensor.shape)
            offsets.append(offsets[-1] + -(-size // 8) * 8)
        return offsets

    def _function(self, kind: ir.FunctionType, name: str) -> tuple[ir.Function, ir.IRBuilder]:
        function = ir.Function(self.module, kind, f"{INTERNAL}{name}")
        function.linkage = "internal"
        function.attributes.add("nounwind")
        return function, ir.IRBuilder(function.append_basic_block("entry"))

    def _create(self, arena: int) -> ir.Function:
        create, builder = self._function(ir.FunctionType(POINTER, []), "create")
        if arena:
            allocate = ir.Function(self.module, ir.FunctionType(POINTER, [I64, I64]), "aligned_alloc")
            builder.ret(builder.call(allocate, [I64(64), I64(arena)]))
        else:
            builder.ret(self._global("no_context", I64(0)))
        return create

    def _destroy(self, arena: int) -> ir.Function:
        destroy, builder = self._function(ir.FunctionType(ir.VoidType(), [POINTER]), "destroy")
        if arena:
            free = ir.Function(self.module, destroy.ftype, "free")
            builder.call(free, destroy.args)
        builder.ret_void()
        return destroy

    def _switch_context(self) -> ir.Function:
        switch, builder = self._function(ir.FunctionType(ir.VoidType(), [POINTER] * 2), "switch_context")
        builder.ret_void()
        return switch

    def _evaluate(self, run: ir.Function) -> ir.Function:
        evaluate, builder = self._function(EVALUATE, "evaluate")
        context, inputs, output = evaluate.args
        places = [
            builder.load(builder.gep(inputs, [I64(at)], source_etype=POINTER), typ=POINTER)
            for at in range(len(self.graph.inputs))
        ]
        builder.ret(builder.call(run, [context, output, *places]))
        return evaluate

    def _global(self, name: str, value: ir.Constant) -> ir.GlobalVariable:
        unique = self.module.get_unique_name(f"{INTERNAL}{name}")
        constant = ir.GlobalVariable(self.module, value.type, unique)
        constant.linkage, constant.global_constant, constant.initializer = "internal", True, value
        return constant

    def _text(self, text: str) -> ir.GlobalVariable:
        data = bytearray(text.encode() + b"\0")
        return self._global("text", ir.Constant(ir.ArrayType(I8, len(data)), data))

    def _tensors(self, tensors: Sequence[Tensor], offsets: Sequence[int]) -> ir.GlobalVariable:
        rows = [self._tensor(tensor, offset) for tensor, offset in zip(tensors, offsets, strict=False)]
        return self._global("tensors", ir.Constant(ir.ArrayType(_TENSOR, len(rows)), rows))

    def _tensor(self, tensor: Tensor, offset: int) -> ir.Constant:
        rank = len(tensor.shape)
        shape = ir.Constant(ir.ArrayType(I64, rank), [I64(size) for size in tensor.shape])
        kind = helper.np_dtype_to_tensor_dtype(tensor.dtype)
        name, columns = self._text(tensor.name), self._text(",".join(tensor.columns))
        return ir.Constant(_TENSOR, [name, self._global("shape", shape), rank, int(kind), offset, columns])

    def _describe(self, *functions: ir.Function) -> None:
        graph, processor, offsets = self.graph, self.processor, self._offsets()
        head = [I32(number) for number in (ABI, len(graph.inputs), len(graph.outputs), 0)]
        nowhere = [0] * len(graph.inputs)
        tensors = [self._tensors(graph.inputs, nowhere), self._tensors(graph.outputs, offsets)]
        texts = (graph.digest, processor.triple, processor.name, ",".join(processor.features))
        fields = [*head, *tensors, ir.Constant(I64, offsets[-1]), *map(self._text, texts), *functions]
        kinds = [POINTER if isinstance(field, ir.GlobalValue) else field.type for field in fields]
        value = ir.Constant(ir.LiteralStructType(kinds), fields)
        model = ir.GlobalVariable(self.module, value.type, self.symbol)
        model.global_constant, model.initializer, model.align = True, value, 8
        failures = "" if isinstance(graph, Graph) else "\n".join(graph.failures)
        for symbol, value in ((CUSTOM_SYMBOL, graph.custom_features), (FAILURES_SYMBOL, failures)):
            if value and self.symbol == SYMBOL:
                data = bytearray(value.encode() + b"\0")
                text = ir.GlobalVariable(self.module, ir.ArrayType(I8, len(data)), symbol)
                text.global_constant, text.initializer = True, ir.Constant(text.type.pointee, data)


def file_kind(path: str) -> str:
    """The kind of file that a path names: ``so``, ``o`` or ``ll``.

    Raises:
        InputError: the path has another ending.
    """
    kind = os.path.splitext(path)[1].removeprefix(".")
    if kind not in ("so", "o", "ll"):
        raise InputError(f"aot: expected an output that ends in .so, .o or .ll, got {path!r}")
    return kind
