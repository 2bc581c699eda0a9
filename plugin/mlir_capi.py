# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What MLIR's C API has and its Python modules have not: pass managers below others, passes in Python that
may run anywhere in them and on any thread, and runs that leave the GIL to them.

The functions are those of the library behind the modules, so that both work on the same objects. The structs
of the C API that hold one pointer are passed as that pointer, as every ABI that Python runs on does.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_int8, c_size_t, c_void_p, py_object
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from passpilot.plugin.mlir import bindings

if TYPE_CHECKING:
    from collections.abc import Callable

    from passpilot.plugin.mlir_types import Operation

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


class _Callbacks(ctypes.Structure):
    _fields_ = (
        ("construct", _Notify),
        ("destruct", _Notify),
        ("initialize", _Initialize),
        ("clone", _Clone),
        ("run", RunPass),
    )


class PassManager:
    """A pass manager, or one below another, by its address; the one on top is the module's object `top`."""

    def __init__(self, top: Any, address: int | None = None) -> None:
        self._top = top
        self._address = address or _library().mlirPassManagerGetAsOpPassManager(_pointer(top))

    def nested_under(self, anchor: str) -> PassManager:
        """A new pass manager below this one, for the operations of a name, or ``any``."""
        return PassManager(
            self._top, _library().mlirOpPassManagerGetNestedUnder(self._address, _text(anchor))
        )

    def add_pipeline(self, text: str) -> str:
        """Add a native pass by its text; empty if that succeeds, else what MLIR tells."""
        told: list[str] = []

        def tell(part: _Told, _: int | None) -> None:
            told.append(ctypes.string_at(part.data, part.length).decode("utf-8", "replace"))

        if _library().mlirOpPassManagerAddPipeline(self._address, _text(text), _TellText(tell), None):
            return ""
        return "".join(told) or "it cannot be added"

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


def run_on(manager: Any, operation: Operation) -> bool:
    """Run a pass manager of the modules' on an operation, without the GIL; whether it succeeded."""
    result: int = _library().mlirPassManagerRunOnOp(_pointer(manager), _pointer(operation))
    return bool(result)


def signal_failure(pass_: int) -> None:
    """Make the run of the pass at an address a failure."""
    _library().mlirExternalPassSignalFailure(pass_)


def operation_at(address: int) -> Operation:
    """The operation at an address."""
    make, name = _operations()
    return make(_capsule_of(address, name, None))


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


def _pointer(made: Any) -> int:
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


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(bindings().capi))
    for name, (result, *arguments) in _SIGNATURES.items():
        function = library[name]
        function.restype, function.argtypes = result, arguments
        setattr(library, name, function)
    return library
