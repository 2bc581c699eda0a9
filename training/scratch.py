# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ScratchFolder`: a folder for temporary files; the next user of one removes those of killed processes."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from typing import Final

_PREFIX: Final = "passpilot-compiler-"


class ScratchFolder:
    """A new folder at `path`, of mode 0700, until `close`.

    This process holds a lock on the folder. After a kill, the system releases the lock.

    Raises:
        OSError: the folder cannot be made.
    """

    def __init__(self) -> None:
        self.path = ""
        self._held = -1
        while self._held < 0:
            self.path = tempfile.mkdtemp(prefix=_PREFIX)
            self._held = _locked(self.path)  # -1 if `remove_left_overs` came in between

    def close(self) -> None:
        """Remove the folder with all files. Idempotent."""
        held, self._held = self._held, -1
        if held >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(held)


def remove_left_overs() -> None:
    """Remove the folders of this user's processes that were killed."""
    for entry in os.scandir(tempfile.gettempdir()):
        if not entry.name.startswith(_PREFIX) or entry.stat(follow_symlinks=False).st_uid != os.geteuid():
            continue
        held = _locked(entry.path)
        if held >= 0:
            shutil.rmtree(entry.path, ignore_errors=True)
            os.close(held)


def _locked(path: str) -> int:
    """A descriptor with the lock of a folder; -1 if another process has it, or has removed the folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.lstat(path), os.fstat(descriptor)):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return -1
