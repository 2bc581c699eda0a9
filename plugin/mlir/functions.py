# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The functions of MLIR's C API that Python calls: their signatures, and the library that contains them.

The library is the one behind the bindings' modules, so both work on the same objects. A struct of the C API
that holds one pointer is passed as that pointer; this is right on every ABI that Python runs on.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_int8, c_int64, c_size_t, c_void_p
from functools import cache
from typing import Any, Final, TypeAlias, TypeVar

from passpilot.plugin.mlir.bindings import UPSTREAM, Bindings, bindings, bindings_of

Signature: TypeAlias = tuple[Any, ...]
"""The type of the result, then those of the parameters."""

Library = TypeVar("Library", bound=ctypes.CDLL)

RunPass = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
"""A C callback ``(operation, pass, data)``: runs a pass."""


class Text(ctypes.Structure):
    """A string for MLIR; the object keeps the bytes alive."""

    _fields_ = (("data", c_char_p), ("length", c_size_t))


class TextRef(ctypes.Structure):
    """A string of MLIR's: owned by MLIR, and not NUL-terminated."""

    _fields_ = (("data", c_void_p), ("length", c_size_t))


Write = CFUNCTYPE(None, TextRef, c_void_p)
Notify = CFUNCTYPE(None, c_void_p)
Initialize = CFUNCTYPE(c_int8, c_void_p, c_void_p)
Clone = CFUNCTYPE(c_void_p, c_void_p)
Handle = CFUNCTYPE(c_int8, c_void_p, c_void_p)
Visit = CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)


class Callbacks(ctypes.Structure):
    """The callbacks of an external pass."""

    _fields_ = (
        ("construct", Notify),
        ("destruct", Notify),
        ("initialize", Initialize),
        ("clone", Clone),
        ("run", RunPass),
    )


PASSES: Final[dict[str, Signature]] = {
    "mlirContextCreateWithThreading": (c_void_p, c_bool),
    "mlirContextDestroy": (None, c_void_p),
    "mlirContextAttachDiagnosticHandler": (c_int64, c_void_p, Handle, c_void_p, Notify),
    "mlirContextDetachDiagnosticHandler": (None, c_void_p, c_int64),
    "mlirDiagnosticGetSeverity": (ctypes.c_int, c_void_p),
    "mlirDiagnosticGetLocation": (c_void_p, c_void_p),
    "mlirDiagnosticPrint": (None, c_void_p, Write, c_void_p),
    "mlirDiagnosticGetNumNotes": (c_size_t, c_void_p),
    "mlirDiagnosticGetNote": (c_void_p, c_void_p, c_size_t),
    "mlirIdentifierStr": (TextRef, c_void_p),
    "mlirModuleCreateParseFromFile": (c_void_p, c_void_p, Text),
    "mlirOperationGetName": (c_void_p, c_void_p),
    "mlirOperationVerify": (c_bool, c_void_p),
    "mlirOperationWalk": (None, c_void_p, Visit, c_void_p, ctypes.c_int),
    "mlirPrintPassPipeline": (None, c_void_p, Write, c_void_p),
    "mlirLocationPrint": (None, c_void_p, Write, c_void_p),
    "mlirPassManagerCreateOnOperation": (c_void_p, c_void_p, Text),
    "mlirPassManagerDestroy": (None, c_void_p),
    "mlirPassManagerGetAsOpPassManager": (c_void_p, c_void_p),
    "mlirOpPassManagerGetNestedUnder": (c_void_p, c_void_p, Text),
    "mlirOpPassManagerAddPipeline": (c_bool, c_void_p, Text, Write, c_void_p),
    "mlirOpPassManagerAddOwnedPass": (None, c_void_p, c_void_p),
    "mlirCreateExternalPass": (
        *(c_void_p, c_void_p, Text, Text, Text, Text),
        *(c_size_t, POINTER(c_void_p), Callbacks, c_void_p),
    ),
    "mlirExternalPassSignalFailure": (None, c_void_p),
    "mlirPassManagerRunOnOp": (c_int8, c_void_p, c_void_p),
    "mlirTypeIDAllocatorCreate": (c_void_p,),
    "mlirTypeIDAllocatorAllocateTypeID": (c_void_p, c_void_p),
}
"""Pass managers, passes and diagnostics; called without the GIL, so that passes in Python can take it."""

TRANSLATION: Final[dict[str, Signature]] = {
    "LLVMContextCreate": (c_void_p,),
    "LLVMContextDispose": (None, c_void_p),
    "LLVMDisposeMessage": (None, c_void_p),
    "LLVMDisposeModule": (None, c_void_p),
    "LLVMPrintModuleToString": (c_void_p, c_void_p),
    "mlirTranslateModuleToLLVMIR": (c_void_p, c_void_p, c_void_p),
}
"""The translation to LLVM IR; called with the GIL, which the handlers of diagnostics in Python need."""


@cache
def pass_functions(mlir: Bindings) -> ctypes.CDLL:
    """The functions of `PASSES` of bindings."""
    return _declared(ctypes.CDLL(str(mlir.capi)), PASSES)


def functions_of(wrapper: object) -> ctypes.CDLL:
    """The functions of `PASSES` that belong to an object of any bindings."""
    return pass_functions(bindings(wrapper))


@cache
def translation_functions() -> ctypes.PyDLL:
    """The functions of `TRANSLATION`, of upstream's bindings."""
    return _declared(ctypes.PyDLL(str(bindings_of(UPSTREAM).capi)), TRANSLATION)


def _declared(library: Library, signatures: dict[str, Signature]) -> Library:
    for name, (result, *parameters) in signatures.items():
        function = library[name]
        function.restype, function.argtypes = result, parameters
        setattr(library, name, function)
    return library
