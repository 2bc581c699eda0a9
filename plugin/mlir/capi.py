# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What MLIR's C API has and its Python modules have not: pass managers below others, passes in Python that
may run anywhere in them and on any thread, runs that leave the GIL to them, and diagnostics of such runs.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from ctypes import c_char_p, c_void_p, py_object
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.mlir.functions import (
    Callbacks,
    Clone,
    Handle,
    Initialize,
    Notify,
    TellText,
    Text,
    Told,
    pass_functions,
    translation_functions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from passpilot.plugin.mlir.protocols import Operation


class OpPassManager:
    """A pass manager, or one below another, by its address; the one on top is the module's object `top`."""

    def __init__(self, top: Any, address: int | None = None) -> None:
        self._top = top
        self._address = address or pass_functions().mlirPassManagerGetAsOpPassManager(pointer_of(top))

    def nested_under(self, anchor: str) -> OpPassManager:
        """A new pass manager below this one, for the operations of a name, or ``any``."""
        return OpPassManager(
            self._top, pass_functions().mlirOpPassManagerGetNestedUnder(self._address, _text(anchor))
        )

    def add_pipeline(self, text: str) -> str:
        """Add a native pass by its text; empty if that succeeds, else what MLIR tells."""
        with _standard_error() if "{" in text else contextlib.nullcontext(bytearray()) as heard:
            added, told = _added(self._address, text)
        if not added:
            return f"{heard.decode('utf-8', 'replace')}{told}" or "it cannot be added"
        if heard:  # of another thread
            os.write(2, heard)
        return ""

    def add_pass(self, name: str, text: str, doc: str, anchor: str, run: Callable[..., None]) -> object:
        """Add a pass that calls a `RunPass`; what this returns must live as long as the pass manager runs."""
        kept = [each.encode() for each in (name, text, doc, anchor)]
        callbacks = Callbacks(_NOTHING, _NOTHING, Initialize(), _SAME, run)
        texts = [Text(each, len(each)) for each in kept]
        made = pass_functions().mlirCreateExternalPass(_type_id(text), *texts, 0, None, callbacks, None)
        pass_functions().mlirOpPassManagerAddOwnedPass(self._address, made)
        return run, kept


_NOTHING: Final = Notify(lambda _: None)
"""Our passes need no care: who made them keeps them."""

_SAME: Final = Clone(lambda data: data)
"""A pass in Python has no state of its own: the clone for another thread is the pass itself."""

for _callback in (_NOTHING, _SAME):  # a pass manager may outlive this module at the interpreter's exit
    ctypes.pythonapi.Py_IncRef(py_object(_callback))


def run_on(manager: Any, operation: Operation) -> bool:
    """Run a pass manager of the modules' on an operation, without the GIL; whether it succeeded."""
    result: int = pass_functions().mlirPassManagerRunOnOp(pointer_of(manager), pointer_of(operation))
    return bool(result)


def signal_failure(pass_: int) -> None:
    """Make the run of the pass at an address a failure."""
    pass_functions().mlirExternalPassSignalFailure(pass_)


def operation_at(address: int) -> Operation:
    """The operation at an address."""
    make, name = _operations()
    return make(_capsule_of(address, name, None))


def translated(module: Any) -> str | None:
    """The LLVM IR of a module in the llvm dialect; None if it has something else, which diagnostics tell.

    The modules' own function of this purpose does not survive what it cannot translate.

    Raises:
        InputError: the bindings have no translation.
    """
    library = translation_functions()
    context = library.LLVMContextCreate()
    try:
        made = library.mlirTranslateModuleToLLVMIR(pointer_of(module), context)
        if made is None:
            return None
        text = library.LLVMPrintModuleToString(made)
        library.LLVMDisposeModule(made)
        try:
            return ctypes.string_at(text).decode("utf-8", "surrogateescape")
        finally:
            library.LLVMDisposeMessage(text)
    finally:
        library.LLVMContextDispose(context)


def is_pass(name: str) -> bool:
    """Whether MLIR has a pass or a pipeline of this name."""
    library = pass_functions()
    context = library.mlirContextCreateWithThreading(False)
    manager = library.mlirPassManagerCreateOnOperation(context, _text("any"))
    try:
        return _added(library.mlirPassManagerGetAsOpPassManager(manager), name)[0]
    finally:
        library.mlirPassManagerDestroy(manager)
        library.mlirContextDestroy(context)


@contextlib.contextmanager
def handled(context: Any, handle: Callable[[int], bool]) -> Iterator[None]:
    """Call `handle` with the address of each diagnostic of a context within, from any thread, with the GIL.

    It says whether nobody else is to get it, and may raise nothing. The modules' own handlers are no use
    where MLIR runs without the GIL: they make a Python object before they take it.
    """
    called = Handle(lambda diagnostic, _: handle(diagnostic))
    identity = pass_functions().mlirContextAttachDiagnosticHandler(
        pointer_of(context), called, None, Notify()
    )
    try:
        yield
    finally:
        pass_functions().mlirContextDetachDiagnosticHandler(pointer_of(context), identity)


def severity_of(diagnostic: int) -> int:
    """The number of a diagnostic's severity."""
    severity: int = pass_functions().mlirDiagnosticGetSeverity(diagnostic)
    return severity


def message_of(diagnostic: int) -> str:
    """A diagnostic's text."""
    return _printed(pass_functions().mlirDiagnosticPrint, diagnostic)[1]


def location_of(diagnostic: int) -> str:
    """A diagnostic's location, as MLIR prints it."""
    return _printed(
        pass_functions().mlirLocationPrint, pass_functions().mlirDiagnosticGetLocation(diagnostic)
    )[1]


def notes_of(diagnostic: int) -> list[int]:
    """The diagnostics that hang on one."""
    count = pass_functions().mlirDiagnosticGetNumNotes(diagnostic)
    return [pass_functions().mlirDiagnosticGetNote(diagnostic, number) for number in range(count)]


def _added(manager: int, text: str) -> tuple[bool, str]:
    """Add a native pass to the pass manager at an address: whether that succeeded, and what MLIR told."""
    return _printed(pass_functions().mlirOpPassManagerAddPipeline, manager, _text(text))


@contextlib.contextmanager
def _standard_error() -> Iterator[bytearray]:
    """What the process writes to its standard error within, where LLVM tells of wrong values of options."""
    heard = bytearray()
    with tempfile.TemporaryFile() as file:
        saved = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            yield heard
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            file.seek(0)
            heard += file.read()


def _printed(function: Callable[..., object], *arguments: object) -> tuple[bool, str]:
    """Call a function that prints by a callback: whether it has given true, and what it has printed."""
    told: list[bytes] = []

    def tell(part: Told, _: int | None) -> None:
        told.append(ctypes.string_at(part.data, part.length))

    result = bool(function(*arguments, TellText(tell), None))
    return result, b"".join(told).decode("utf-8", "replace")


@cache
def _type_id(_: str) -> int:
    """An identity for the passes of one text."""
    allocated: int = pass_functions().mlirTypeIDAllocatorAllocateTypeID(
        pass_functions().mlirTypeIDAllocatorCreate()
    )
    return allocated


@cache
def _operations() -> tuple[Callable[[object], Operation], bytes]:
    """How an operation is made of a capsule, and what the capsule has to be called."""
    mlir = bindings()
    with mlir.ir.Context(), mlir.ir.Location.unknown():
        module = mlir.ir.Module.create()
        return mlir.ir.Operation._CAPICreate, _name_of(module.operation._CAPIPtr)


def pointer_of(made: Any) -> int:
    """The address of an object of the modules', of whatever class."""
    capsule = (made.operation if hasattr(made, "operation") else made)._CAPIPtr
    pointer: int = _pointer_of(capsule, _name_of(capsule))
    return pointer


def _text(text: str) -> Text:
    data = text.encode()
    return Text(data, len(data))


_name_of: Final = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = c_char_p, [py_object]
_pointer_of: Final = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = c_void_p, [py_object, c_char_p]
_capsule_of: Final = ctypes.pythonapi.PyCapsule_New
_capsule_of.restype, _capsule_of.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
