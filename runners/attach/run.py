# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`attach`: runs a compiler as a child process, with the flags to ask, and answers its questions."""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Final

from passpilot.features.catalogue import HOOKED, TOOLS
from passpilot.plugin.errors import InputError, UsageError
from passpilot.runners.attach.child import Child, Wake, waking

if TYPE_CHECKING:
    from passpilot.runners.attach.answers import Answers
    from passpilot.runners.attach.interactive import InteractiveChannel

_LOOK_EVERY: Final = 1.0
"""The longest time in seconds between two checks of a silent compiler."""
_TOOL: Final = re.compile(rf"(?:.+-)?({'|'.join(map(re.escape, TOOLS))})(?:\+\+)?(?:-[0-9.]+)?")
_JOBS: Final = "--thinlto-jobs"
_UNITS: Final = "codegen-units"


def attach(command: Sequence[str], answers: Sequence[Answers], timeout: float) -> int:
    """Run the compiler to its end; return its exit code, or 128 plus the number of its signal.

    Raises:
        KeyboardInterrupt: the user pressed Ctrl-C.
        Error: the compiler or a runner failed; the compiler has been ended.
    """
    with waking() as wake, ExitStack() as stack:
        rust = tool_of(command[0]) == "rustc"
        folder, channels = _channels(answers, timeout, wake, stack, rust)
        child = Child(asking_command(command, answers, folder))
        stack.callback(child.stop)  # runs before the channels close, or the compiler would hang
        for channel in channels:
            channel.start()
        return _watch(child, channels, timeout, wake)


def _channels(
    answers: Sequence[Answers], timeout: float, wake: Wake, stack: ExitStack, rust: bool
) -> tuple[str, list[InteractiveChannel]]:
    """Make a private folder for the FIFOs, and the channels that answer there."""
    from passpilot.runners.attach.interactive import InteractiveChannel

    channels = []
    try:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="passpilot-"))
        folder = os.path.realpath(folder)  # the form in /proc
        if rust and len(folder.split()) > 1:
            raise InputError(
                f"attach: expected a folder without spaces, at which rustc splits options, got {folder!r}; "
                "set TMPDIR"
            )
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
    if code >= 0:
        return code
    print(f"passpilot attach: the compiler died: {signal.strsignal(-code)}", file=sys.stderr)
    return 128 - code


def tool_of(program: str) -> str:
    """Recognize a tool by the program's name, or by the name of the file that it links to.

    Raises:
        UsageError: the program is not a known tool.
    """
    for name in (program, os.path.realpath(which(program) or program)):
        if match := _TOOL.fullmatch(Path(name).name):
            return match[1]
    raise UsageError(f"attach: expected one of {', '.join(TOOLS)}, got {program!r}")


def asking_command(command: Sequence[str], answers: Sequence[Answers], folder: str) -> list[str]:
    """Add the flags that make the command's passes ask over FIFOs in `folder`."""
    tool, arguments = tool_of(command[0]), list(command[1:])
    flags: list[str] = []
    for channel in answers:
        how = HOOKED[channel.point.name].interactive
        assert how is not None, "attach has no other points"
        flags += (flag.format(f"{folder}/{channel.point.name}") for flag in how.flags)
        named = any(how.lifted.partition("=")[0] in argument for argument in arguments)
        flags += [how.lifted] * (bool(how.lifted) and not named)
        flags += [how.default] * channel.wants_default
    if tool in ("clang", "flang", "ld.lld"):
        flags = [word for flag in flags for word in ("-mllvm", flag)]
    if tool == "ld.lld" and not any(_JOBS in argument for argument in arguments):
        flags.append(f"{_JOBS}=1")
    if tool == "rustc":
        flags = [f"-Cllvm-args={flag}" for flag in flags]
        if not any(_UNITS in argument for argument in arguments):
            flags.append(f"-C{_UNITS}=1")
    stays = arguments[:1] == ["-cc1"] or (tool == "rustc" and "".join(arguments[:1]).startswith("+"))
    first = arguments[:1] if stays else []  # +nightly chooses a rustc of rustup's
    if tool == "clang" and not first:  # when clang only links, nothing reads them
        flags = ["--start-no-unused-arguments", *flags, "--end-no-unused-arguments"]
    return [command[0], *first, *flags, *arguments[len(first) :]]
