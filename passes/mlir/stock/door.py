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
from collections.abc import Callable
from ctypes import c_bool, c_double, c_size_t
from functools import cache
from multiprocessing.connection import Connection
from typing import Any, Final

from passpilot.features.catalogue import HOOKED
from passpilot.features.mlir.inline import CallSite, OperationText
from passpilot.passes.advisor import OnError
from passpilot.passes.mlir.stock.messages import AdviseRequest, EndRequest, Reply, Request, RunRequest
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.passes.python.registry import MLIR, PassDefinition
from passpilot.passes.stock import advisors as loaded
from passpilot.plugin._core import Advisor as Core
from passpilot.plugin.embedded import FILES, TEXT, Tell, Teller, end, load
from passpilot.plugin.errors import PassError, PipelineError, UsageError
from passpilot.plugin.failures import decoded, did_you_mean

POINT: Final = "mlir-inline"


class LoadedSite(CallSite):
    """A call that MLIR's own inliner may inline; its operations belong to the tool's MLIR."""

    __slots__ = ()

    def _operation(self, part: str) -> Any:
        self._place(part)
        return OperationText(part, self._core.site_text(part))


class LoadedAdvisor(PointAdvisor):
    """Advises MLIR's own inliner in this process."""

    def _site_reader(self) -> Callable[[Core], LoadedSite]:
        return LoadedSite


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
    for name in sorted(MLIR.added() - before):
        _tell_pass(tell, _definition(name))


def _find(tell: Teller, names: bytes) -> None:
    for name in os.fsdecode(names).split():
        if definition := MLIR.find(name):
            _tell_pass(tell, definition)


def _tell_pass(tell: Teller, definition: PassDefinition) -> None:
    tell("pass", f"{definition.name}\n{definition.level}\n{definition.doc}")


def _check(tell: Teller, name: bytes, options: bytes) -> None:  # noqa: ARG001
    from passpilot.passes.mlir.text import refused
    from passpilot.passes.python.element import make_pass

    definition, text = _definition(os.fsdecode(name)), os.fsdecode(options)

    def error(message: str, start: int, end: int) -> PipelineError:
        return refused(f"pass {definition.name}: options", text, message, start, end)

    make_pass(definition, text, 0, (0, len(text)), error)


def _run(
    tell: Teller,
    compilation: int,
    operation: bytes,
    name: bytes,
    options: bytes,
    text: bytes,
    inside: bool,
    unregistered: bool,
) -> None:
    called, anchor = os.fsdecode(name), os.fsdecode(operation)
    element = f"{called}{{{os.fsdecode(options)}}}"
    request = RunRequest(compilation, anchor, called, element, inside, unregistered)
    answer = _asked(tell, request, text)
    if answer.text:
        tell("result", decoded(answer.text))


def _advise(
    tell: Teller,
    compilation: int,
    point: bytes,
    runner: bytes,
    log: bytes,
    on_error: bytes,
    timeout: float,
) -> None:
    name = os.fsdecode(point)
    _check_point(tell, point)
    policy: OnError = "default" if on_error == b"default" else "fail"
    request = AdviseRequest(compilation, name, os.fsdecode(runner), os.fsdecode(log), policy, timeout)
    _asked(tell, request)


def _check_point(tell: Teller, point: bytes) -> None:  # noqa: ARG001
    from passpilot.features.point import current_name, point_names

    name = current_name(os.fsdecode(point))
    if name in HOOKED:
        message = f"expected a point of MLIR's passes, got {name}, which is LLVM's"
        raise UsageError(f"--passpilot-advise: {message}")
    known = [each for each in point_names() if each not in HOOKED]
    if name not in known:
        hint = f"--passpilot-load=FILE.py adds others{did_you_mean(name, known)}"
        message = f"expected POINT=RUNNER with POINT among {', '.join(known)}, got {name!r}; {hint}"
        raise UsageError(f"--passpilot-advise: {message}")


def _end_passes(tell: Teller, compilation: int, good: bool, stats: bool) -> None:
    _asked(tell, EndRequest(compilation, good, stats))


def _asked(tell: Teller, request: Request, text: bytes = b"") -> Reply:
    """The worker's answer; passes its diagnostics on."""
    with _ONE:
        answer = _worker().ask(request, text)
    for diagnostic in answer.diagnostics:
        tell(*diagnostic)
    return answer


class _WorkerProcess:
    def __init__(self) -> None:
        ours, its = socket.socketpair()
        with its:
            command = (sys.executable, "-m", "passpilot.passes.mlir.stock.worker", str(its.fileno()), *FILES)
            self._process = subprocess.Popen(command, pass_fds=(its.fileno(),))
        self._connection = Connection(ours.detach())

    def ask(self, request: Request, text: bytes) -> Reply:
        """Send a request and wait for the reply, without a time limit."""
        try:
            self._connection.send((request, text))
            reply: Reply = self._connection.recv()
        except (EOFError, OSError):
            who = f"pass {request.name}" if isinstance(request, RunRequest) else "passes in Python"
            message = "expected an answer of the process in which it runs"
            raise PassError(f"{who}: {message}, got its end with code {self._ended()}") from None
        return reply

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
    more = (
        (_check, None, (TEXT, TEXT)),
        (_run, None, (c_size_t, TEXT, TEXT, TEXT, TEXT, c_bool, c_bool)),
        (_find, None, (TEXT,)),
        (_advise, None, (c_size_t, TEXT, TEXT, TEXT, TEXT, c_double)),
        (_check_point, None, (TEXT,)),
        (_end_passes, None, (c_size_t, c_bool, c_bool)),
    )
    loaded.connect(address, tell, load=_load, end=_end, make=_make, more=more)
