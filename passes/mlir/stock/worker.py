# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The process in which passes in Python run for a stock `mlir-opt`: ``python -m`` this module.

It has MLIR's Python bindings, whose MLIR is another than the tool's. So an operation comes as text, in the
generic form with locations, and goes back as such if the pass has changed it. It ends with its connection.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from passpilot.passes.mlir.pipeline import Pipeline
from passpilot.passes.mlir.stock.messages import Reply, receive_request, send_answer
from passpilot.plugin.errors import Error, PassError
from passpilot.plugin.failures import headline
from passpilot.plugin.interrupt import heeded
from passpilot.plugin.load import load_file
from passpilot.plugin.mlir.bindings import bindings

if TYPE_CHECKING:
    from passpilot.passes.mlir.stock.messages import Request, Told
    from passpilot.plugin.mlir.diagnostics import Diagnostic

NOWHERE = ("", 0, 0)


class PassWorker:
    """Runs passes on text."""

    def __init__(self) -> None:
        self._mlir = bindings()
        self._context = self._mlir.ir.Context()
        self._context.allow_unregistered_dialects = True  # the tool says what it knows
        self._context.enable_multithreading(False)
        self._pipelines: dict[str, Pipeline] = {}

    def answer(self, request: Request, text: bytes) -> Reply:
        """What comes of the run of a pass; it has failed if an error is told."""
        diagnostics: list[Diagnostic] = []
        failed: list[Told] = []
        result = b""
        try:
            result = self._run(request, text, diagnostics)
        except Error as error:
            if not any(each.severity == "error" for each in diagnostics):
                failed.append(("error", " ".join(str(error).split()), NOWHERE))
        except BaseException as error:  # noqa: BLE001  (Ctrl-C and sys.exit() in a pass)
            failed.append(("error", f"{request.name}: {headline(error)}", NOWHERE))
        said = [each for first in diagnostics for each in (first, *first.notes)]
        told = [(each.severity, each.message, (each.file, each.line, each.column)) for each in said]
        return Reply([*told, *failed], result)

    def _run(self, request: Request, text: bytes, diagnostics: list[Diagnostic]) -> bytes:
        """What results; nothing if it is the same as before."""
        whole = self._parsed(request, text)
        made = whole.regions[0].blocks[0].operations[0].operation if request.inside else whole
        before = _printed(made, alone=request.inside)
        self._pipeline(f"{request.operation}({request.element})").run(made, tell=diagnostics.append)
        after = _printed(made, alone=request.inside)
        return after if after != before else b""

    def _pipeline(self, text: str) -> Pipeline:
        if text not in self._pipelines:
            self._pipelines[text] = Pipeline(text, self._context)
        return self._pipelines[text]

    def _parsed(self, request: Request, text: bytes) -> Any:
        mlir = self._mlir
        try:
            return mlir.ir.Operation.parse(text.decode("utf-8", "surrogateescape"), context=self._context)
        except mlir.ir.MLIRError as error:
            got = error.error_diagnostics[0].message
            told = f"expected what MLIR of {mlir.root} {mlir.version} reads, got: {got}"
            raise PassError(f"pass {request.name}: {told}") from None


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
    """Answer requests until there is nobody left to ask."""
    for number in heeded(signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)  # the tool ends by it, too
    threading.Thread(target=_end_with, args=(int(descriptor),), daemon=True).start()
    connection = Connection(int(descriptor))
    failure: Reply | None = None
    try:
        for path in files:
            load_file(path)
        worker = PassWorker()
    except Error as error:
        failure = Reply([("error", " ".join(str(error).split()), NOWHERE)], b"")
    while True:
        try:
            request, text = receive_request(connection)
            answer = failure or worker.answer(request, text)
            sys.stdout.flush()
            send_answer(connection, answer)
        except (EOFError, OSError):
            return


def _end_with(descriptor: int) -> None:
    """End this process with the one at the other end of a socket, also where a pass does not come back."""
    poll = select.poll()
    poll.register(descriptor, 0)  # a hang-up is told unasked
    poll.poll()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # the tool waits, and nothing here needs to be taken down
