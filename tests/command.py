# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot` as a user runs it: a process, with what has to hold of each one that is refused."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from passpilot.plugin.version import MAJOR

PASSPILOT: Final = Path(sys.executable).with_name("passpilot")
GENEROUS: Final = 60.0
"""Seconds that no command here comes near unless something is broken."""

ERROR: Final = re.compile(r"passpilot: error: .+\n")


@dataclass(frozen=True)
class Done:
    """What came of a command."""

    code: int
    out: bytes
    err: str
    seconds: float


@contextlib.contextmanager
def started(*command: str | Path, cwd: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, killed and reaped in the end, with all that it started."""
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [str(each) for each in command],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        start_new_session=True,
    ) as child:
        try:
            yield child
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, 9)


def _is_left(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def finished(child: subprocess.Popen[bytes], began: float, timeout: float = GENEROUS) -> Done:
    """The rest of a process; it must end in time, and leave no process behind."""
    out, err = child.communicate(timeout=timeout)
    deadline = time.monotonic() + 5  # Python's own tracker of semaphores ends a moment later
    while _is_left(child.pid):
        assert time.monotonic() < deadline, "a process was left behind"
        time.sleep(0.01)
    return Done(child.returncode, out, err.decode(errors="backslashreplace"), time.monotonic() - began)


def run(*command: str | Path, cwd: Path, timeout: float = GENEROUS) -> Done:
    """A command to its end."""
    began = time.monotonic()
    with started(*command, cwd=cwd) as child:
        return finished(child, began, timeout)


def passpilot(*arguments: str | Path, cwd: Path, timeout: float = GENEROUS) -> Done:
    """`passpilot` to its end."""
    return run(PASSPILOT, *arguments, cwd=cwd, timeout=timeout)


def files_in(folder: Path) -> list[str]:
    """All names below a folder but Python's caches."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts
    )


def refused(*arguments: str | Path, cwd: Path, code: int = 1, prefix: tuple[str, ...] = ()) -> str:
    """The one line with which `passpilot` refuses; it leaves no file in `cwd`."""
    before = files_in(cwd)
    done = run(*prefix, PASSPILOT, *arguments, cwd=cwd)
    assert done.code == code, done
    assert ERROR.fullmatch(done.err), done.err
    assert "LLVM ERROR" not in done.err
    assert files_in(cwd) == before
    return done.err


CALLS: Final = 30
"""Call sites of `program`; LLVM's default inlines each."""


def program(calls: int = CALLS) -> str:
    """A module in which `calls` functions call one more each."""
    callers = "\n".join(
        f"define i32 @caller{i}(i32 %x) {{\n  %y = call i32 @callee(i32 %x)\n"
        f"  %z = mul i32 %y, {i + 2}\n  ret i32 %z\n}}"
        for i in range(calls)
    )
    return (
        'target triple = "x86_64-pc-linux-gnu"\n'
        f"define i32 @callee(i32 %x) {{\n  %y = add i32 %x, 1\n  ret i32 %y\n}}\n{callers}\n"
    )


def stock(source: Path, *flags: str, cwd: Path | None = None) -> bytes:
    """What opt writes."""
    return subprocess.run([OPT, source, *flags, "-o", "-"], check=True, capture_output=True, cwd=cwd).stdout


OPT: Final = Path(subprocess.check_output([f"llvm-config-{MAJOR}", "--bindir"], text=True).strip(), "opt")
