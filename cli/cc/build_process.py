# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the build that a process belongs to, for what is said once in a build.

The build is the outermost tool such as make or ninja that has started us. Without one, it is the outermost
process: a script, or a tool that is not known here. We look no further than our session, and the shell that
has made a job of the command. plugin/native/runtime/build_process.cpp finds the same process.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from typing import Final

TOOLS: Final = (
    "make", "gmake", "ninja", "samu", "cmake", "ctest", "meson", "cargo", "npm", "npm install",
    "node-gyp", "scons", "waf", "xmake", "bazel", "buck2", "gradle", "debuild", "dpkg-buildpacka",
)  # fmt: skip
"""The names of build tools, as the system has them: at most 15 letters."""

SHELLS: Final = (
    "sh",
    "bash",
    "dash",
    "zsh",
    "fish",
    "ksh",
    "mksh",
    "ash",
    "busybox",
    "tcsh",
    "csh",
    "nu",
    "xonsh",
)
"""The names of shells."""


class Process:
    """What the system says of a process."""

    __slots__ = ("group", "name", "number", "parent", "session", "start")

    def __init__(self, number: int, text: bytes) -> None:
        head, _, rest = text.rpartition(b")")  # the name itself may have parentheses
        words = rest.split()
        self.number, self.name = number, os.fsdecode(head.partition(b"(")[2])
        self.parent, self.group, self.session = (int(word) for word in words[1:4])
        self.start = int(words[19])


def find_process(number: int) -> Process | None:
    """A process; None if it is not there, or hidden."""
    try:
        with open(f"/proc/{number}/stat", "rb") as file:
            return Process(number, file.read())
    except (OSError, IndexError, ValueError):
        return None


def build_here() -> str:
    """A text that no other build has; empty for a command that a person has typed, or where nobody knows."""
    if (own := find_process(os.getpid())) is None:
        return ""
    tool = outermost = None
    below = own
    while (above := find_process(below.parent)) is not None and above.session == own.session:
        is_shell = above.name in SHELLS
        if is_shell and below.group == below.number:  # a job
            break
        if is_shell and below is own and above.number == own.session and os.isatty(2):
            break
        if above.name in TOOLS:
            tool = above
        below = outermost = above
    found = tool or outermost
    return f"{found.number}-{found.start}" if found else ""
