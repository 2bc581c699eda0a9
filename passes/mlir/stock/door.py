# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Python does for a stock `mlir-opt` that has loaded our plugin and started this interpreter.

Passes in Python do not run here: the bindings that they are written against have an MLIR of their own, which
cannot be in one process with the tool's. Another process has it, see `passpilot.passes.mlir.stock.worker`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from ctypes import c_bool
from functools import cache
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Final

from passpilot.features.point import Site
from passpilot.passes.mlir.stock.messages import Request, receive_answer, send_request
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.passes.python.registry import MLIR
from passpilot.passes.stock import advisors as loaded
from passpilot.plugin.embedded import FILES, TEXT, end, load
from passpilot.plugin.errors import InputError, PassError

if TYPE_CHECKING:
    from typing import NoReturn

    from passpilot.passes.advisor import OnError
    from passpilot.passes.mlir.stock.messages import Reply
    from passpilot.passes.python.registry import PassDefinition
    from passpilot.plugin._core import Advisor as Core
    from passpilot.plugin.embedded import Tell, Teller
    from passpilot.plugin.errors import PipelineError

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
        return self._core.place.caller

    @property
    def callee_name(self) -> str:
        """The symbol of the callee."""
        return self._core.place.callee

    @property
    def context(self) -> str:
        """The symbol of the caller, which is the context of the decision."""
        return self.caller_name

    @property
    def place(self) -> tuple[str, int, int] | None:
        """File, line and column of the call, if its location tells."""
        place = self._core.place
        return (place.file, place.line, place.column) if place.file else None

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("call", "caller", "callee"):
            told = "expected a name or a place, got an operation, which only `passpilot mlir-opt` can show"
            raise InputError(f"obs.site.{name} in a stock mlir-opt: {told}")
        raise AttributeError(name)


class LoadedAdvisor(PointAdvisor):
    """Advises MLIR's own inliner in this process."""

    def _present(self) -> object:
        assert self._core is not None, "it is asked"
        return LoadedSite(self._core)


_GRACE: Final = 2.0
"""Seconds for the process in which passes run to end."""


def _make(
    point: str, runner: str, log: str | None, on_error: OnError, timeout: float, limit: float
) -> PointAdvisor:
    assert (point, limit) == (POINT, 0)
    return LoadedAdvisor(point, runner, log=log, on_error=on_error, timeout=timeout)


def _load(tell: Teller, files: bytes) -> None:
    before = MLIR.added()
    load(files)
    for definition in map(_definition, sorted(MLIR.added() - before)):
        tell("pass", f"{definition.name}\n{definition.level}\n{definition.doc}")


def _check(tell: Teller, name: bytes, options: bytes) -> None:  # noqa: ARG001
    from passpilot.passes.mlir.text import refused
    from passpilot.passes.python.element import make_pass

    definition, text = _definition(name.decode()), os.fsdecode(options)

    def error(told: str, start: int, end: int) -> PipelineError:
        return refused(f"pass {definition.name}: options", text, told, start, end)

    make_pass(definition, text, 0, (0, len(text)), error)


def _run(tell: Teller, operation: bytes, name: bytes, options: bytes, text: bytes, inside: bool) -> None:
    element = f"{name.decode()}{{{os.fsdecode(options)}}}"
    request = Request(operation.decode(), name.decode(), element, inside)
    with _ONE:
        answer = _worker().run(request, text)
    for told in answer.told:
        tell(*told)
    if answer.text:
        tell("result", answer.text.decode("utf-8", "surrogateescape"))


class _WorkerProcess:
    """The process in which passes run."""

    def __init__(self) -> None:
        ours, its = socket.socketpair()
        with its:
            command = (sys.executable, "-m", "passpilot.passes.mlir.stock.worker", str(its.fileno()), *FILES)
            self._process = subprocess.Popen(command, pass_fds=(its.fileno(),))
        self._connection = Connection(ours.detach())

    def run(self, request: Request, text: bytes) -> Reply:
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
def _worker() -> _WorkerProcess:
    return _WorkerProcess()


def _end(_: Teller) -> None:
    end()
    if _worker.cache_info().currsize:
        _worker().end()


def _definition(name: str) -> PassDefinition:
    definition = MLIR.find(name)
    assert definition is not None, "it is registered"
    return definition


def connect(address: int, tell: Tell) -> None:
    """Write the functions into the struct of plugin/native/mlir/mlir_calls.h at an address."""
    more = ((_check, None, (TEXT, TEXT)), (_run, None, (TEXT, TEXT, TEXT, TEXT, c_bool)))
    loaded.connect(address, tell, load=_load, end=_end, make=_make, more=more)
