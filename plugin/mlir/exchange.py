# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies modules between MLIR's Python bindings as text, since the versions of their MLIR differ."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import ROOTS, UPSTREAM, bindings, bindings_of
from passpilot.plugin.mlir.diagnostics import error_list
from passpilot.plugin.mlir.inliner import inliner
from passpilot.plugin.mlir.protocols import Operation
from passpilot.plugin.mlir.source import parsed

INLINED: Final = ("chlo", "stablehlo")
"""Dialects of JAX that let all their operations be inlined; upstream's MLIR does not know them."""


def upstream_copy(who: str, module: Any) -> Operation:
    """A copy of a module of other bindings, as `module_in` makes it; another operation is an `InputError`."""
    if module.operation.name != "builtin.module":
        got = f"{module.operation.name} of {bindings(module).root}"
        raise InputError(f"{who}: expected a builtin.module, got {got}; take the module around it")
    return module_in(who, text_of(module))


def module_in(who: str, text: bytes) -> Operation:
    """The module in a text of other bindings, as an operation of upstream's.

    Raises:
        ClashError: upstream's bindings cannot be in this process.
        InputError: upstream's bindings are not installed, or cannot read it.
    """
    upstream = bindings_of(UPSTREAM)
    context = upstream.ir.Context()
    context.allow_unregistered_dialects = True
    with error_list(context, lambda _: None) as errors:
        copy = parsed(upstream, text, context)
    if copy is None:
        got = errors[0].message
        raise InputError(f"{who}: expected a module that MLIR {upstream.version} reads, got: {got}")
    for dialect in INLINED:
        inliner().allow(context, dialect)
    operation: Operation = copy.operation
    inliner().show_properties(operation)
    return operation


@contextmanager
def usable(who: str, operation: Operation) -> Iterator[Operation]:
    """The operation; or, if no pass can run in its bindings, a copy in upstream's, which replaces it."""
    if bindings(operation).root in ROOTS:
        yield operation
        return
    copy = upstream_copy(who, operation)
    yield copy
    replace(operation, text_of(copy))


def replace(module: Any, text: bytes) -> None:
    """Give a module the attributes and the body of that in a text."""
    module, new = module.operation, bindings(module).ir.Module.parse(text, module.context).operation
    for name in [*module.attributes]:
        del module.attributes[name]
    for name in [*new.attributes]:
        module.attributes[name] = new.attributes[name]
    body = module.regions[0].blocks[0]
    for old in list(body.operations):
        old.operation.erase()
    for one in list(new.regions[0].blocks[0].operations):
        body.append(one)


def text_of(module: Any) -> bytes:
    """The text of a module that loses nothing; other bindings read it."""
    text: bytes = module.operation.get_asm(
        binary=True, enable_debug_info=True, print_generic_op_form=True, assume_verified=True
    )
    return text
