# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says once in a build that advice meets another optimization level than its own, or none.

Every compilation is a process of its own, so a file in the user's cache notes what was said in a build. The
launcher in C++ looks at the same file.
"""

from __future__ import annotations

import os
import sys
import time

from passpilot.cli.cc.build_process import build_here
from passpilot.cli.cc.clang_arguments import Command
from passpilot.features.catalogue import HOOKED

TYPE_CHECKING = False  # type checkers take it as true
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

    from passpilot.cli.cc.options import Options

PAUSE: Final = 600.0
"""Seconds without a compilation, after which it is said again: the tool that builds may run for days."""

KEPT: Final = 86400.0
"""Seconds for which a note is kept."""

FOR_SIZE: Final = ("s", "z")

PROBES: Final = ("conftest", "CMakeScratch", "CMakeTmp", "CompilerId", "meson-private")
"""Parts of the paths where build systems try the compiler; some take any message for a failure."""


def note_level(name: str, options: Options, command: Command, arguments: Sequence[str]) -> None:
    """Say what another level does to the advice, if nobody has said it in this build."""
    given, level = _advice(options, command), command.level or "1"
    if not given or not command.compiles or level in FOR_SIZE:
        return
    if any(probe in word for probe in PROBES for word in (os.getcwd(), *arguments)) or "-" in arguments:
        return
    if not any(os.path.exists(word) for word in arguments if not word.startswith("-")):
        return  # clang says what is missing
    if given == "policy":
        _level_of(options.value(given))  # it may not exist
    got = f"-O{command.level}" if command.has_level else "no -O"
    if command.level == "0" and not command.is_unknown:  # with -flto, too: the linker leaves it as it is
        text = f"expected a level such as -Oz, got {got}; nothing changes where nothing is optimized"
    elif given == "policy" and not command.is_unknown and _level_of(options.value(given)) in FOR_SIZE:
        text = f"it is made for -Oz, got {got}; code is now made small, and may be slower"
    else:
        text = ""
    build = build_here()
    if build and _was_said(f"{build}-{options.policy.partition('?')[0].strip('@')}-O{level}"):
        return
    if text:
        from passpilot.plugin.failures import for_terminal

        once = " (said once in a build)" * bool(build)
        who = f"passpilot: warning: {name}: {options.spelled(given)}"
        print(for_terminal(f"{who}: {text}{once}"), file=sys.stderr)


def _advice(options: Options, command: Command) -> str:
    """The name of an option whose advice may depend on the level; empty if there is none."""
    runners = HOOKED if command.is_unoptimized and not options.stats else ()
    advised = (point for point in runners if options.value(point) not in ("", "default"))
    return next((name for name in ("policy", "decisions", *advised) if options.value(name)), "")


def _level_of(policy: str) -> str:
    from passpilot.runners.policy.bundle import find_bundle

    return find_bundle(policy.partition("?")[0]).level[1:]


def _was_said(key: str) -> bool:
    """Whether the note is there, and not old; then it is new."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "passpilot", "said")
    path = os.path.join(folder, key.replace("/", "_")[-200:])
    now = time.time()
    try:
        os.makedirs(folder, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            was_said = now - os.stat(path).st_mtime < PAUSE
            os.utime(path)
            return was_said
        with os.scandir(folder) as entries:
            for entry in entries:
                if now - entry.stat(follow_symlinks=False).st_mtime > KEPT:
                    os.unlink(entry.path)
    except OSError:
        pass
    return False
