# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attach`: runs a compiler in a process of its own, and answers its questions until it ends."""

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
"""Seconds after which a compiler that says nothing is looked at, at most."""


def attach(command: Sequence[str], answers: Sequence[Answers], timeout: float) -> int:
    """Run the compiler to its end; returns its exit code, or 128 and the number of its signal.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        Error: the compiler, or a runner, broke the rules; the compiler has been ended.
    """
    with waking() as wake, ExitStack() as stack:
        folder, channels = _channels(answers, timeout, wake, stack)
        child = Child(asking_command(command, answers, folder))
        stack.callback(child.stop)  # before the channels, without which it would hang
        for channel in channels:
            channel.start()
        return _watch(child, channels, timeout, wake)


def _channels(
    answers: Sequence[Answers], timeout: float, wake: Wake, stack: ExitStack
) -> tuple[str, list[InteractiveChannel]]:
    """The private folder of the FIFOs, and who answers there."""
    from passpilot.runners.attach.interactive import InteractiveChannel

    channels = []
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="passpilot-"))
        folder = os.path.realpath(folder)  # as /proc tells it
        for each in answers:
            channels.append(InteractiveChannel(f"{folder}/{each.point.name}", each, timeout, wake))
            stack.callback(channels[-1].stop)
    except OSError as error:
        msg = f"attach: expected a folder for FIFOs, got: {error.strerror} ({error.filename}); set TMPDIR"
        raise InputError(msg) from error
    return folder, channels


def _watch(child: Child, channels: Sequence[InteractiveChannel], timeout: float, wake: Wake) -> int:
    """Wait for the end of the compiler, of our patience, or of the user's."""
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
    """Say which signal ended the compiler, as a shell does; returns the exit code."""
    print(f"passpilot attach: the compiler died: {signal.strsignal(number)}", file=sys.stderr)
    return 128 + number
