# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`OutputFile`: an output that appears whole or not at all.

A regular file is written beside its place and renamed when it is complete. What is no regular file (a pipe, a
device, ``-`` for standard output) is written directly.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from typing import TYPE_CHECKING

from passpilot.plugin.errors import InputError

if TYPE_CHECKING:
    from types import TracebackType


class OutputFile:
    """A file being written; `commit` puts it in its place, `discard` leaves no trace of it.

    Raises:
        InputError: the file cannot be opened or written.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._temporary: str | None = None
        try:
            self.fd = self._open()
        except OSError as error:
            raise self._cannot(error) from error

    def _open(self) -> int:
        if self.path == "-":
            return os.dup(sys.stdout.fileno())
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        if os.path.lexists(self.path) and not stat.S_ISREG(os.stat(self.path).st_mode):
            return os.open(self.path, flags)
        target = os.path.realpath(self.path)
        temporary = f"{target}.{os.getpid()}.{id(self):x}.tmp"
        fd = os.open(temporary, flags | os.O_EXCL, 0o666)
        self._temporary = temporary
        self._target = target
        return fd

    def write(self, data: bytes) -> None:
        """Write all of `data`."""
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._cannot(error) from error

    def release(self) -> int:
        """Hand the descriptor over to somebody who will close it before `commit` or `discard`."""
        fd, self.fd = self.fd, -1
        return fd

    def commit(self) -> None:
        """Close the file and put it in its place."""
        self._close()
        if self._temporary is not None:
            os.replace(self._temporary, self._target)
            self._temporary = None

    def discard(self) -> None:
        """Close the file and remove what was written; may be called after `commit`."""
        self._close()
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
            self._temporary = None

    def _close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _cannot(self, error: OSError) -> InputError:
        return InputError(f"{self.path}: expected a file to write, got: {error.strerror}")

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()


def write_file(path: str, data: bytes) -> None:
    """Write `data` to `path` (``-``: standard output), whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    if path == "-":
        sys.stdout.flush()
    with OutputFile(path) as file:
        file.write(data)
