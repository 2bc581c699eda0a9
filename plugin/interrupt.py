# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`prompt_interrupt`: Ctrl-C during long native code. `heeded`: which signals to handle.

A signal that is ignored when a command starts (by `nohup`, or SIGINT by `command &` in a script) stays
ignored in the command and in what it runs. Python installs no handler for an ignored SIGINT; code that
handles other signals asks `heeded`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

GRACE: Final = 1.0
"""Seconds for Python to react itself."""


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


def _watch(reader: int, done: threading.Event) -> None:
    while number := os.read(reader, 1):
        if number[0] == signal.SIGINT and not done.wait(GRACE):
            print("passpilot: interrupted", file=sys.stderr, flush=True)
            os._exit(130)
