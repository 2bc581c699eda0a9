# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Uses MLIR's C API for what its Python modules lack: nested pass managers, passes in Python anywhere in a
pipeline and on any thread, runs without the GIL, and the diagnostics of such runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator
from ctypes import c_char_p, c_void_p, py_object
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from passpilot.plugin.failures import decoded, utf8
from passpilot.plugin.mlir.bindings import Bindings, bindings
from passpilot.plugin.mlir.functions import (
    Callbacks,
    Clone,
    Handle,
    Initialize,
    Notify,
    Text,
    TextRef,
    Visit,
    Write,
    functions_of,
    pass_functions,
    translation_functions,
)

if TYPE_CHECKING:
    from passpilot.plugin.mlir.protocols import Operation


class OpPassManager:
    """A pass manager by its address: the top-level one, the Python object `top`, or one nested below it."""

    def __init__(self, top: Any, address: int | None = None) -> None:
        self._top, self._library = top, functions_of(top)
        self._address = address or self._library.mlirPassManagerGetAsOpPassManager(pointer_of(top))

    def nested_under(self, anchor: str) -> OpPassManager:
        """Add a nested pass manager for operations called `anchor`, or ``any``."""
        nested = self._library.mlirOpPassManagerGetNestedUnder(self._address, _text(anchor))
        return OpPassManager(self._top, nested)

    def add_pipeline(self, text: str) -> str:
        """Add native passes from pipeline text; returns MLIR's error, or an empty text."""
        with _standard_error() if "{" in text else contextlib.nullcontext(bytearray()) as captured:
            added, error = _added(self._library, self._address, text)
        if not added:
            return f"{decoded(captured)}{error}" or "it cannot be added"
        if captured:  # another thread wrote it
            os.write(2, captured)
        return ""

    def add_pass(self, name: str, text: str, doc: str, anchor: str, run: Callable[..., None]) -> object:
        """Add a pass that calls `run`, a `RunPass`; keep the result alive while the pass manager can run."""
        callbacks = Callbacks(_NOTHING, _NOTHING, Initialize(), _SAME, run)
        texts = [_text(part) for part in (name, text, doc, anchor)]
        identity = _type_id(self._library, text)
        pass_ = self._library.mlirCreateExternalPass(identity, *texts, 0, None, callbacks, None)
        self._library.mlirOpPassManagerAddOwnedPass(self._address, pass_)
        return run, texts


_NOTHING: Final = Notify(lambda _: None)
"""MLIR need not construct or destroy a pass in Python: its maker keeps it alive."""

_SAME: Final = Clone(lambda data: data)
"""A pass in Python has no state, so its clone for another thread is the pass itself."""

for _callback in (_NOTHING, _SAME):  # a pass manager may outlive this module at the interpreter's exit
    ctypes.pythonapi.Py_IncRef(py_object(_callback))


def run_on(manager: Any, operation: Operation) -> bool:
    """Run a Python pass manager on an operation, without the GIL; returns whether it succeeded."""
    result: int = functions_of(manager).mlirPassManagerRunOnOp(pointer_of(manager), pointer_of(operation))
    return bool(result)


def signal_failure(pass_: int, mlir: Bindings) -> None:
    """Mark the current run of the pass at an address as failed."""
    pass_functions(mlir).mlirExternalPassSignalFailure(pass_)


def is_valid(operation: Operation) -> bool:
    """Whether MLIR's verifier accepts an operation; what it refuses, it tells in diagnostics."""
    return bool(functions_of(operation).mlirOperationVerify(pointer_of(operation)))


def operation_at(address: int, mlir: Bindings) -> Operation:
    """The operation of bindings at an address."""
    operation: Operation = mlir.ir.Operation._CAPICreate(_capsule_of(address, _capsules(mlir)[0], None))
    return operation


def parsed_file(path: str, context: Any) -> Any:
    """The module in a file, whose name need not be UTF-8; None if there is none."""
    mlir = bindings(context)
    address = pass_functions(mlir).mlirModuleCreateParseFromFile(pointer_of(context), _text(path))
    if not address:
        return None
    return mlir.ir.Module._CAPICreate(_capsule_of(address, _capsules(mlir)[1], None))


def names_in(operation: Any) -> list[bytes]:
    """The names of an operation and of all operations nested in it; the Python modules end the process at
    a name that is not UTF-8.
    """
    library, names = functions_of(operation), list[bytes]()

    def see(address: int, _: int | None) -> int:
        name = library.mlirIdentifierStr(library.mlirOperationGetName(address))
        names.append(ctypes.string_at(name.data, name.length))
        return 0

    library.mlirOperationWalk(pointer_of(operation), Visit(see), None, 0)
    return names


def pipeline_text(manager: Any) -> str:
    """The text of a Python pass manager."""
    library = functions_of(manager)
    address = library.mlirPassManagerGetAsOpPassManager(pointer_of(manager))
    return _printed(library.mlirPrintPassPipeline, address)[1]


def translated(module: Any) -> str | None:
    """Translate a module of upstream's bindings from the llvm dialect to LLVM IR; None if it cannot be.

    The Python modules have such a function, too, but it crashes if it cannot translate a module.
    """
    library = translation_functions()
    context = library.LLVMContextCreate()
    try:
        translation = library.mlirTranslateModuleToLLVMIR(pointer_of(module), context)
        if translation is None:
            return None
        text = library.LLVMPrintModuleToString(translation)
        library.LLVMDisposeModule(translation)
        try:
            return decoded(ctypes.string_at(text))
        finally:
            library.LLVMDisposeMessage(text)
    finally:
        library.LLVMContextDispose(context)


def is_pass(name: str, mlir: Bindings) -> bool:
    """Whether the MLIR of bindings has a pass or a pipeline of this name."""
    library = pass_functions(mlir)
    context = library.mlirContextCreateWithThreading(False)
    manager = library.mlirPassManagerCreateOnOperation(context, _text("any"))
    try:
        return _added(library, library.mlirPassManagerGetAsOpPassManager(manager), name)[0]
    finally:
        library.mlirPassManagerDestroy(manager)
        library.mlirContextDestroy(context)


@contextlib.contextmanager
def handled(context: Any, handle: Callable[[int], bool]) -> Iterator[None]:
    """Call `handle` with the address of every diagnostic of a context while the block runs.

    The call comes from any thread and has the GIL. `handle` returns True to stop other handlers, and must not
    raise. The handlers of the Python modules cannot be used when MLIR runs without the GIL: they make a
    Python object before they take the GIL.
    """
    called, library = Handle(lambda diagnostic, _: handle(diagnostic)), functions_of(context)
    identity = library.mlirContextAttachDiagnosticHandler(pointer_of(context), called, None, Notify())
    try:
        yield
    finally:
        library.mlirContextDetachDiagnosticHandler(pointer_of(context), identity)


class DiagnosticParts(NamedTuple):
    """What MLIR says in a diagnostic."""

    severity: int
    """MLIR's number."""
    location: str
    """As MLIR prints it."""
    message: str
    notes: list[int]
    """The addresses of its notes."""


def diagnostic_at(address: int, context: Any) -> DiagnosticParts:
    """The parts of the diagnostic at an address."""
    library = functions_of(context)
    location = library.mlirDiagnosticGetLocation(address)
    count = library.mlirDiagnosticGetNumNotes(address)
    return DiagnosticParts(
        library.mlirDiagnosticGetSeverity(address),
        _printed(library.mlirLocationPrint, location)[1],
        _printed(library.mlirDiagnosticPrint, address)[1],
        [library.mlirDiagnosticGetNote(address, number) for number in range(count)],
    )


def _added(library: ctypes.CDLL, manager: int, text: str) -> tuple[bool, str]:
    """Add native passes to the pass manager at an address; returns whether it succeeded, and MLIR's error."""
    return _printed(library.mlirOpPassManagerAddPipeline, manager, _text(text))


@contextlib.contextmanager
def _standard_error() -> Iterator[bytearray]:
    """Capture the process's standard error; LLVM writes errors about option values there."""
    captured = bytearray()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield captured
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            captured += file.read()


def _printed(function: Callable[..., object], *arguments: object) -> tuple[bool, str]:
    """Call a function that prints through a callback; returns its result as a bool, and the printed text."""
    parts: list[bytes] = []

    def write(part: TextRef, _: int | None) -> None:
        parts.append(ctypes.string_at(part.data, part.length))

    result = bool(function(*arguments, Write(write), None))
    return result, decoded(b"".join(parts))


@cache
def _type_id(library: ctypes.CDLL, _: str) -> int:
    """A type ID for all passes with one pipeline text."""
    allocated: int = library.mlirTypeIDAllocatorAllocateTypeID(library.mlirTypeIDAllocatorCreate())
    return allocated


@cache
def _capsules(mlir: Bindings) -> tuple[bytes, bytes]:
    """The names that the capsules of an operation and of a module must have."""
    with mlir.ir.Context(), mlir.ir.Location.unknown():
        module = mlir.ir.Module.create()
        return _name_of(module.operation._CAPIPtr), _name_of(module._CAPIPtr)


def pointer_of(wrapper: Any) -> int:
    """The address of an object of the Python modules."""
    capsule = (wrapper.operation if hasattr(wrapper, "operation") else wrapper)._CAPIPtr
    pointer: int = _pointer_of(capsule, _name_of(capsule))
    return pointer


def _text(text: str) -> Text:
    data = utf8(text)
    return Text(data, len(data))


_name_of: Final = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = c_char_p, [py_object]
_pointer_of: Final = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = c_void_p, [py_object, c_char_p]
_capsule_of: Final = ctypes.pythonapi.PyCapsule_New
_capsule_of.restype, _capsule_of.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
