# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Pipeline`: runs MLIR pipelines that may contain Python passes anywhere.

A failing Python pass signals a pass failure to MLIR and emits a diagnostic at its operation's location; its
exception is raised again after MLIR has stopped. MLIR runs without the GIL, Python passes run with it.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from passpilot.passes.mlir.narrow_integers import lowers_bits, widen_bits
from passpilot.passes.mlir.text import Element, parse, refused
from passpilot.passes.python.element import make_pass, raise_again
from passpilot.passes.python.registry import LLVM, MLIR, PassDefinition
from passpilot.plugin.errors import CompilationError, InputError, PassError, PipelineError
from passpilot.plugin.failures import describe_failure, did_you_mean, printable
from passpilot.plugin.mlir import capi as mlir_capi
from passpilot.plugin.mlir.bindings import Bindings, ClashError, bindings, using
from passpilot.plugin.mlir.diagnostics import Diagnostic, error_list
from passpilot.plugin.mlir.exchange import replace, usable
from passpilot.plugin.mlir.functions import RunPass
from passpilot.plugin.mlir.place import operation_of, place_of
from passpilot.plugin.process_end import is_interrupt
from passpilot.plugin.version import MAJOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from passpilot.passes.advisor import Advisor
    from passpilot.plugin.mlir.protocols import Operation

WHO = "--pass-pipeline"


class _Failure(NamedTuple):
    """What ended a run: the pass with its operation's location, and its exception, if any."""

    who: str
    raised: BaseException | None


@dataclass(slots=True)
class _Run:
    address: int
    mlir: Bindings
    failed: bool = False


class _Running(threading.local):
    """The Python passes that are running in this thread, innermost last."""

    def __init__(self) -> None:
        self.runs: list[_Run] = []


_RUNNING = _Running()


def signal_pass_failure() -> None:
    """Mark the run of the calling Python pass as failed; the pass continues until it returns.

    Raises:
        InputError: no Python pass is running in this thread.
    """
    if not _RUNNING.runs:
        raise InputError("signal_pass_failure: no pass runs; call it in the run method of a pass")
    run = _RUNNING.runs[-1]
    run.failed = True
    mlir_capi.signal_failure(run.address, run.mlir)


class Pipeline:
    """A pipeline that can run on operations of a context; `manager` is the bindings' pass manager.

    Raises:
        PipelineError: the text is wrong.
        Error: a pass of another distribution cannot be used.
    """

    def __init__(self, text: str, context: Any) -> None:
        self._text, self._context = text, context
        element = parse(WHO, text)
        if printable(element.name) != element.name:
            message = "expected the name of an operation in UTF-8, which MLIR's Python bindings need"
            raise refused(WHO, text, f"{message}, got {element.name}", element.start, _end(element))
        self._mlir = bindings(context)
        self.manager = self._mlir.passmanager.PassManager(element.name, context)
        self._kept: list[object] = []
        self._failures: list[_Failure] = []
        self._exceptions = True  # whether they are diagnostics, too
        self._verifies = True
        self._errors: Sequence[Diagnostic] = ()
        assert element.inner is not None, "parse() made sure"
        self._root = element
        self._fill(mlir_capi.OpPassManager(self.manager), element.name, element.inner)

    def __str__(self) -> str:
        return mlir_capi.pipeline_text(self.manager).strip()

    def verify_each(self, wanted: bool) -> None:
        """Verify the operation after each pass, or do not; without this call, it is verified."""
        self._verifies = wanted
        self.manager.enable_verifier(wanted)

    def run(
        self,
        operation: Operation,
        advisors: Advisor | Sequence[Advisor] = (),
        *,
        tell: Callable[[Diagnostic], None] | None = None,
        exceptions: bool = True,
    ) -> None:
        """Run on an operation, in place.

        `tell` gets every diagnostic; without it, MLIR handles the diagnostics that are not errors. What a
        Python pass raises is a diagnostic, too, unless `exceptions` is False.

        Raises:
            PipelineError: the pipeline is for another kind of operation.
            CompilationError: one of MLIR's passes failed.
            PassError: a Python pass raised or failed.
            Error: an advisor failed and its `on_error` is ``fail``.
        """
        self._exceptions = exceptions
        root, name = self._root, operation.operation.name
        if root.name not in ("any", name):
            wrong = f"expected a pipeline for {name}, got one for {root.name}; write '{name}({root})'"
            raise refused(WHO, self._text, wrong, root.start, _end(root))
        if not advisors:
            self._run(operation, tell)
            return
        from passpilot.passes.asking import advised

        with _one_thread(self._context):  # so that the order of decisions is deterministic
            advised("run_pipeline", advisors, lambda: self._run(operation, tell))

    def _run(self, operation: Operation, tell: Callable[[Diagnostic], None] | None) -> None:
        self._failures.clear()
        with error_list(self._context, tell) as errors:
            self._errors = errors
            succeeded = mlir_capi.run_on(self.manager, operation)
        if self._failures:
            _raise(self._failures[0], errors)
        if not succeeded:
            got = f"{errors[0].message} ({errors[0].place})" if errors else "a failure without a word"
            raise CompilationError(f"{WHO}: expected passes that succeed, got: {got}")

    def _fill(self, manager: mlir_capi.OpPassManager, anchor: str, elements: Iterable[Element]) -> None:
        for element in elements:
            if element.inner is not None:
                self._fill(manager.nested_under(element.name), element.name, element.inner)
            elif definition := MLIR.find(element.name):
                self._add(manager, anchor, element, definition)
            else:
                self._add_native(manager, element)

    def _add_native(self, manager: mlir_capi.OpPassManager, element: Element) -> None:
        if lowers_bits(element.name):
            run = RunPass(partial(self._call, "widen-integers", "passpilot", widen_bits))
            self._kept.append(manager.add_pass("WidenIntegers", "widen-integers", "", "", run))
        if problem := manager.add_pipeline(str(element)):
            raise self._refused(element.name, _expected(element, problem), element.start, _end(element))

    def _add(
        self, manager: mlir_capi.OpPassManager, anchor: str, element: Element, definition: PassDefinition
    ) -> None:
        level = definition.level
        error = partial(self._refused, definition.name)
        if level and anchor not in (level, "any"):
            message = f"expected to be in {level}(...), got {anchor}(...)"
            raise error(message, element.start, _end(element))
        place = element.start, _end(element)
        pass_ = make_pass(definition, element.options or "", element.options_start, place, error)
        if prepare := getattr(pass_, "prepare", None):
            prepare(self._context)
        run = RunPass(partial(self._call, definition.name, definition.origin, pass_.run))
        self._kept.append(
            manager.add_pass(definition.kind.__name__, str(element), definition.doc, level, run)
        )

    def _refused(self, name: str, message: str, start: int, end: int) -> PipelineError:
        return refused(WHO, self._text, f"pass {name}: {message}", start, end)

    def _check_answer(self, origin: str, operation: Operation, answer: object) -> None:
        """Refuses what a pass must not return, and must not leave; it is defined at `origin`."""
        if answer is not None:
            got = type(answer).__name__
            raise PassError(f"expected None of run(), got {got}; return nothing, also after a change")
        before = len(self._errors)
        if self._verifies and not mlir_capi.is_valid(operation):
            told = "".join(f": {each.message} ({each.place})" for each in self._errors[before : before + 1])
            raise PassError(f"expected run() at {origin} to leave valid MLIR, got what MLIR refuses{told}")

    def _call(
        self,
        name: str,
        origin: str,
        body: Callable[[Operation], object],
        address: int,
        pass_: int,
        _: object,
    ) -> None:
        """Runs a Python pass; MLIR calls this, so it must not raise."""
        location: Any = None
        try:
            if self._failures:  # a pass has failed in another thread
                mlir_capi.signal_failure(pass_, self._mlir)
                return
            operation = mlir_capi.operation_at(address, self._mlir)
            location = operation.location  # read now: the pass may erase the operation
            run = _Run(pass_, self._mlir)
            _RUNNING.runs.append(run)
            try:
                with using(self._mlir):
                    answer = body(operation)
            finally:
                _RUNNING.runs.pop()
                _stop_if_erased(name, location, operation)
            if run.failed:
                self._failures.append(_Failure(_who(name, location), None))
            else:
                self._check_answer(origin, operation, answer)
        except BaseException as raised:  # noqa: BLE001  (raised again by run())
            self._failures.append(_Failure(_who(name, location), raised))
            mlir_capi.signal_failure(pass_, self._mlir)
            if self._exceptions and not is_interrupt(raised) and location is not None:
                location.emit_error(f"pass {name}: {describe_failure(raised)}")


def listing() -> str:
    """A list of all Python passes, by the operation that they run on."""
    rows = MLIR.known()
    lines: list[str] = []
    for anchor in sorted({row.level for row in rows}):
        lines.append(f"Passes in Python on {anchor or 'any operation'}:")
        lines += [f"  {row}  {row.doc}".rstrip() for row in rows if row.level == anchor]
    return "".join(f"{line}\n" for line in lines)


def run_pipeline(module: Operation, pipeline: str, advisors: Advisor | Sequence[Advisor] = ()) -> None:
    """Run a textual MLIR pipeline on a module or another operation, in place.

    The text may name Python passes anywhere, see `passpilot.mlir.pass_`. The passes run in the bindings that
    the module belongs to; a module of JAX is copied to upstream's and back. With advisors, MLIR runs in one
    thread. After an error the module may be partly changed.

    Raises:
        InputError: the pipeline is wrong, or `module` is no operation of MLIR's Python bindings.
        StaleViewError: `module` has been erased.
        CompilationError: one of MLIR's passes failed.
        PassError: a Python pass raised or failed.
        Error: an advisor failed and its `on_error` is ``fail``.
    """
    operation = operation_of(module)
    if operation is None:
        got = f"{type(module).__module__}.{type(module).__name__}"
        raise InputError(f"run_pipeline: expected an operation of MLIR's Python bindings, got {got}")
    try:
        with usable("run_pipeline", operation) as target:
            Pipeline(pipeline, target.context).run(target, advisors)
    except ClashError:
        from passpilot.passes.asking import advised
        from passpilot.passes.mlir.apart import run_apart

        replace(operation, advised("run_pipeline", advisors, lambda: run_apart(WHO, operation, pipeline)))


@contextlib.contextmanager
def _one_thread(context: Any) -> Iterator[None]:
    """Disable MLIR's multithreading for the block."""
    several = context.get_num_threads() > 1
    if _RUNNING.runs:
        if several:
            msg = "run_pipeline with advisors: a pass on one of MLIR's threads cannot start it"
            raise InputError(f"{msg}; disable multithreading")
        yield  # the pass may be on MLIR's only thread, which cannot end itself
        return
    context.enable_multithreading(False)
    try:
        yield
    finally:
        if several:
            context.enable_multithreading(True)


def _end(element: Element) -> int:
    if element.options is None:
        return element.start + len(element.name)
    return element.options_start + len(element.options) + 1


def _expected(element: Element, problem: str) -> str:
    """Shortens MLIR's message about a wrong element to one line."""
    if f"'{element.name}' does not refer to a registered pass" in problem:
        if element.name in LLVM.names():
            return "expected a pass of MLIR, got one of LLVM's IR, which `passpilot opt` runs"
        hint = did_you_mean(element.name, [*MLIR.names(), *_native_names()])
        load = "" if {*MLIR.names()} - {*MLIR.own} else "; --load=FILE.py adds passes in Python"
        return (
            f"expected a pass of MLIR's or one in Python, got a name that nobody has registered{load}{hint}"
        )
    line = next(line for line in problem.splitlines() if line.strip())
    line = line.rpartition("error: ")[2].removeprefix("<Pass-Options-Parser>").strip(": ")
    return f"expected what MLIR takes, got: {line}"


def _native_names() -> list[str]:
    """The names of MLIR's own passes, for a hint: those that mlir-opt lists, which the bindings cannot."""
    try:
        command = [f"mlir-opt-{MAJOR}", "--help"]
        told = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return re.findall(r"^ {6}--([\w-]+) ", told, re.MULTILINE)


def _stop_if_erased(name: str, location: object, operation: Operation) -> None:
    """End the process if a pass has erased its own operation: MLIR can neither continue nor fail then."""
    try:
        operation._CAPIPtr  # noqa: B018  (raises if the operation has been erased)
    except RuntimeError:
        message = "the pass has erased the operation that it runs on; erase it in a pass around it"
        line = f"passpilot: error: {_who(name, location)}: {message}\n"
        os.write(2, printable(line).encode())  # one write: several threads may end up here
        os._exit(1)


def _who(name: str, location: object) -> str:
    file, line, column = place_of(location)
    return f"pass {name} at {file}:{line}:{column}" if line else f"pass {name}"


def _raise(failure: _Failure, errors: Sequence[Diagnostic]) -> None:
    who, raised = failure
    if raised is None:
        raise PassError(f"{who}: {errors[0].message if errors else 'it signalled a failure'}")
    raise_again(who, raised)
