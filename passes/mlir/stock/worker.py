# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs Python passes for a stock `mlir-opt`, in a process of its own: ``python -m`` this module.

The MLIR of the Python bindings differs from the tool's, so operations arrive as text, in the generic form
with locations, and go back as text if the pass has changed them. The process ends with its connection.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
import warnings
from collections import defaultdict
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from passpilot.passes.mlir.pipeline import Pipeline
from passpilot.passes.mlir.stock.messages import AdviseRequest, Message, Reply, Request, RunRequest
from passpilot.passes.point_advisor import PointAdvisor
from passpilot.passes.stock.compilation import CompilationAdvisors
from passpilot.plugin.errors import Error, PassError
from passpilot.plugin.failures import describe_exception, guard_names
from passpilot.plugin.load import load_file
from passpilot.plugin.mlir.bindings import bindings
from passpilot.plugin.mlir.diagnostics import Diagnostic, error_list
from passpilot.plugin.mlir.source import check_names, parsed
from passpilot.plugin.process_end import guard_exits, heeded

NOWHERE = ("", 0, 0)


class PassWorker:
    """Runs passes on text, and keeps the advisors of each compilation."""

    def __init__(self) -> None:
        self._mlir = bindings()
        self._context = self._mlir.ir.Context()
        self._context.enable_multithreading(False)
        self._pipelines: dict[str, Pipeline] = {}
        self._advisors: defaultdict[int, CompilationAdvisors] = defaultdict(CompilationAdvisors)

    def answer(self, request: Request, text: bytes) -> Reply:
        """Do what is requested; it has failed if the reply has an error."""
        messages: list[Message] = []
        result = b""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = self._done(request, text, messages)
            except Error as error:
                if not any(kind == "error" for kind, *_ in messages):
                    messages.append(("error", " ".join(str(error).split()), NOWHERE))
            except BaseException as error:  # noqa: BLE001  (Ctrl-C and sys.exit() in a pass)
                who = f"{request.name}: " if isinstance(request, RunRequest) else ""
                messages.append(("error", who + describe_exception(error), NOWHERE))
        return Reply([*messages, *(("warning", str(warning.message), NOWHERE) for warning in caught)], result)

    def _done(self, request: Request, text: bytes, messages: list[Message]) -> bytes:
        if isinstance(request, RunRequest):
            return self._run(request, text, messages)
        if isinstance(request, AdviseRequest):
            number, point, runner, log, on_error, timeout = request
            advisor = PointAdvisor(point, runner, log=log or None, on_error=on_error, timeout=timeout)
            self._advisors[number].advise(advisor)
        else:
            ended = self._advisors.pop(request.compilation, CompilationAdvisors())
            ended.end(good=request.good, stats=request.stats)
        return b""

    def _run(self, request: RunRequest, text: bytes, messages: list[Message]) -> bytes:
        """The new text of the operation; empty if it has not changed."""
        whole = self._parsed(request, text)
        is_whole = request.operation == "builtin.module" and not request.inside
        operation = whole if is_whole else whole.regions[0].blocks[0].operations[0].operation
        before = _printed(operation, alone=request.inside)
        pipeline = self._pipeline(f"{request.operation}({request.element})")
        advisors = self._advisors[request.compilation]
        advisors.raise_failure()
        try:
            with advisors.asked():
                pipeline.run(operation, tell=partial(_tell, messages))
        except BaseException:
            advisors.raise_failure()
            raise
        after = _printed(operation, alone=request.inside)
        return after if after != before else b""

    def _pipeline(self, text: str) -> Pipeline:
        if text not in self._pipelines:
            self._pipelines[text] = Pipeline(text, self._context)
        return self._pipelines[text]

    def _parsed(self, request: RunRequest, text: bytes) -> Any:
        mlir, who = self._mlir, f"pass {request.name}"
        with error_list(self._context, lambda _: None) as errors:
            # the tool may have dialects that the bindings do not know
            for unregistered in (False, True) if not request.unregistered else (True,):
                self._context.allow_unregistered_dialects = unregistered
                errors.clear()
                if module := parsed(mlir, text, self._context):
                    break
        if module is None:
            message = f"expected what MLIR of {mlir.root} {mlir.version} reads, got: {errors[0].message}"
            raise PassError(f"{who}: {message}")
        check_names(who, text, module)
        return module.operation


def _tell(messages: list[Message], diagnostic: Diagnostic) -> None:
    messages.extend(
        (part.severity, part.message, (part.file, part.line, part.column))
        for part in (diagnostic, *diagnostic.notes)
    )


def _printed(operation: Any, *, alone: bool) -> bytes:
    file = io.BytesIO()
    operation.print(
        file=file,
        binary=True,
        print_generic_op_form=True,
        enable_debug_info=True,
        use_local_scope=alone,
        assume_verified=True,
    )
    return file.getvalue()


def main(descriptor: str, *files: str) -> None:
    """Answer requests until the connection is closed."""
    guard_exits()
    guard_names()
    for number in heeded(signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)  # Ctrl-C ends the tool, too
    threading.Thread(target=_end_with, args=(int(descriptor),), daemon=True).start()
    connection = Connection(int(descriptor))
    failure: Reply | None = None
    try:
        for path in files:
            load_file(path)
        worker = PassWorker()
    except Error as error:
        failure = Reply([("error", " ".join(str(error).split()), NOWHERE)])
    while True:
        try:
            request, text = connection.recv()
            answer = failure or worker.answer(request, text)
            sys.stdout.flush()
            connection.send(answer)
        except (EOFError, OSError):
            return


def _end_with(descriptor: int) -> None:
    """End this process when the socket's peer does, even if a pass never returns."""
    poll = select.poll()
    poll.register(descriptor, 0)  # poll() always reports a hang-up
    poll.poll()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # skips cleanup: the tool is waiting
