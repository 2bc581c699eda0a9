# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`OutputFile`: an output file that appears whole or not at all. `read_regular`: reads what a user names.

A regular file has no name until it is complete, so even a killed process leaves no partial file. If the file
system does not support nameless files, the data goes to a temporary file in the same folder, which is then
renamed. For a symbolic link, its target is replaced. Pipes, devices and ``-`` (standard output) are written
directly; a FIFO must have a reader.

The new file keeps the permissions of the caller's old one, but no bits such as setuid; a file that replaces
another user's has the permissions of a new file. In a sticky folder such as /tmp, links and FIFOs of other
users are refused, except those of the folder's owner, as Linux does with ``fs.protected_symlinks``.
`plugin/native/runtime/output_file.h` follows the same rules.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import stat
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final

from passpilot.plugin.errors import InputError
from passpilot.plugin.failures import utf8

if TYPE_CHECKING:
    from pathlib import Path

_DESCRIPTOR: Final = re.compile(
    r"/dev/(stdout|(?P<stderr>stderr))|(/dev/fd|/proc/self/fd)/(?P<number>\d{1,9})", re.ASCII
)
"""Names of open descriptors of this process; to open such a file again would overwrite it from its start."""

_MOST_LINKS: Final = 40
"""The most symbolic links that Linux follows in one name."""

MOST_BYTES: Final = 0x7FFFFFFF
"""The largest input; ONNX's format has no larger models."""

MOST_TEXT: Final = 64 << 20
"""The largest text but JSON, such as a response file: its readers need seconds for so much."""

_PATIENCE: Final = 10.0
"""Seconds that the writer of a pipe may take."""


class OutputFile:
    """A file that is being written; `commit` makes it appear, `discard` removes it.

    Raises:
        InputError: the file cannot be opened or written.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.target = ""  # the path for commit; empty if the output is written directly
        self._temporary = ""  # the temporary file, if there is one
        try:
            self.fd = self._open()
        except OSError as error:
            raise self._cannot(error) from error

    def _open(self) -> int:
        if self.path == "-":
            return os.dup(sys.stdout.fileno())
        if known := _DESCRIPTOR.fullmatch(self.path):
            sys.stdout.flush()
            return os.dup(int(known["number"] or (2 if known["stderr"] else 1)))
        flags = os.O_WRONLY | os.O_CLOEXEC
        target = _followed(self.path)
        if os.path.exists(self.path) and not stat.S_ISREG((status := os.stat(self.path)).st_mode):
            if stat.S_ISFIFO(status.st_mode):
                _check_owner(status, os.path.dirname(target))
            fd = os.open(self.path, flags | os.O_NONBLOCK)  # a FIFO without a reader is an error, not a wait
            os.set_blocking(fd, True)
            return fd
        if self.path.endswith("/"):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        self.target = target
        with contextlib.suppress(OSError):  # no nameless files here; any other error comes again below
            return self._same_mode(os.open(os.path.dirname(self.target), flags | os.O_TMPFILE, 0o666))
        fd = os.open(self._beside(), flags | os.O_CREAT | os.O_EXCL, 0o666)
        self._temporary = self._beside()
        return self._same_mode(fd)

    def _same_mode(self, fd: int) -> int:
        """Give the new file the permissions of the caller's file that it replaces, if there is one."""
        with contextlib.suppress(FileNotFoundError):
            before = os.lstat(self.target)
            if before.st_uid == os.geteuid():
                os.fchmod(fd, before.st_mode & 0o777)
        return fd

    def _beside(self) -> str:
        return f"{self.target}.{os.getpid()}.{id(self):x}.tmp"

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._cannot(error) from error

    def release(self) -> int:
        """Another descriptor of the file; the caller closes it before `commit` or `discard`."""
        return os.dup(self.fd)

    def commit(self) -> None:
        """Put the file in its place and close it."""
        try:
            if self.target:
                self._name()
                os.replace(self._temporary, self.target)
                self._temporary = ""
            self._close()
        except OSError as error:
            raise self._cannot(error) from error
        finally:
            self.discard()

    def _name(self) -> None:
        if self._temporary:
            return
        source = f"/proc/self/fd/{self.fd}"
        # Python follows the link only if it gets a folder's descriptor.
        folder = os.open("/", os.O_PATH | os.O_CLOEXEC)
        try:
            os.link(source, self._beside(), src_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)
        self._temporary = self._beside()

    def discard(self) -> None:
        """Close the file and remove what was written; does nothing after `commit`."""
        with contextlib.suppress(OSError):
            self._close()
        if self._temporary:
            with contextlib.suppress(OSError):
                os.unlink(self._temporary)
            self._temporary = ""

    def _close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def _cannot(self, error: OSError) -> InputError:
        name = "standard output" if self.path == "-" else self.path
        above = os.path.dirname(os.path.abspath(self.path))
        is_missing = error.errno == errno.ENOENT and not os.path.exists(above)
        hint = f"; make its folder by `mkdir -p {above}`" if is_missing else ""
        return InputError(f"{name}: expected a file to write, got: {error.strerror}{hint}")

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()


def read_regular(path: str | os.PathLike[str], most: int = MOST_BYTES) -> bytes:
    """What a regular file of up to `most` bytes has when it is opened; a FIFO is refused, not waited for.

    `plugin/native/runtime/input_file.h` follows the same rule.

    Raises:
        OSError: the file cannot be read, has more bytes, or is not a regular file.
    """
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
            if status.st_size > most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
            return file.read(status.st_size)
    except MemoryError as error:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from error
    except ValueError as error:  # the path has a null character, or no file can have this name
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from error


def read_secret(path: str, most: int = 1 << 20) -> bytes:
    """The contents of a file or pipe of up to `most` bytes, as in ``--token=@<(pass show it)``.

    Raises:
        OSError: it cannot be read, has more bytes, or does not end within ten seconds.
    """
    data, ends = b"", time.monotonic() + _PATIENCE
    with open(path, "rb", buffering=0, opener=_open_at_once) as file:
        while (part := file.read(most)) != b"":
            data += part or b""
            if len(data) > most:
                raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
            left = ends - time.monotonic()
            if part is None and (left <= 0 or not select.select([file], [], [], left)[0]):
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT), path)
    return data


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def files_below(folder: str, suffix: str) -> list[Path]:
    """The regular files below a folder whose names end so, in order; folders behind links are left out.

    Raises:
        InputError: it is no folder.
    """
    from pathlib import Path  # commands that start fast need none

    if not os.path.isdir(folder):
        raise InputError(f"{folder}: expected a folder, got none")
    found: list[Path] = []
    rest = [folder]
    while rest:  # pathlib's own search calls itself at every level
        with contextlib.suppress(OSError), os.scandir(rest.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    rest.append(entry.path)
                elif entry.name.endswith(suffix) and os.path.isfile(entry.path):
                    found.append(Path(entry.path))
    return sorted(found)


def is_below(path: str | os.PathLike[str], root: str | os.PathLike[str]) -> bool:
    """Whether a path is in the folder `root` or below it, with all links followed."""
    try:
        place, base = os.path.realpath(path), os.path.realpath(root)
        return os.path.commonpath((place, base)) == base
    except ValueError:  # a null character
        return False


def is_inner(name: str) -> bool:
    """Whether a name from a file stays within the folder that it is joined to."""
    return bool(name) and not name.startswith("/") and "\0" not in name and ".." not in name.split("/")


def write_file(path: str, data: bytes | str) -> None:
    """Write `data` to `path` (``-``: standard output), whole or not at all.

    Raises:
        InputError: it cannot be written.
    """
    write_files({path: data})


def write_files(contents: Mapping[str, bytes | str]) -> None:
    """Write several files as `write_file` does; no file appears before all are complete.

    Raises:
        InputError: a file cannot be written.
    """
    if "-" in contents:
        sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(OutputFile(path)) for path in contents]
        for file, data in zip(files, contents.values(), strict=True):
            file.write(utf8(data) if isinstance(data, str) else data)


def replace_file(path: str, data: str) -> None:
    """Write what took hours, as `write_file` does; a file with other contents stays as ``PATH.old``.

    Raises:
        InputError: it cannot be written.
    """
    try:
        with open(path if os.path.isfile(path) else os.devnull, "rb") as file:
            earlier = file.read()
    except OSError as error:
        raise InputError(f"{path}: expected a file that can be read, got: {error.strerror}") from error
    if earlier in (b"", utf8(data)):
        write_file(path, data)
        return
    write_files({f"{path}.old": earlier, path: data})


def make_folder(path: str) -> None:
    """Make a folder, unless it is there.

    Raises:
        InputError: it cannot be made.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: expected a folder, got: {error.strerror}") from error


def check_new(who: str, path: str, *, folder: bool = False) -> None:
    """Check that a file, or a folder with all above it, can be made before the work for it begins.

    Raises:
        InputError: it cannot be; the text begins with `who`.
    """
    wanted = "a folder" if folder else "a file"
    if os.path.isdir(path) != folder and os.path.lexists(path):
        got = "a file" if folder else "a folder"
        raise InputError(f"{who}: expected {wanted} to write, got {path}, {got}; name another one")
    above = os.path.abspath(path) if folder else os.path.dirname(os.path.abspath(path))
    while folder and not os.path.lexists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above):
        hint = "name another one" if os.path.lexists(above) else f"make it by `mkdir -p {above}`"
        raise InputError(f"{who}: expected {wanted} in a folder, got {path}: {above} is none; {hint}")
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(
            f"{who}: expected to write {path}, got: you may not write in {above}; name another one"
        )


def check_output(path: str) -> None:
    """Check the links of a path at which LLVM itself will write.

    Raises:
        InputError: it leads through a link that `OutputFile` would refuse.
    """
    try:
        _followed(path)
    except OSError as error:
        raise InputError(f"{path}: expected a file to write, got: {error.strerror}") from error


def _followed(path: str) -> str:
    """Follow all symbolic links of `path` and check who owns them; the end need not exist."""
    place, links = "/", 0
    rest = (path if path.startswith("/") else f"{os.getcwd()}/{path}").split("/")[::-1]
    while rest:
        name = rest.pop()
        if name == "..":
            place = os.path.dirname(place)
        if name in ("", ".", ".."):
            continue
        here = os.path.join(place, name)
        status = _status(here)
        if status is None or not stat.S_ISLNK(status.st_mode):
            place = here
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        _check_owner(status, place)
        target = os.readlink(here)
        place = "/" if target.startswith("/") else place
        rest += target.split("/")[::-1]
    return place


def _status(path: str) -> os.stat_result | None:
    """The status of a path whose last part is not followed; None if there is nothing."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None


def _check_owner(status: os.stat_result, folder: str) -> None:
    """Refuse another user's link or FIFO in a sticky `folder`."""
    around = os.stat(folder)
    if around.st_mode & stat.S_ISVTX and status.st_uid not in (os.geteuid(), around.st_uid):
        raise PermissionError(errno.EACCES, "another user's link or FIFO in a folder that many may write")
