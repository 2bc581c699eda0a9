# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python does for a compiler that has loaded one of our plugins and started this interpreter.

The plugin calls the functions here through a struct of C (plugin/loaded/python.h) and ctypes, which takes the
GIL. What there is to say is told to the plugin: nothing is raised into it.
"""

from __future__ import annotations

import ctypes
import os
import sys
import traceback
import warnings
from contextlib import contextmanager
from ctypes import CFUNCTYPE, c_bool, c_char_p, c_double, c_size_t, c_void_p
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from passpilot.passes.registry import MLIR
from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.load import load_file
from passpilot.plugin.mlir import enter_foreign_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from passpilot.passes.advisor import Advisor, OnError
    from passpilot.plugin import _core

    Tell = Callable[[int, bytes, bytes, int, bytes, int, int], None]
    Function = tuple[Callable[..., Any], Any, tuple[Any, ...]]
    MakeAdvisor = Callable[[str, str, str | None, OnError, float, float], Advisor]
    """By point, runner, log, what a failing runner does, timeout and limit."""


class Teller:
    """Tells the plugin."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __call__(self, kind: str, text: str, place: tuple[str, int, int] = ("", 0, 0)) -> None:
        """Tell something: ``error``, ``warning``, or an answer of another kind."""
        data = text.encode("utf-8", "surrogateescape")
        file, line, column = place
        _TELL(self._address, kind.encode(), data, len(data), os.fsencode(file), line, column)


_TELL: Tell
_MAKE: MakeAdvisor

FILES: Final[list[str]] = []
"""Those that have been loaded."""

_STARTED: Final[dict[int, tuple[Advisor, _core.Advisor]]] = {}
"""The advisors in use, by the address of the session."""


def load(files: bytes) -> None:
    """Run files, which register what they define.

    Raises:
        Error: one of them cannot be loaded.
    """
    for path in os.fsdecode(files).split(os.pathsep):
        load_file(path)
        FILES.append(path)


def _start(
    tell: Teller,  # noqa: ARG001
    point: bytes,
    runner: bytes,
    log: bytes,
    on_error: bytes,
    timeout: float,
    limit: float,
) -> int:
    policy: OnError = "default" if on_error == b"default" else "fail"
    advisor = _MAKE(point.decode(), os.fsdecode(runner), os.fsdecode(log) or None, policy, timeout, limit)
    advisor.may_idle = True  # the plugin knows whether somebody should have asked
    try:
        core = advisor.start()
        assert core is not None, "where nobody is to be asked, the plugin asks nobody"
        core.begin()
    except BaseException:
        advisor.close()
        raise
    _STARTED[core.session] = (advisor, core)
    return core.session


def _finish(tell: Teller, address: int, good: bool) -> None:
    advisor, core = _STARTED[address]
    with told_warnings(tell):
        core.end()
        try:
            advisor.finish(None if good else InputError("the compiler has failed"))
        finally:
            advisor.close()


@contextmanager
def told_warnings(tell: Teller) -> Iterator[None]:
    """Tell the plugin the warnings of what runs inside."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            for each in caught:
                tell("warning", str(each.message))
            sys.stdout.flush()


def _drop(tell: Teller, address: int) -> None:  # noqa: ARG001
    del _STARTED[address]


def _telling(function: Callable[..., Any], failed: Any) -> Callable[..., Any]:
    """The function for the plugin: what it raises is told, and `failed` returned."""

    @wraps(function)
    def call(teller: int, *arguments: Any) -> Any:
        tell = Teller(teller)
        try:
            return function(tell, *arguments)
        except Error as error:
            tell("error", " ".join(str(error).split()))
            _trace(error)
        except BaseException as error:  # noqa: BLE001  (Ctrl-C and sys.exit() in a policy, too)
            tell("error", f"{type(error).__name__}: {error}")
            _trace(error)
        return failed

    return call


def _trace(error: BaseException) -> None:
    """What ``--traceback`` shows elsewhere: a compiler has no such flag for us."""
    if os.environ.get("PASSPILOT_TRACEBACK"):
        traceback.print_exception(error)


TEXT: Final = c_char_p
_KEPT: Final[list[object]] = []


def connect(
    address: int,
    tell: Tell,
    *,
    load: Callable[[Teller, bytes], None],
    end: Callable[[Teller], None],
    make: MakeAdvisor,
    more: Sequence[Function],
) -> None:
    """Write the functions into the struct at an address.

    Args:
        address: of `AdvisorCalls` or what extends it.
        tell: the plugin's.
        load: runs files and tells the passes that they register.
        end: the process ends.
        make: makes an advisor.
        more: further members of the struct: the function, what it returns, what it takes after the teller.
    """
    global _MAKE
    _MAKE = make
    enter_foreign_tool()
    MLIR.is_native = lambda _: False  # the plugin asks the MLIR at hand, if there is one
    functions: tuple[Function, ...] = (
        (end, None, ()),
        (load, None, (TEXT,)),
        (_start, c_size_t, (TEXT, TEXT, TEXT, TEXT, c_double, c_double)),
        (_finish, None, (c_size_t, c_bool)),
        (_drop, None, (c_size_t,)),
        *more,
    )
    fill(address, tell, functions)


def fill(address: int, tell: Tell, functions: Sequence[Function]) -> None:
    """Write functions into a struct at an address, each of which gets a teller first."""
    global _TELL
    _TELL = tell
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    table = (c_void_p * len(functions)).from_address(address)
    for index, (function, result, arguments) in enumerate(functions):
        made = CFUNCTYPE(result, c_void_p, *arguments)(_telling(function, 0 if result else None))
        _KEPT.append(made)
        table[index] = ctypes.cast(made, c_void_p).value
