# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The user's cache of compiled models and of records of policies; many processes use it at once.

It is the folder `passpilot/policies` in XDG_CACHE_HOME or `~/.cache`. If that cannot be written, it is a
folder for the same user among the temporary files. plugin/native/runtime/policy_record.cpp searches the same
places.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from typing import Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import write_file
from passpilot.plugin.origin import warn_user

PATIENCE: Final = 120.0
"""Seconds to wait for another process that compiles the same model."""


def folders(*, create: bool) -> Iterator[str]:
    """The folders that may hold the cache, in the order of preference.

    `create`: make the user's own folder among the temporary files if the caller comes to it.
    """
    home = os.environ.get("XDG_CACHE_HOME", "")
    home = home if os.path.isabs(home) else os.path.expanduser("~/.cache")
    if os.path.isabs(home):
        yield os.path.join(home, "passpilot", "policies")
    if own := _own_temporary(create):
        yield os.path.join(own, "policies")


def _own_temporary(create: bool) -> str:
    """The user's own folder among the temporary files; empty if there is none."""
    above = os.environ.get("TMPDIR", "")
    folder = os.path.join(above if os.path.isabs(above) else "/tmp", f"passpilot-{os.geteuid()}")
    try:
        with contextlib.suppress(FileExistsError):
            if create:
                os.mkdir(folder, 0o700)
        status = os.lstat(folder)
    except OSError:
        return ""
    own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return folder if own else ""


def find(name: str) -> str:
    """The path of a file of the cache; empty if there is none."""
    for folder in folders(create=False):
        if os.path.isfile(path := os.path.join(folder, name)):
            return path
    return ""


def keep(name: str, data: bytes, who: str) -> str:
    """Write a file into the cache; returns its path, or nothing if no folder takes it.

    It appears whole or not at all. If it is among the temporary files, that is a warning.
    """
    refused = ""
    for folder in folders(create=True):
        path = os.path.join(folder, name)
        try:
            os.makedirs(folder, exist_ok=True)
            write_file(path, data)
        except (OSError, InputError) as error:
            refused = refused or f"{getattr(error, 'strerror', None) or error}"
            continue
        if refused:
            warn_user(f"{who}: expected a cache that can be written, got: {refused}; {path} is used instead")
        return path
    return ""


@contextlib.contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one process at a time run the block for a file; none waits longer than `PATIENCE`."""
    with contextlib.ExitStack() as stack:
        for folder in folders(create=True):
            with contextlib.suppress(OSError):
                os.makedirs(folder, exist_ok=True)
                lock = stack.enter_context(open(os.path.join(folder, f"{name}.lock"), "ab"))
                _wait(lock.fileno())
                break
        yield


def _wait(fd: int) -> None:
    """Lock an open file, or give up: two processes then do the same work, and either may keep it."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return
