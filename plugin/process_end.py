# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What may end the process: Ctrl-C, but not within an import or while a process starts, and no user's code.

A signal that is ignored when a command starts (by `nohup`, or SIGINT by `command &` in a script) stays
ignored in the command and in what it runs. Python installs no handler for an ignored SIGINT; code that
handles other signals asks `heeded`.
"""

from __future__ import annotations

import contextlib
import os
import posix
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import Any, Final, TypeVar

from passpilot.plugin.origin import is_ours

GRACE: Final = 1.0
"""Seconds for Python to react itself."""

_T = TypeVar("_T")
_AGAIN: Final = 0.02
_IMPORTLIB: Final = "<frozen importlib"


def is_vulnerable(frame: FrameType | None) -> bool:
    """Whether an exception must not be raised in this frame.

    In importlib's own code, which Python also calls when it frees a lock, it would be dropped. In the start
    of an extension module it would end the process: nanobind aborts when an enumeration cannot be made.
    While a process starts, nobody would know that process; the end of a session would be half counted
    (`uninterrupted`).
    """
    top = frame
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTLIB) and (
            frame is top or isinstance(frame.f_locals.get("self"), ExtensionFileLoader)
        ):
            return True
        if frame.f_code is uninterrupted.__code__ or (
            frame.f_code.co_name == "run"
            and frame.f_globals.get("__name__") == "subprocess"
            and "process" not in frame.f_locals
        ):
            return True
        frame = frame.f_back
    return False


def uninterrupted(call: Callable[[], _T]) -> _T:
    """Call it, for example to start a process that the caller must end; signals raise exceptions later."""
    return call()


def guard_imports() -> None:
    """Let Ctrl-C wait a moment where `is_vulnerable`, for the rest of the process; for the main thread."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    if not is_vulnerable(frame):
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)


def is_interrupt(error: BaseException | None) -> bool:
    """Whether Ctrl-C or another signal raised this, and not the user's own code."""
    if not isinstance(error, KeyboardInterrupt) or type(error) is not KeyboardInterrupt:
        return isinstance(error, KeyboardInterrupt)
    handler = signal.getsignal(signal.SIGINT)
    code = getattr(handler, "__code__", None)
    if callable(handler) and not (code and is_ours(code.co_filename)):
        return True  # it may have raised this
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is None or is_ours(trace.tb_frame.f_code.co_filename)


def guard_exits() -> None:
    """Let `os._exit` and `os.exec*` in a policy or a pass raise SystemExit: the compilation is not done.

    Children of this process may end as they like.
    """
    for name in ("_exit", "execv", "execve"):
        guarded = _guarded(name, getattr(os, name), os.getpid())
        for module in (os, posix):
            setattr(module, name, guarded)


def _guarded(name: str, function: Callable[..., None], process: int) -> Callable[..., None]:
    def guarded(*arguments: Any) -> None:
        if os.getpid() == process and not is_ours(sys._getframe(1).f_code.co_filename):
            raise SystemExit(f"os.{name} would end the compiler")
        function(*arguments)

    return guarded


def heeded(*numbers: signal.Signals) -> tuple[signal.Signals, ...]:
    """The signals that are not ignored; a parent process may have ignored some on purpose."""
    return tuple(number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN)


@contextlib.contextmanager
def prompt_interrupt() -> Iterator[None]:
    """While the block runs, let Ctrl-C end the process if Python does not raise `KeyboardInterrupt` soon.

    For the main thread. Nothing is cleaned up, so outputs must appear whole or not at all.
    """
    done = threading.Event()
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    before = signal.set_wakeup_fd(writer)
    thread = threading.Thread(target=_watch, args=(reader, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        signal.set_wakeup_fd(before)
        os.close(writer)  # which ends the thread
        thread.join()
        os.close(reader)


@contextlib.contextmanager
def finishing(what: str) -> Iterator[None]:
    """Let the block end although Ctrl-C comes, which says `what` will be lost by another one.

    For the main thread. Processes that it starts in the block do not get the signal.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN or threading.current_thread() is not threading.main_thread():
        yield
        return

    def tell(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        print(f"passpilot: Ctrl-C again loses {what}", file=sys.stderr, flush=True)

    ended = threading.Event()
    heeding = threading.Thread(target=ended.wait, daemon=True)  # it gets the signal, which wakes Python
    heeding.start()
    signal.signal(signal.SIGINT, tell)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # as processes inherit it
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
        ended.set()
        heeding.join()


def _watch(reader: int, done: threading.Event) -> None:
    while number := os.read(reader, 1):
        if number[0] == signal.SIGINT and not done.wait(GRACE):
            print("passpilot: interrupted", file=sys.stderr, flush=True)
            os._exit(130)
