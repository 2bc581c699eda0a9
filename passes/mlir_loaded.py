# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python does for a stock `mlir-opt` that has loaded our plugin and started this interpreter.

The plugin calls the functions here through the struct of plugin/mlir/python.h and ctypes, which takes the
GIL. What there is to say is told to the plugin: nothing is raised into it.

Passes in Python do not run here: the bindings that they are written against have an MLIR of their own, which
cannot be in one process with the tool's. Another process has it, see `passpilot.passes.mlir_worker`.
"""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
import threading
import warnings
from ctypes import CFUNCTYPE, c_char_p, c_double, c_size_t, c_void_p
from functools import cache, wraps
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Final

from passpilot.features.point import Site
from passpilot.passes.decision_point import PointAdvisor
from passpilot.passes.mlir_request import Request, receive_answer, send_request
from passpilot.passes.registry import MLIR
from passpilot.plugin.errors import Error, InputError, PassError
from passpilot.plugin.load import load_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from passpilot.passes.mlir_request import Answer
    from passpilot.passes.registry import PassDefinition
    from passpilot.plugin._core import Advisor as Core
    from passpilot.plugin.errors import PipelineError

    Tell = Callable[[int, bytes, bytes, int, bytes, int, int], None]

POINT: Final = "mlir-inline"


class LoadedSite(Site):
    """A call that may be inlined by MLIR's own inliner, valid during its decision."""

    __slots__ = ("_core",)

    def __init__(self, core: Core) -> None:
        self._core = core

    def __repr__(self) -> str:
        return f"<LoadedSite {self.caller_name} -> {self.callee_name}>"

    @property
    def caller_name(self) -> str:
        """The symbol of the caller."""
        return self._core.place[0]

    @property
    def callee_name(self) -> str:
        """The symbol of the callee."""
        return self._core.place[1]

    @property
    def context(self) -> str:
        """The symbol of the caller, which is the context of the decision."""
        return self.caller_name

    @property
    def place(self) -> tuple[str, int, int] | None:
        """File, line and column of the call, if its location tells."""
        _, _, file, line, column = self._core.place
        return (file, line, column) if file else None

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("call", "caller", "callee"):
            told = "expected a name or a place, got an operation, which only `passpilot mlir-opt` can show"
            raise InputError(f"obs.site.{name} in a stock mlir-opt: {told}")
        raise AttributeError(name)


class LoadedAdvisor(PointAdvisor):
    """Advises MLIR's own inliner in this process."""

    def begin(self) -> int:
        """The session that the plugin asks, by its address.

        Raises:
            LogError: the log cannot be opened.
        """
        core = self.start()
        assert core is not None, "where nobody is to be asked, the plugin asks nobody"
        core.begin()
        return core.session

    def end(self, *, good: bool) -> None:
        """End the run.

        Raises:
            Error: the failure that ended it, if it was the advisor's.
        """
        assert self._core is not None, "begin() returned"
        self._core.end()
        try:
            self.finish(None if good else InputError("MLIR has failed"))
        finally:
            self.close()

    def _present(self) -> object:
        assert self._core is not None, "it is asked"
        return LoadedSite(self._core)


class _Teller:
    """Tells the plugin."""

    def __init__(self, address: int) -> None:
        self._address = address

    def __call__(self, kind: str, text: str, place: tuple[str, int, int] = ("", 0, 0)) -> None:
        data = text.encode("utf-8", "surrogateescape")
        file, line, column = place
        _TELL(self._address, kind.encode(), data, len(data), os.fsencode(file), line, column)


_TELL: Tell
_FILES: Final[list[str]] = []
"""Those that have been loaded."""

_GRACE: Final = 2.0
"""Seconds for the process in which passes run to end."""

_ADVISORS: Final[dict[int, LoadedAdvisor]] = {}
"""Those in use, by the address of the session."""


def _load(tell: _Teller, files: bytes) -> None:
    before = MLIR.added()
    for path in os.fsdecode(files).split(os.pathsep):
        load_file(path)
        _FILES.append(path)
    for definition in map(_definition, sorted(MLIR.added() - before)):
        tell("pass", f"{definition.name}\n{definition.level}\n{definition.doc}")


def _start(tell: _Teller, runner: bytes, log: bytes, on_error: bytes, timeout: float) -> int:  # noqa: ARG001
    advisor = LoadedAdvisor(
        POINT,
        os.fsdecode(runner),
        log=os.fsdecode(log) or None,
        on_error="default" if on_error == b"default" else "fail",
        timeout=timeout,
    )
    try:
        address = advisor.begin()
    except BaseException:
        advisor.close()
        raise
    _ADVISORS[address] = advisor
    return address


def _finish(tell: _Teller, address: int, good: bool) -> None:
    advisor = _ADVISORS.pop(address)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            advisor.end(good=good)
        finally:
            for each in caught:
                tell("warning", str(each.message))
            sys.stdout.flush()


def _check(tell: _Teller, name: bytes, options: bytes) -> None:  # noqa: ARG001
    from passpilot.passes.element import make_pass
    from passpilot.passes.mlir_text import refused

    definition, text = _definition(name.decode()), os.fsdecode(options)

    def error(told: str, start: int, end: int) -> PipelineError:
        return refused(f"pass {definition.name}: options", text, told, start, end)

    make_pass(definition, text, 0, (0, len(text)), error)


def _run(tell: _Teller, operation: bytes, name: bytes, options: bytes, text: bytes, inside: bool) -> None:
    element = f"{name.decode()}{{{os.fsdecode(options)}}}"
    request = Request(operation.decode(), name.decode(), element, inside)
    with _ONE:
        answer = _worker().run(request, text)
    for told in answer.told:
        tell(*told)
    if answer.text:
        tell("result", answer.text.decode("utf-8", "surrogateescape"))


class _Worker:
    """The process in which passes run."""

    def __init__(self) -> None:
        ours, its = socket.socketpair()
        with its:
            command = (sys.executable, "-m", "passpilot.passes.mlir_worker", str(its.fileno()), *_FILES)
            self._process = subprocess.Popen(command, pass_fds=(its.fileno(),))
        self._connection = Connection(ours.detach())

    def run(self, request: Request, text: bytes) -> Answer:
        """What has come of a run of a pass, which takes as long as it takes.

        Raises:
            PassError: the process has died.
        """
        try:
            send_request(self._connection, request, text)
            return receive_answer(self._connection)
        except (EOFError, OSError):
            got = f"its end with code {self._ended()}"
            told = f"expected an answer of the process in which it runs, got {got}"
            raise PassError(f"pass {request.name}: {told}") from None

    def end(self) -> None:
        """End the process, which does so once nobody can ask it."""
        self._connection.close()
        self._ended()

    def _ended(self) -> int:
        """Its exit code; it has a moment to end by itself."""
        try:
            return self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


_ONE: Final = threading.Lock()
"""Held by the one of the tool's threads that has a pass run."""


@cache
def _worker() -> _Worker:
    return _Worker()


def _end(_: _Teller) -> None:
    sys.stdout.flush()
    if _worker.cache_info().currsize:
        _worker().end()


def _definition(name: str) -> PassDefinition:
    definition = MLIR.find(name)
    assert definition is not None, "it is registered"
    return definition


def _telling(function: Callable[..., Any], failed: Any) -> Callable[..., Any]:
    """The function for the plugin: what it raises is told, and `failed` returned."""

    @wraps(function)
    def call(teller: int, *arguments: Any) -> Any:
        tell = _Teller(teller)
        try:
            return function(tell, *arguments)
        except Error as error:
            tell("error", " ".join(str(error).split()))
        except BaseException as error:  # noqa: BLE001  (Ctrl-C and sys.exit() in a policy, too)
            tell("error", f"{type(error).__name__}: {error}")
        return failed

    return call


_TEXT: Final = c_char_p
_FUNCTIONS: Final[tuple[tuple[Callable[..., Any], Any, tuple[Any, ...]], ...]] = (
    (_load, None, (_TEXT,)),
    (_start, c_size_t, (_TEXT, _TEXT, _TEXT, c_double)),
    (_finish, None, (c_size_t, ctypes.c_bool)),
    (_check, None, (_TEXT, _TEXT)),
    (_run, None, (_TEXT, _TEXT, _TEXT, _TEXT, ctypes.c_bool)),
    (_end, None, ()),
)
"""In the order of the struct: the function, what it returns, and what it takes after the teller."""

_KEPT: Final[list[object]] = []


def connect(address: int, tell: Tell) -> None:
    """Write the functions into the struct at an address; `tell` is the plugin's."""
    global _TELL
    _TELL = tell
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    MLIR.is_native = lambda _: False  # the plugin asks the MLIR at hand
    table = (c_void_p * len(_FUNCTIONS)).from_address(address)
    for index, (function, result, arguments) in enumerate(_FUNCTIONS):
        made = CFUNCTYPE(result, c_void_p, *arguments)(_telling(function, 0 if result else None))
        _KEPT.append(made)
        table[index] = ctypes.cast(made, c_void_p).value
