# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds an attached compiler's command line: recognizes the tool and adds the flags to ask."""

from __future__ import annotations

import os
import re
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Final

from passpilot.features.catalogue import HOOKED, TOOLS
from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from passpilot.runners.attach.answers import Answers

_TOOL: Final = re.compile(rf"(?:.+-)?({'|'.join(map(re.escape, TOOLS))})(?:\+\+)?(?:-[0-9.]+)?")
_JOBS: Final = "--thinlto-jobs"


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
    if tool in ("clang", "ld.lld"):
        flags = [word for flag in flags for word in ("-mllvm", flag)]
    if tool == "ld.lld" and not any(_JOBS in argument for argument in arguments):
        flags.append(f"{_JOBS}=1")
    first = arguments[:1] if arguments[:1] == ["-cc1"] else []
    if tool == "clang" and not first:  # when clang only links, nothing reads them
        flags = ["--start-no-unused-arguments", *flags, "--end-no-unused-arguments"]
    return [command[0], *first, *flags, *arguments[len(first) :]]
