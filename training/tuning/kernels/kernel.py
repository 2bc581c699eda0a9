# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Kernel`: a function of linalg operations that can be compiled and run with made-up arguments."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

from passpilot.passes.mlir.schedule.shape import functions_in, linalg_operations, shapes_in
from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import UPSTREAM, bindings
from passpilot.plugin.mlir.source import Source, read_sources

SUFFIXES: Final = (".mlir", ".mlirbc")
"""Of the files that are kernels."""

ELEMENTS: Final = {
    "f32": "float32",
    "f64": "float64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}
"""The element types that a kernel's arguments and results may have, with numpy's names."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument or a result; a number has no shape."""

    element: str
    """The name of numpy's type."""
    shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Kernel:
    """One function of a module."""

    name: str
    """The file, for people."""
    text: bytes
    function: str
    arguments: tuple[Argument, ...]
    results: tuple[Argument, ...]
    flops: float
    """The arithmetic operations of its linalg operations."""

    @classmethod
    def read(cls, path: str | os.PathLike[str], function: str = "") -> Kernel:
        """Read a kernel: the function of this name, or the only one with linalg operations.

        Raises:
            InputError: it cannot be read, has no such function, or the function cannot be searched.
        """
        mlir = bindings()
        if mlir.root != UPSTREAM:
            hint = 'run: pip install "passpilot[mlir]", and unset PASSPILOT_MLIR'
            raise InputError(
                f"tune: expected upstream's bindings of MLIR for kernels, got {mlir.root}; {hint}"
            )
        (source,) = read_sources(os.fspath(path), split=False)
        module = parsed_kernel(source.data, source.name)
        found = _function(source.name, module, function)
        where = f"tune: {source.name}: function {_name(found)}"
        kind = found.attributes["function_type"].value
        return cls(
            source.name,
            source.data,
            _name(found),
            tuple(_argument(where, f"argument {number}", each) for number, each in enumerate(kind.inputs)),
            tuple(_argument(where, f"result {number}", each) for number, each in enumerate(kind.results)),
            sum(shape.flops for shape in shapes_in(found)),
        )


def parsed_kernel(text: bytes, name: str) -> Any:
    """The module of a kernel in a context of its own, with one thread, so that this process can fork.

    Raises:
        InputError: it is no module.
    """
    mlir = bindings()
    context = mlir.ir.Context()
    context.enable_multithreading(False)
    return Source(name, text, whole=False).parse(mlir, context, lambda _: None)


def _name(function: Any) -> str:
    name: str = function.attributes["sym_name"].value
    return name


def _function(where: str, module: Any, wanted: str) -> Any:
    known = functions_in(module.operation)
    functions: dict[str, Any] = {name: each for name, each in known.items() if len(each.regions[0].blocks)}
    kernels = {name: each for name, each in functions.items() if any(True for _ in linalg_operations(each))}
    if wanted and wanted not in functions:
        got = ", ".join(functions) or "none"
        raise InputError(
            f"tune: {where}: expected a function {wanted} with a body, got {got}; see --function"
        )
    if wanted and wanted not in kernels:
        raise InputError(f"tune: {where}: expected operations of linalg in function {wanted}, got none")
    if not kernels:
        raise InputError(f"tune: {where}: expected a function with operations of linalg, got none")
    if not wanted and len(kernels) > 1:
        raise InputError(
            f"tune: {where}: expected one function, got {', '.join(kernels)}; choose by --function=NAME"
        )
    return kernels[wanted or next(iter(kernels))]


def _argument(where: str, what: str, kind: Any) -> Argument:
    ir = bindings().ir
    shaped = isinstance(kind, (ir.RankedTensorType, ir.MemRefType))
    if shaped and not kind.has_static_shape:
        raise InputError(f"{where}: {what}: expected a static shape, got {kind}; give every size a number")
    if isinstance(kind, ir.MemRefType) and not kind.layout == ir.AffineMapAttr.get(
        ir.AffineMap.get_identity(kind.rank, kind.context)
    ):
        raise InputError(f"{where}: {what}: expected rows without gaps, got {kind}")
    element = str(kind.element_type if shaped else kind)
    if element not in ELEMENTS or (what.startswith("result") and not shaped):
        known = f"tensors and memrefs of {', '.join(ELEMENTS)}"
        raise InputError(f"{where}: {what}: expected {known}, got {kind}")
    return Argument(ELEMENTS[element], tuple(kind.shape) if shaped else None)
