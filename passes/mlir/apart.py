# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Upstream's bindings in a process of their own, where other bindings in this one leave no place for them.

A module goes there as text and comes back. The other process calls `serve`, and runs MLIR's passes and
`advised-inline`; decisions are taken here: it sends questions with features, names and texts.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import ExitStack, closing
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

from passpilot.features.mlir.inline import OperationText
from passpilot.features.point import Site
from passpilot.passes.asking import ASKED
from passpilot.passes.mlir.text import parse
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.passes.python.registry import MLIR
from passpilot.plugin.errors import CompilationError, Error, InputError
from passpilot.plugin.failures import describe_exception
from passpilot.plugin.mlir.exchange import module_in, text_of
from passpilot.plugin.process_end import guard_exits

if TYPE_CHECKING:
    from passpilot.passes.mlir.text import Element

PARTS = ("call", "caller", "callee")
POINT = "mlir-inline"


class Job(NamedTuple):
    """A pipeline for a module, or none to lower it to LLVM IR, and whether somebody decides about calls."""

    text: bytes
    pipeline: str
    asks: bool


class Question(NamedTuple):
    """One about a call."""

    values: dict[str, int]
    names: tuple[str, str]
    place: tuple[str, int, int] | None
    texts: tuple[str, ...]


class CallApart(Site):
    """A call in a module that another process has."""

    def __init__(self, question: Question) -> None:
        self._question = question
        for part, text in zip(PARTS, question.texts, strict=True):
            where = "of a module in another process", "one of upstream's bindings in this process"
            setattr(self, part, OperationText(part, text, *where))

    caller_name = property(lambda self: self._question.names[0])
    callee_name = property(lambda self: self._question.names[1])
    context = caller_name
    place = property(lambda self: self._question.place)


def run_apart(who: str, module: Any, pipeline: str) -> bytes:
    """The text of a module after a pipeline, or without one its LLVM IR; the advisors of this thread decide.

    Raises:
        InputError: the pipeline has a pass in Python that is not passpilot's.
        CompilationError: the pipeline failed.
        Error: an advisor failed.
    """
    if pipeline:
        _check(who, parse(who, pipeline))
    advisor = ASKED.get().get(POINT)
    with ExitStack() as stack:
        ours, its = socket.socketpair()
        connection = stack.enter_context(closing(Connection(ours.detach())))
        with its:
            code = f"from {__name__} import serve; serve({its.fileno()})"
            command = (sys.executable, "-c", code)
            process = stack.enter_context(subprocess.Popen(command, pass_fds=(its.fileno(),)))
        stack.callback(process.kill)  # it has nothing to lose
        try:
            connection.send(Job(text_of(module), pipeline, isinstance(advisor, PointAdvisor)))
            while isinstance(answer := connection.recv(), Question):
                connection.send(_answer(advisor, answer))
        except (EOFError, OSError) as error:
            raise CompilationError(f"{who}: expected an answer of its process, got its end") from error
    if isinstance(answer, Error):
        raise answer
    made: bytes = answer
    return made


def _check(who: str, element: Element) -> None:
    for inner in element.inner or ():
        _check(who, inner)
    definition = None if element.inner else MLIR.get(element.name)
    if definition and element.name not in MLIR.own:
        message = "upstream's bindings run in another process here, which does not have it"
        raise InputError(f"{who}: pass {element.name} at {definition.origin}: {message}")


def _answer(advisor: Any, question: Question) -> bool:
    from passpilot.passes.mlir.inline import MLIR_INLINE

    return bool(advisor.ask(MLIR_INLINE, question.values, CallApart(question)))


def serve(descriptor: int) -> None:
    """Do the job that comes from a socket."""
    guard_exits()
    connection = Connection(descriptor)
    job: Job = connection.recv()
    try:
        answer: object = _done(job, connection)
    except Error as error:
        answer = error.__cause__ if isinstance(error.__cause__, Error) else error  # without this pass's name
    except Exception as error:  # noqa: BLE001  (a defect, but the other process needs an answer)
        answer = CompilationError(describe_exception(error))
    connection.send(answer)


def _done(job: Job, connection: Connection) -> bytes:
    from passpilot.passes.mlir.inline import MLIR_INLINE
    from passpilot.passes.mlir.lower import lower
    from passpilot.passes.mlir.pipeline import run_pipeline

    module = module_in("upstream's bindings", job.text)
    if not job.pipeline:
        return lower(module).encode("utf-8", "surrogateescape")

    def ask(obs: Any) -> bool:
        site = obs.site
        names = [value.spec.name for value in MLIR_INLINE.values]
        texts = tuple(str(getattr(site, part)) for part in PARTS)
        values = {name: obs[name].item() for name in names}
        connection.send(Question(values, (site.caller_name, site.callee_name), site.place, texts))
        return bool(connection.recv())

    with ExitStack() as stack:
        advisors = [stack.enter_context(MLIR_INLINE.advisor(ask))] if job.asks else []
        run_pipeline(module, job.pipeline, advisors)
    return text_of(module)
