# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Translates a module of the llvm dialect to LLVM IR.

Upstream's bindings do it, whose LLVM has the version of ours; a module of other bindings goes there as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from passpilot.plugin.errors import CompilationError
from passpilot.plugin.mlir.bindings import UPSTREAM, bindings
from passpilot.plugin.mlir.capi import translated
from passpilot.plugin.mlir.diagnostics import error_list
from passpilot.plugin.mlir.exchange import upstream_copy

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation


def translate(module: Operation) -> str:
    """The LLVM IR of a module of the llvm dialect.

    Raises:
        InputError: upstream's bindings are not installed.
        CompilationError: the module has other dialects.
    """
    operation: Any = module.operation
    if bindings(operation).root != UPSTREAM:
        operation = upstream_copy("LLVM IR", operation)
    with error_list(operation.context, lambda _: None) as errors:
        text = translated(operation)
    if text is None:
        got = errors[0] if errors else "something else"
        raise CompilationError(f"LLVM IR: expected a module of the llvm dialect, got: {got}")
    return text
