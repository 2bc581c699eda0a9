# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What MLIR's C API has and its Python modules have not: pass managers below others, passes in Python that
may run anywhere in them and on any thread, runs that leave the GIL to them, and diagnostics of such runs.

The functions are those of the library behind the modules, so that both work on the same objects. The structs
of the C API that hold one pointer are passed as that pointer, as every ABI that Python runs on does.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_int8, c_int64, c_size_t, c_void_p, py_object
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from passpilot.plugin.mlir.protocols import Operation

RunPass = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
"""Called with the operation, the pass and nothing of interest."""


class _Text(ctypes.Structure):
    """A text that MLIR gets; it keeps the bytes."""

    _fields_ = (("data", c_char_p), ("length", c_size_t))


class _Told(ctypes.Structure):
    """A text that MLIR has: no zero need be behind it."""

    _fields_ = (("data", c_void_p), ("length", c_size_t))


_TellText = CFUNCTYPE(None, _Told, c_void_p)
_Notify = CFUNCTYPE(None, c_void_p)
_Initialize = CFUNCTYPE(c_int8, c_void_p, c_void_p)
_Clone = CFUNCTYPE(c_void_p, c_void_p)
_Handle = CFUNCTYPE(c_int8, c_void_p, c_void_p)


class _Callbacks(ctypes.Structure):
    _fields_ = (
        ("construct", _Notify),
        ("destruct", _Notify),
        ("initialize", _Initialize),
        ("clone", _Clone),
        ("run", RunPass),
    )


class OpPassManager:
    """A pass manager, or one below another, by its address; the one on top is the module's object `top`."""

    def __init__(self, top: Any, address: int | None = None) -> None:
        self._top = top
        self._address = address or _library().mlirPassManagerGetAsOpPassManager(pointer_of(top))

    def nested_under(self, anchor: str) -> OpPassManager:
        """A new pass manager below this one, for the operations of a name, or ``any``."""
        return OpPassManager(
            self._top, _library().mlirOpPassManagerGetNestedUnder(self._address, _text(anchor))
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
        callbacks = _Callbacks(_NOTHING, _NOTHING, _Initialize(), _SAME, run)
        texts = [_Text(each, len(each)) for each in kept]
        made = _library().mlirCreateExternalPass(_type_id(text), *texts, 0, None, callbacks, None)
        _library().mlirOpPassManagerAddOwnedPass(self._address, made)
        return run, kept


_NOTHING: Final = _Notify(lambda _: None)
"""Our passes need no care: who made them keeps them."""

_SAME: Final = _Clone(lambda data: data)
"""A pass in Python has no state of its own: the clone for another thread is the pass itself."""

for _callback in (_NOTHING, _SAME):  # a pass manager may outlive this module at the interpreter's exit
    ctypes.pythonapi.Py_IncRef(py_object(_callback))


def run_on(manager: Any, operation: Operation) -> bool:
    """Run a pass manager of the modules' on an operation, without the GIL; whether it succeeded."""
    result: int = _library().mlirPassManagerRunOnOp(pointer_of(manager), pointer_of(operation))
    return bool(result)


def signal_failure(pass_: int) -> None:
    """Make the run of the pass at an address a failure."""
    _library().mlirExternalPassSignalFailure(pass_)


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
    library = _translator()
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
    library = _library()
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
    called = _Handle(lambda diagnostic, _: handle(diagnostic))
    identity = _library().mlirContextAttachDiagnosticHandler(pointer_of(context), called, None, _Notify())
    try:
        yield
    finally:
        _library().mlirContextDetachDiagnosticHandler(pointer_of(context), identity)


def severity_of(diagnostic: int) -> int:
    """The number of a diagnostic's severity."""
    severity: int = _library().mlirDiagnosticGetSeverity(diagnostic)
    return severity


def message_of(diagnostic: int) -> str:
    """A diagnostic's text."""
    return _printed(_library().mlirDiagnosticPrint, diagnostic)[1]


def location_of(diagnostic: int) -> str:
    """A diagnostic's location, as MLIR prints it."""
    return _printed(_library().mlirLocationPrint, _library().mlirDiagnosticGetLocation(diagnostic))[1]


def notes_of(diagnostic: int) -> list[int]:
    """The diagnostics that hang on one."""
    count = _library().mlirDiagnosticGetNumNotes(diagnostic)
    return [_library().mlirDiagnosticGetNote(diagnostic, number) for number in range(count)]


def _added(manager: int, text: str) -> tuple[bool, str]:
    """Add a native pass to the pass manager at an address: whether that succeeded, and what MLIR told."""
    return _printed(_library().mlirOpPassManagerAddPipeline, manager, _text(text))


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

    def tell(part: _Told, _: int | None) -> None:
        told.append(ctypes.string_at(part.data, part.length))

    result = bool(function(*arguments, _TellText(tell), None))
    return result, b"".join(told).decode("utf-8", "replace")


@cache
def _type_id(_: str) -> int:
    """An identity for the passes of one text."""
    allocated: int = _library().mlirTypeIDAllocatorAllocateTypeID(_library().mlirTypeIDAllocatorCreate())
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


def _text(text: str) -> _Text:
    data = text.encode()
    return _Text(data, len(data))


_name_of: Final = ctypes.pythonapi.PyCapsule_GetName
_name_of.restype, _name_of.argtypes = c_char_p, [py_object]
_pointer_of: Final = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype, _pointer_of.argtypes = c_void_p, [py_object, c_char_p]
_capsule_of: Final = ctypes.pythonapi.PyCapsule_New
_capsule_of.restype, _capsule_of.argtypes = py_object, [c_void_p, c_char_p, c_void_p]

_SIGNATURES: Final[dict[str, tuple[Any, ...]]] = {
    "mlirContextCreateWithThreading": (c_void_p, c_bool),
    "mlirContextDestroy": (None, c_void_p),
    "mlirContextAttachDiagnosticHandler": (c_int64, c_void_p, _Handle, c_void_p, _Notify),
    "mlirContextDetachDiagnosticHandler": (None, c_void_p, c_int64),
    "mlirDiagnosticGetSeverity": (ctypes.c_int, c_void_p),
    "mlirDiagnosticGetLocation": (c_void_p, c_void_p),
    "mlirDiagnosticPrint": (None, c_void_p, _TellText, c_void_p),
    "mlirDiagnosticGetNumNotes": (c_size_t, c_void_p),
    "mlirDiagnosticGetNote": (c_void_p, c_void_p, c_size_t),
    "mlirLocationPrint": (None, c_void_p, _TellText, c_void_p),
    "mlirPassManagerCreateOnOperation": (c_void_p, c_void_p, _Text),
    "mlirPassManagerDestroy": (None, c_void_p),
    "mlirPassManagerGetAsOpPassManager": (c_void_p, c_void_p),
    "mlirOpPassManagerGetNestedUnder": (c_void_p, c_void_p, _Text),
    "mlirOpPassManagerAddPipeline": (c_bool, c_void_p, _Text, _TellText, c_void_p),
    "mlirOpPassManagerAddOwnedPass": (None, c_void_p, c_void_p),
    "mlirCreateExternalPass": (
        *(c_void_p, c_void_p, _Text, _Text, _Text, _Text),
        *(c_size_t, POINTER(c_void_p), _Callbacks, c_void_p),
    ),
    "mlirExternalPassSignalFailure": (None, c_void_p),
    "mlirPassManagerRunOnOp": (c_int8, c_void_p, c_void_p),
    "mlirTypeIDAllocatorCreate": (c_void_p,),
    "mlirTypeIDAllocatorAllocateTypeID": (c_void_p, c_void_p),
}
"""Of each function: what it returns, then what it takes."""


_TRANSLATION: Final[dict[str, tuple[Any, ...]]] = {
    "LLVMContextCreate": (c_void_p,),
    "LLVMContextDispose": (None, c_void_p),
    "LLVMDisposeMessage": (None, c_void_p),
    "LLVMDisposeModule": (None, c_void_p),
    "LLVMPrintModuleToString": (c_void_p, c_void_p),
    "mlirTranslateModuleToLLVMIR": (c_void_p, c_void_p, c_void_p),
}
"""Likewise; not all bindings have these."""


@cache
def _library() -> ctypes.CDLL:
    return _declared(_SIGNATURES)


@cache
def _translator() -> ctypes.CDLL:
    try:
        return _declared(_TRANSLATION)
    except AttributeError as error:
        expected = "expected MLIR's bindings with a translation to LLVM IR, such as torch_mlir"
        raise InputError(f"LLVM IR: {expected}, got {bindings().root}") from error


def _declared(signatures: dict[str, tuple[Any, ...]]) -> ctypes.CDLL:
    library = ctypes.CDLL(str(bindings().capi))
    for name, (result, *arguments) in signatures.items():
        function = library[name]
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    return library
