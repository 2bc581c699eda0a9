# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says once in a build that a policy or a decision file meets another optimization level than its own.

Every compilation is a process of its own, so a file in the user's cache notes what was said, for `PAUSE`
seconds after the last compilation of the session. The launcher in C++ looks at the same file.
"""

from __future__ import annotations

import os
import sys
import time

from passpilot.cli.cc.clang_arguments import Command

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from passpilot.cli.cc.options import Options

PAUSE: Final = 600.0
"""Seconds without a compilation, after which it is said again."""

FOR_SIZE: Final = ("s", "z")

PROBES: Final = ("conftest", "CMakeScratch", "CMakeTmp", "CompilerId", "meson-private")
"""Parts of the paths where build systems try the compiler; some take any message for a failure."""


def note_level(name: str, options: Options, command: Command, arguments: Sequence[str]) -> None:
    """Say what another level does to the policy or the decision file, if nobody has said it in this build."""
    given = next((option for option in ("policy", "decisions") if options.value(option)), "")
    level = command.level or "1"
    if not given or not command.compiles or level in FOR_SIZE:
        return
    if any(probe in word for probe in PROBES for word in (os.getcwd(), *arguments)) or "-" in arguments:
        return
    if given == "policy":
        _level_of(options.value(given))  # it may not exist
    value, got = options.value(given), f"-O{command.level}" if command.has_level else "no -O"
    what = f"passpilot: warning: {name}: --{given}={value}:"
    if command.is_unoptimized:
        text = f"{what} expected a level such as -Oz, got {got}; nothing changes where nothing is optimized"
    elif given == "policy" and not command.is_unknown and _level_of(value) in FOR_SIZE:
        text = f"{what} it is made for -Oz, got {got}; code is now made small, and may be slower"
    else:
        text = ""
    if not _was_said(f"{os.getsid(0)}-{options.policy.partition('?')[0].strip('@')}-O{level}") and text:
        print(f"{text} (said once in a build)", file=sys.stderr)


def _level_of(policy: str) -> str:
    from passpilot.runners.policy.bundle import find_bundle

    return find_bundle(policy.partition("?")[0]).level[1:]


def _was_said(key: str) -> bool:
    """Whether the note is there, and not old; then it is new."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    path = os.path.join(cache, "passpilot", "said", key.replace("/", "_")[-200:])
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            was_said = time.time() - os.stat(path).st_mtime < PAUSE
            os.utime(path)
            return was_said
    except OSError:
        pass
    return False
