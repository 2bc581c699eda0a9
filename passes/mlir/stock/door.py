# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python side of the plugin in a stock `mlir-opt`; the plugin starts this interpreter.

Python passes do not run in this process: the bindings that they use contain their own MLIR, which cannot
share a process with the tool's. They run in a second process, `passpilot.passes.mlir.stock.worker`.
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
    """A call that MLIR's own inliner may inline, valid during its decision."""

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
        """The symbol of the caller."""
        return self.caller_name

    @property
    def place(self) -> tuple[str, int, int] | None:
        """File, line and column of the call, if known."""
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
"""Seconds that the worker process has to end by itself."""


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
    """The process in which Python passes run."""

    def __init__(self) -> None:
        ours, its = socket.socketpair()
        with its:
            command = (sys.executable, "-m", "passpilot.passes.mlir.stock.worker", str(its.fileno()), *FILES)
            self._process = subprocess.Popen(command, pass_fds=(its.fileno(),))
        self._connection = Connection(ours.detach())

    def run(self, request: Request, text: bytes) -> Reply:
        """Run a pass in the process and wait for the reply, without a time limit.

        Raises:
            PassError: the process died.
        """
        try:
            send_request(self._connection, request, text)
            return receive_answer(self._connection)
        except (EOFError, OSError):
            got = f"its end with code {self._ended()}"
            told = f"expected an answer of the process in which it runs, got {got}"
            raise PassError(f"pass {request.name}: {told}") from None

    def end(self) -> None:
        """Close the connection, which ends the process, and wait for it."""
        self._connection.close()
        self._ended()

    def _ended(self) -> int:
        """Wait for the exit code; kill the process after `_GRACE`."""
        try:
            return self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


_ONE: Final = threading.Lock()
"""Serializes pass runs across the tool's threads."""


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
    """Write the functions of this module into the struct of plugin/native/mlir/mlir_calls.h at `address`."""
    more = ((_check, None, (TEXT, TEXT)), (_run, None, (TEXT, TEXT, TEXT, TEXT, c_bool)))
    loaded.connect(address, tell, load=_load, end=_end, make=_make, more=more)
