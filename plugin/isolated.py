# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`run_isolated`: calls a function in a child process, a copy of this one, and returns what it returns.

After a fatal error LLVM cannot go on: it ends its process, or crashes. If that is a child process, the parent
gets an exception. The child has everything that the parent has: modules, passes, policies. What it changes in
memory is lost with it, except for what the function returns.

Wire format: for every call the child writes the length of its answer, 8 bytes little-endian, and a pickled
`_Answer`.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NoReturn, TypeVar, cast

from passpilot.plugin import _core
from passpilot.plugin.errors import CompilationError, Error, restated
from passpilot.plugin.failures import describe_exception
from passpilot.plugin.process_end import heeded, uninterrupted

T = TypeVar("T")

_PARENT_DEATH: Final = 1
"""PR_SET_PDEATHSIG of prctl(2)."""

_LENGTH: Final = 8


def run_isolated(
    who: str,
    run: Callable[[], T],
    deadline: float,
    *,
    tell: Callable[[], object] = lambda: None,
    learn: Callable[[object], None] = lambda _: None,
) -> T:
    """Call `run` in a child process and return its result, which must be picklable.

    The exception that it raises is raised here; its warnings appear here, too. In both cases the child calls
    `tell` at its end, and this process calls `learn` with the result.

    Raises:
        CompilationError: the child died, or did not end within `deadline` seconds.
    """
    with contextlib.ExitStack() as stack:
        answer = _started(stack, who, partial(_run, run, tell)).answer(deadline)
    learn(answer.sent)
    for warning in answer.warnings:
        warnings.warn_explicit(*warning)
    if answer.error is not None:
        raise answer.error from answer.cause
    return cast("T", answer.value)


def run_isolated_together(
    who: str,
    runs: Sequence[Callable[[], T]],
    deadline: float,
    jobs: int = 0,
    done: Callable[[int, T | Error], object] = lambda _number, _made: None,
    together: int = 1,
) -> list[T | Error]:
    """Call every function in a child process, `jobs` at the same time, or all.

    Returns their results in order; for one that raises an `Error`, dies, or does not end within `deadline`
    seconds of its start, the error. Their warnings are dropped. `done` is called with the number of a
    function and its result as soon as it is there. A child makes up to `together` calls one after the other,
    which must not disturb each other; if one ends it, another child makes the rest. Without `jobs` it is one.
    """
    results: dict[int, T | Error] = {}
    waiting = deque(range(len(runs)))
    alive: list[_Batch] = []
    with contextlib.ExitStack() as stack:
        while waiting or alive:
            while waiting and len(alive) < (jobs or len(runs)):
                share = len(waiting) // (2 * (jobs or len(runs)))  # smaller and smaller: all end together
                numbers = deque(waiting.popleft() for _ in range(max(1, min(together, share))))
                calls = [partial(_run, runs[number]) for number in numbers]
                child = _started(stack, who, *calls)
                alive.append(_Batch(child, numbers, time.monotonic() + deadline))
            _wait_for_any(alive)
            for batch in list(alive):
                try:
                    answer = batch.child.answer_if_ready(batch.end, deadline)
                except CompilationError as error:
                    number, answer = batch.numbers.popleft(), _Answer(error=error)
                    waiting.extendleft(reversed(batch.numbers))
                    batch.numbers.clear()
                else:
                    if answer is None:
                        continue
                    if answer.error is not None and not isinstance(answer.error, Error):
                        raise answer.error from answer.cause
                    number, batch.end = batch.numbers.popleft(), time.monotonic() + deadline
                assert answer.error is None or isinstance(answer.error, Error), "others were raised"
                results[number] = answer.error or cast("T", answer.value)
                if not batch.numbers:
                    alive.remove(batch)
                    batch.child.close()
                done(number, results[number])
    return [results[number] for number in range(len(runs))]


def _started(stack: contextlib.ExitStack, who: str, *runs: Callable[[], _Answer]) -> _IsolatedCall:
    return uninterrupted(lambda: stack.enter_context(contextlib.closing(_IsolatedCall(who, *runs))))


@dataclass(slots=True)
class _Batch:
    """A child, the numbers of the calls that it still has to make, and when the first of them must end."""

    child: _IsolatedCall
    numbers: deque[int]
    end: float


def _wait_for_any(alive: Sequence[_Batch]) -> None:
    """Wait until a child has written or died, or the first of the ends has come."""
    poll = select.poll()
    for batch in alive:
        batch.child.register(poll)
    if not any(batch.child.has_answer for batch in alive):
        poll.poll(_milliseconds(min(batch.end for batch in alive)))


def _milliseconds(end: float) -> float:
    return max(0.0, min(end - time.monotonic(), 3600)) * 1000


@dataclass(slots=True)
class _Answer:
    value: object = None
    sent: object = None
    """What `tell` returned."""
    error: BaseException | None = None
    cause: BaseException | None = None
    warnings: list[tuple[str, type[Warning], str, int]] = field(default_factory=list)
    """The text, class, file and line of each warning."""


class _IsolatedCall:
    """The child process; killed and reaped at the end of the block."""

    def __init__(self, who: str, *runs: Callable[[], _Answer]) -> None:
        self._who, self._closed = f"{who}, isolated", False
        with contextlib.ExitStack() as stack:
            reader, writer = os.pipe()
            stack.callback(os.close, reader)
            words = os.memfd_create("passpilot")
            stack.callback(os.close, words)
            self._reader, self._words, self._data = reader, words, bytearray()
            _flush()
            try:
                self._pid = _fork()
                if self._pid == 0:
                    _answer_all(runs, writer, words)
            except OSError as error:
                raise CompilationError(
                    f"{self._who}: expected a new process, got: {error.strerror}"
                ) from error
            finally:
                os.close(writer)
            self._process = os.pidfd_open(self._pid)
            stack.callback(os.close, self._process)
            self._held = stack.pop_all()

    def close(self) -> None:
        """Kill and reap the process; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # SIGCHLD is ignored, or somebody else has waited for it
            os.waitpid(self._pid, 0)
        self._held.close()

    def register(self, poll: select.poll) -> None:
        """Let `poll` wake up when the process writes or dies."""
        poll.register(self._reader, select.POLLIN)
        poll.register(self._process, select.POLLIN)

    def answer(self, deadline: float) -> _Answer:
        """Wait for the answer."""
        end = time.monotonic() + deadline
        poll = select.poll()
        self.register(poll)
        while (answer := self.answer_if_ready(end, deadline)) is None:
            poll.poll(_milliseconds(end))
        return answer

    def answer_if_ready(self, end: float, deadline: float) -> _Answer | None:
        """The answer, if it is there; None while the process works."""
        poll = select.poll()
        self.register(poll)
        while not self.has_answer:
            ready = dict(poll.poll(0))
            if self._reader in ready:
                data = os.read(self._reader, 1 << 20)
                self._data += data
                if not data and not self.has_answer:
                    self._raise_death()
            elif ready:
                self._raise_death()
            elif time.monotonic() >= end:
                text = f"expected it to end within {deadline:g} s, got silence; it was ended, see deadline="
                raise CompilationError(f"{self._who}: {text}")
            else:
                return None
        size = _LENGTH + int.from_bytes(self._data[:_LENGTH], "little")
        answer, self._data = self._data[_LENGTH:size], self._data[size:]
        try:
            return cast("_Answer", pickle.loads(answer))
        except Exception as error:
            raise CompilationError(
                f"{self._who}: expected an answer, got {describe_exception(error)}"
            ) from error

    @property
    def has_answer(self) -> bool:
        """Whether an answer was read that nobody has taken."""
        return len(self._data) >= _LENGTH and len(self._data) - _LENGTH >= int.from_bytes(
            self._data[:_LENGTH], "little"
        )

    def _raise_death(self) -> NoReturn:
        words = " ".join(os.pread(self._words, 1 << 16, 0).decode("utf-8", "surrogateescape").split())
        if words:
            raise CompilationError(f"{self._who}: expected it to succeed, got a fatal error of LLVM: {words}")
        how = "an end without an answer"
        with contextlib.suppress(ChildProcessError):
            code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
            if code < 0:
                how = f"its death by signal {-code} ({signal.strsignal(-code)})"
            else:
                how = f"its end with exit code {code}"
        raise CompilationError(f"{self._who}: expected it to finish, got {how}")


def _flush() -> None:
    """Write all buffered output, so that no process writes it twice or not at all."""
    _core.flush_output()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # it may be None or closed
            stream.flush()


def _fork() -> int:
    with warnings.catch_warnings():
        # Python warns of locks that other threads may hold; the deadline bounds that.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _answer_all(runs: Sequence[Callable[[], _Answer]], writer: int, words: int) -> NoReturn:
    """Answers the calls, in the child process."""
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends this process
        for number in (signal.SIGTERM, *heeded(signal.SIGHUP)):
            signal.signal(number, signal.SIG_DFL)
        _core.tell_fatal_errors(words)
        for run in runs:
            data = _pickled(run())
            _flush()
            _write(writer, len(data).to_bytes(_LENGTH, "little") + data)
        code = 0
    finally:
        os._exit(code)  # nothing of the parent's is closed or flushed twice


def _run(run: Callable[[], object], tell: Callable[[], object] = lambda: None) -> _Answer:
    answer = _Answer()
    with warnings.catch_warnings(record=True) as caught:
        try:
            answer.value = run()
        except BaseException as error:  # noqa: BLE001  (raised again by the parent)
            answer.error, answer.cause = _portable(error)
    answer.sent = tell()
    answer.warnings = [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
    return answer


def _portable(error: BaseException) -> tuple[BaseException, BaseException | None]:
    """The error and its cause as the parent can raise them, with the traceback of the cause as a note."""
    cause = error.__cause__
    if cause is not None:
        lines = traceback.format_exception(cause)
        error.add_note("in the child process:\n" + "".join(lines).rstrip())
    if not _survives(error):
        text = describe_exception(error)
        notes = error.__notes__ if hasattr(error, "__notes__") else []
        error = restated(error, str(error)) if isinstance(error, Error) else CompilationError(text)
        error.__cause__ = None
        for note in notes:
            error.add_note(note)
    return error, cause if cause is not None and _survives(cause) else None


def _survives(error: BaseException) -> bool:
    """Whether the parent gets the exception as it is."""
    try:
        return type(pickle.loads(pickle.dumps(error))) is type(error)
    except Exception:  # noqa: BLE001  (a class of a function, a file as an attribute, ...)
        return False


def _pickled(answer: _Answer) -> bytes:
    try:
        return pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001  (a warning of a class that has no global name)
        text = f"expected a result that can be pickled, got {describe_exception(error)}"
        return pickle.dumps(_Answer(error=CompilationError(text)))


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
