# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`inliner()`: MLIR's inliner in C++, which asks a runner; it works on modules of upstream's bindings.

The library is built for the MLIR and the LLVM that these bindings bring along, in plugin/native/mlir.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import c_bool, c_char_p, c_uint, c_void_p
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from passpilot.plugin.errors import InputError
from passpilot.plugin.extras import install
from passpilot.plugin.failures import decoded, utf8
from passpilot.plugin.mlir.bindings import UPSTREAM, bindings_of, load_mode
from passpilot.plugin.mlir.capi import operation_at, pointer_of
from passpilot.plugin.toolchain import mlir_inliner
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation


_Tell = ctypes.CFUNCTYPE(None, c_char_p)


class Inliner:
    """The functions of plugin/native/mlir/hosted_inline.cpp."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._inline = library.passpilot_mlir_inline
        self._inline.restype = c_bool
        self._inline.argtypes = (c_void_p, c_void_p, c_bool, c_char_p, c_uint, _Tell)
        self._operation = library.passpilot_mlir_operation
        self._operation.restype, self._operation.argtypes = c_void_p, (c_void_p, c_char_p)
        self._allow = library.passpilot_mlir_allow
        self._allow.restype, self._allow.argtypes = None, (c_void_p, c_char_p)
        self._show = library.passpilot_mlir_show_properties
        self._show.restype, self._show.argtypes = None, (c_void_p,)

    def inline(
        self, root: Operation, session: int, *, marks: bool, pipeline: str, iterations: int
    ) -> list[str]:
        """Inline what the session of an advisor accepts, without the GIL; if it is 0, all that is legal.

        Returns the errors; an empty one if the session has failed.
        """
        told: list[str] = []
        tell = _Tell(lambda text: told.append(decoded(text).partition("\n")[0]))
        good = self._inline(pointer_of(root), session, marks, utf8(pipeline), iterations, tell)
        return [] if good else told or [""]

    def operation(self, session: int, part: str) -> Operation | None:
        """The ``call``, ``caller`` or ``callee`` of the session's current question, if there is one."""
        address = self._operation(session, part.encode())
        return operation_at(address, bindings_of(UPSTREAM)) if address else None

    def allow(self, context: object, dialect: str) -> None:
        """Let operations of a dialect that MLIR does not know be inlined."""
        self._allow(pointer_of(context), dialect.encode())

    def show_properties(self, root: Operation) -> None:
        """Make the properties of operations that MLIR does not know attributes, so that passes see them."""
        self._show(pointer_of(root))


@cache
def inliner() -> Inliner:
    """The library, loaded beside upstream's bindings.

    Raises:
        InputError: it is not built, or the bindings are not installed or have another LLVM.
    """
    path, mlir = mlir_inliner(), bindings_of(UPSTREAM)
    got, message = f"{mlir.root} {mlir.version}", f"expected MLIR's Python bindings of LLVM {MAJOR}"
    fails = f"advised-inline: {message} from PyPI, got {got}: {{}}; run: {install('mlir')}"
    if (major := _llvm_major()) != MAJOR:
        raise InputError(fails.format(f"its LLVM is {major or 'inside'}"))
    import_module("passpilot.plugin._core")  # brings libpasspilot_llvm.so, which the library needs
    try:
        return Inliner(ctypes.CDLL(str(path), load_mode(os.RTLD_NOW)))
    except OSError as error:
        raise InputError(fails.format(error)) from error


def _llvm_major() -> int:
    """The version of the LLVM that the bindings have loaded; 0 if it is not a library of its own."""
    try:
        library = ctypes.CDLL("libLLVM.so", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return 0
    major = c_uint()
    library.LLVMGetVersion(ctypes.byref(major), None, None)
    return major.value
