# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`lower`: lowers func, scf, arith, memref, tensor, linalg and similar dialects to LLVM IR.

    text = passpilot.mlir.lower(module)
    llvm = passpilot.Module.read(text.encode(), for_codegen=True)
    passpilot.optimize(llvm, "default<O2>", [passpilot.InlineAdvisor(decide)])

Tensors become buffers first, which are freed after their last use; the caller owns returned buffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from passpilot.passes.mlir.pipeline import WHO, run_pipeline
from passpilot.passes.mlir.schedule.apply import decompose_softmax
from passpilot.plugin.errors import CompilationError, InputError, restated
from passpilot.plugin.failures import decoded
from passpilot.plugin.mlir.bindings import PACKAGES, UPSTREAM, ClashError, bindings, operations_in, using
from passpilot.plugin.mlir.capi import translated
from passpilot.plugin.mlir.diagnostics import error_list
from passpilot.plugin.mlir.exchange import upstream_copy
from passpilot.plugin.mlir.place import operation_of
from passpilot.plugin.mlir.source import Source

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation

BUFFERIZE: Final = (
    "builtin.module(eliminate-empty-tensors,"
    "one-shot-bufferize{bufferize-function-boundaries function-boundary-type-conversion=identity-layout-map},"
    "ownership-based-buffer-deallocation,canonicalize,buffer-deallocation-simplification,"
    "bufferization-lower-deallocations,convert-bufferization-to-memref,cse,canonicalize)"
)
"""Lowers tensors to memrefs, and removes copies of a buffer to itself."""

THREADS: Final = (
    "builtin.module(convert-linalg-to-loops,scf-forall-to-parallel,convert-scf-to-openmp,"
    "convert-openmp-to-llvm)"
)
"""Gives parallel loops to OpenMP."""

LOWER: Final = (
    "builtin.module(convert-linalg-to-loops,convert-vector-to-scf{full-unroll},lower-affine,"
    "expand-strided-metadata,lower-affine,scf-forall-to-parallel,convert-scf-to-cf,arith-expand,"
    "convert-vector-to-llvm{reassociate-fp-reductions},"
    "convert-math-to-llvm,convert-math-to-libm,convert-to-llvm,"
    "reconcile-unrealized-casts,canonicalize,cse)"
)
"""Lowers memrefs and loops to the llvm dialect."""


def lower(module: object) -> str:
    """Lower a copy of a module to LLVM IR, as text.

    Args:
        module: a module of any bindings, or its text or bytecode.

    Raises:
        InputError: `module` is none of these.
        CompilationError: the module cannot be lowered.
    """
    if isinstance(module, (str, bytes)):
        mlir = bindings()
        data = module if isinstance(module, bytes) else module.encode("utf-8", "surrogateescape")
        return _lower(Source("lower", data, whole=False).parse(mlir, mlir.ir.Context(), _ignore))
    operation = operation_of(module)
    if operation is None or operation.name != "builtin.module":
        got = f"{type(module).__module__}.{type(module).__name__}"
        raise InputError(f"lower: expected a module of MLIR's bindings or its text, got {got}")
    try:
        if not PACKAGES[bindings(operation).root].lowers:
            return _lower(upstream_copy("lower", operation))
        return _lower(operation.clone(ip=False))
    except ClashError:
        from passpilot.passes.mlir.apart import run_apart

        return decoded(run_apart("lower", operation, ""))


def to_llvm_dialect(module: Operation, *, threads: bool = False) -> None:
    """Lower a module in place to the llvm dialect, for MLIR's ExecutionEngine.

    Args:
        module: the module.
        threads: whether parallel loops run in OpenMP's threads.

    Raises:
        CompilationError: a pass failed.
    """
    try:
        with using(bindings(module)):
            decompose_softmax(module.operation)
            if _has_tensors(module.operation):
                run_pipeline(module, BUFFERIZE)
            _replace_copies(module.operation)
            if threads:
                run_pipeline(module, THREADS)
            run_pipeline(module, LOWER)
    except CompilationError as error:
        raise restated(error, f"lower: {str(error).removeprefix(f'{WHO}: ')}") from error


def _ignore(_: object) -> None:
    """Drops a diagnostic; the error repeats the important ones."""


def _lower(module: Operation) -> str:
    to_llvm_dialect(module)
    return translate(module)


def translate(module: Operation) -> str:
    """The LLVM IR of a module of the llvm dialect, made by upstream's bindings.

    Raises:
        InputError: upstream's bindings are not installed.
        CompilationError: the module has other dialects.
    """
    operation: Any = module.operation
    if bindings(operation).root != UPSTREAM:
        operation = upstream_copy("LLVM IR", operation)
    with error_list(operation.context, _ignore) as errors:
        text = translated(operation)
    if text is None:
        got = errors[0] if errors else "something else"
        raise CompilationError(f"LLVM IR: expected a module of the llvm dialect, got: {got}")
    return text


def _has_tensors(root: Operation) -> bool:
    return any(map(_is_of_tensors, operations_in(root)))


def _is_of_tensors(operation: Operation) -> bool:
    ir = bindings().ir
    values = (*operation.operands, *operation.results)
    if any(isinstance(value.type, (ir.RankedTensorType, ir.UnrankedTensorType)) for value in values):
        return True
    signature = operation.attributes.get("function_type")
    return "tensor<" in str(signature)


def _replace_copies(root: Operation) -> None:
    """Turn copies into loops; MLIR would lower strided ones to calls of its run-time library."""
    mlir = bindings()
    for copy in operations_in(root):
        if copy.name == "memref.copy" and all(
            isinstance(value.type, mlir.ir.MemRefType) for value in copy.operands
        ):
            source, target = copy.operands
            location: Any = copy.location
            with mlir.ir.InsertionPoint(copy), location:
                mlir.dialect("linalg").copy(source, outs=[target])
            copy.erase()
