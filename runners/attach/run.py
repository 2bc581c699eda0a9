# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attach`: runs a compiler as a child process and answers its questions until it ends."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import InputError
from passpilot.runners.attach.child import Child, waking
from passpilot.runners.attach.command import asking_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.runners.attach.answers import Answers
    from passpilot.runners.attach.child import Wake
    from passpilot.runners.attach.interactive import InteractiveChannel

_LOOK_EVERY: Final = 1.0
"""The longest time in seconds between two checks of a silent compiler."""


def attach(command: Sequence[str], answers: Sequence[Answers], timeout: float) -> int:
    """Run the compiler to its end; return its exit code, or 128 plus the number of its signal.

    Raises:
        KeyboardInterrupt: the user pressed Ctrl-C.
        Error: the compiler or a runner failed; the compiler has been ended.
    """
    with waking() as wake, ExitStack() as stack:
        folder, channels = _channels(answers, timeout, wake, stack)
        child = Child(asking_command(command, answers, folder))
        stack.callback(child.stop)  # runs before the channels close, or the compiler would hang
        for channel in channels:
            channel.start()
        return _watch(child, channels, timeout, wake)


def _channels(
    answers: Sequence[Answers], timeout: float, wake: Wake, stack: ExitStack
) -> tuple[str, list[InteractiveChannel]]:
    """Make a private folder for the FIFOs, and the channels that answer there."""
    from passpilot.runners.attach.interactive import InteractiveChannel

    channels = []
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="passpilot-"))
        folder = os.path.realpath(folder)  # the form in /proc
        for answer in answers:
            channels.append(InteractiveChannel(f"{folder}/{answer.point.name}", answer, timeout, wake))
            stack.callback(channels[-1].stop)
    except OSError as error:
        msg = f"attach: expected a folder for FIFOs, got: {error.strerror} ({error.filename}); set TMPDIR"
        raise InputError(msg) from error
    return folder, channels


def _watch(child: Child, channels: Sequence[InteractiveChannel], timeout: float, wake: Wake) -> int:
    """Wait until the compiler ends, a channel fails or is overdue, or a signal comes."""
    while not child.ended:
        number = wake.wait(child.fd, min(_LOOK_EVERY, timeout / 16))
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        if number:
            return 128 + number
        for channel in channels:
            if error := channel.failure or channel.overdue():
                raise error
    code = child.finish()
    for channel in channels:
        channel.stop()
        if code == 0 and (error := channel.failure or channel.cut):
            raise error
    return code if code >= 0 else _killed(-code)


def _killed(number: int) -> int:
    """Print which signal ended the compiler, like a shell; return the exit code."""
    print(f"passpilot attach: the compiler died: {signal.strsignal(number)}", file=sys.stderr)
    return 128 + number
