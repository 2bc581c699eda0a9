# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's side of a passpilot library in a foreign process, which has started this interpreter.

The library calls Python functions through a C struct (plugin/native/loaded/python.h) and ctypes, which takes
the GIL. No exception reaches the library: errors are passed to it as text.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import io
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from ctypes import CFUNCTYPE, c_char_p, c_void_p
from functools import wraps
from typing import Any, Final, TypeAlias

from passpilot.plugin.errors import Error
from passpilot.plugin.failures import describe_exception, guard_names, printable, utf8
from passpilot.plugin.load import load_file
from passpilot.plugin.process_end import guard_exits

Tell: TypeAlias = Callable[[int, bytes, bytes, int, bytes, int, int], None]
"""C callback of the library: `(address, kind, text, length, file, line, column)`."""
Function: TypeAlias = tuple[Callable[..., Any], Any, tuple[Any, ...]]
"""A member of the struct: the function, its C result type, and its C argument types after the teller."""

TEXT: Final = c_char_p
FILES: Final[list[str]] = []
_KEPT: Final[list[object]] = []
_WARNINGS: Final = threading.RLock()


class Teller:
    """Passes messages to the library, for one call of a function."""

    __slots__ = ("_address", "_tell")

    def __init__(self, tell: Tell, address: int) -> None:
        self._tell = tell
        self._address = address

    def __call__(self, kind: str, text: str, place: tuple[str, int, int] = ("", 0, 0)) -> None:
        """Pass a message of a kind: ``error``, ``warning``, or another that the library expects."""
        data = utf8(printable(text) if kind in ("error", "warning") else text)
        file, line, column = place
        self._tell(self._address, kind.encode(), data, len(data), os.fsencode(file), line, column)


def load(files: bytes) -> None:
    """Run files, separated as in PATH; they register what they define.

    Raises:
        Error: a file cannot be loaded.
    """
    for path in os.fsdecode(files).split(os.pathsep):
        load_file(path)
        FILES.append(path)


@contextmanager
def told_warnings(tell: Teller) -> Iterator[None]:
    """Pass the warnings of the block to the library."""
    # One thread at a time: the whole process shares Python's warning filters.
    with _WARNINGS, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for item in caught:
                tell("warning", str(item.message))
            sys.stdout.flush()


def _telling(function: Callable[..., Any], failed: Any, library: Tell) -> Callable[..., Any]:
    """Wrap a function for the library: pass an exception on as text, and return `failed`."""

    @wraps(function)
    def call(teller: int, *arguments: Any) -> Any:
        tell = Teller(library, teller)
        try:
            return function(tell, *arguments)
        except Error as error:
            tell("error", " ".join(str(error).split()))
            trace(error)
        except BaseException as error:  # noqa: BLE001  (Ctrl-C and sys.exit() in a policy, too)
            tell("error", " ".join(describe_exception(error).split()))
            trace(error)
        return failed

    return call


def end() -> None:
    """Run atexit handlers and flush files; `Py_Finalize` never runs here."""
    atexit._run_exitfuncs()
    for item in gc.get_objects():
        if isinstance(item, io.IOBase) and not item.closed:
            with suppress(OSError, ValueError):
                item.flush()


def trace(error: BaseException) -> None:
    """Print the traceback if PASSPILOT_TRACEBACK is set; a foreign compiler has no flag ``--traceback``."""
    if os.environ.get("PASSPILOT_TRACEBACK"):
        traceback.print_exception(error)


def fill(address: int, tell: Tell, functions: Sequence[Function]) -> None:
    """Write C pointers to the functions into the struct at `address`; a function gets a teller first."""
    if not sys.orig_argv:  # the interpreter is the library's own
        guard_exits()
    guard_names()
    table = (c_void_p * len(functions)).from_address(address)
    for index, (function, result, arguments) in enumerate(functions):
        telling = _telling(function, 0 if result else None, tell)
        pointer = CFUNCTYPE(result, c_void_p, *arguments)(telling)
        _KEPT.append(pointer)
        table[index] = ctypes.cast(pointer, c_void_p).value
