# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs clang, or a build, as a child, and ends both processes by the signals that would end it alone."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from passpilot.plugin.process_end import heeded, uninterrupted
from passpilot.runners.serving.stop import Stopped, stop_on_signals

ENDING: Final = (signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU)
"""More signals that end clang, and that users, batch systems and limits send."""
GRACE: Final = 5.0
"""Seconds for a process to clean up after SIGTERM."""


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Let SIGTERM, SIGHUP and `ENDING` end this process, but first all children that the block waits for.

    Within the block they are exceptions, and so is Ctrl-C, which stays a KeyboardInterrupt behind it.
    """
    try:
        with stop_on_signals(*heeded(*ENDING)):
            yield
    except Stopped as stopped:
        (number,) = stopped.args
        if number == signal.SIGINT:
            raise
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


def run_clang(compiler: str, command: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run clang as a child; returns its exit code.

    If an exception ends the wait, SIGTERM ends the child and what it has started; they remove their outputs.
    """
    sys.stdout.flush()
    child = uninterrupted(
        partial(subprocess.Popen, command, executable=compiler, env=environment, close_fds=False)
    )
    try:
        code = child.wait()
    except BaseException:
        _end([child.pid, *_descendants(child.pid)])
        child.wait()
        raise
    return code if code >= 0 else 128 - code


def _end(processes: Sequence[int]) -> None:
    """Send SIGTERM to processes, and give them some time to clean up."""
    with contextlib.ExitStack() as stack:
        waited = []
        for pid in processes:
            with contextlib.suppress(ProcessLookupError):
                waited.append(os.pidfd_open(pid))
                stack.callback(os.close, waited[-1])
                signal.pidfd_send_signal(waited[-1], signal.SIGTERM)
        for process in waited:
            select.select([process], [], [], GRACE)


def _descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have started."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
    except OSError:
        return []
    return [process for child in children for process in (child, *_descendants(child))]
