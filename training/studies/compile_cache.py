# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompileCache`: keeps what compilations make on disk, by the content of what they are made from.

A file has the SHA-256 of its key and the rest, and then the data as zlib packs it; a file that is not as it
was written is as none. When the cache grows over its limit, the files that were not used for the longest time
go. Links are not followed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple

from passpilot.plugin import _core
from passpilot.plugin.compile import options_set
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular, write_file
from passpilot.plugin.origin import warn_user
from passpilot.plugin.registry import snapshot

MOST_BYTES: Final = 2 << 30
"""Of the user's cache."""

FOLDER: Final = "PASSPILOT_CACHE"
"""The environment variable with the folder of the user's cache; empty for no cache."""

_MOST_OF_ONE: Final = 1 << 30
"""Of one compilation."""

_BLOCK: Final = 4096
"""A file takes so many bytes of a disk, or a multiple of them."""

_SUM: Final = hashlib.sha256().digest_size
_NAME: Final = re.compile(r"[0-9a-f]{64}")


class CacheContents(NamedTuple):
    """How much a cache has."""

    files: int
    bytes: int


class CompileCache:
    """The cache in a folder; an empty path makes one that keeps nothing."""

    def __init__(self, folder: str, most: int = MOST_BYTES) -> None:
        self.folder: Final = folder
        self._most, self._written, self._has_said = most, 0, False

    @classmethod
    def of_user(cls) -> CompileCache:
        """The cache that the environment names, or the one in the user's own.

        Raises:
            InputError: `FOLDER` is not that of a folder.
        """
        if (folder := os.environ.get(FOLDER)) is not None:
            if os.path.exists(folder) and not os.path.isdir(folder):
                raise InputError(f"{FOLDER}: expected a folder, or no text for no cache, got {folder}")
            return cls(folder)
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return cls(os.path.join(home, "passpilot", "compilations"))

    @staticmethod
    def key(compiler: str, words: Sequence[str], content: bytes) -> str:
        """The key of a compilation: of the compiler's version, its arguments, and the module."""
        digest = hashlib.sha256("\0".join((compiler, *words)).encode("utf-8", "surrogateescape"))
        digest.update(b"\0" + content)
        return digest.hexdigest()

    def find(self, key: str) -> bytes | None:
        """What was kept by this key; None if it is missing or damaged."""
        path = self._path(key)
        if not path:
            return None
        try:
            data = read_regular(path, _MOST_OF_ONE)
            if data[:_SUM] != _sum(key, data[_SUM:]):
                return None
            os.utime(path)
            unpack = zlib.decompressobj()
            made = unpack.decompress(data[_SUM:], _MOST_OF_ONE)
        except (OSError, zlib.error):
            return None
        return made if unpack.eof else None

    def _say_once(self, error: Exception) -> None:
        why = error.strerror if isinstance(error, OSError) else error
        if not self._has_said:
            warn_user(f"{self.folder}: expected a folder for the cache of compilations, got: {why}")
        self._has_said = True

    def keep(self, key: str, made: bytes) -> None:
        """Keep what was made; a full disk is a warning, once."""
        if not (path := self._path(key)):
            return
        packed = zlib.compress(made, 1)
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            write_file(path, _sum(key, packed) + packed)
        except (OSError, InputError) as error:
            self._say_once(error)
        self._written += _on_disk(_SUM + len(packed))
        if self._written > self._most // 16:
            self.prune()

    def prune(self, most: int | None = None) -> CacheContents:
        """Remove the files that were not used for the longest time, until `most` bytes are left."""
        self._written = 0
        most = self._most if most is None else most
        found = sorted(self._files())
        count, total = len(found), sum(size for _, size, _ in found)
        for _, size, path in found:
            if total <= most:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
                count, total = count - 1, total - size
        return CacheContents(count, total)

    @property
    def contents(self) -> CacheContents:
        """How much there is."""
        sizes = [size for _, size, _ in self._files()]
        return CacheContents(len(sizes), sum(sizes))

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """The time, the size on the disk and the path of every file."""
        for number in range(256 if self.folder else 0):
            folder = os.path.join(self.folder, f"{number:02x}")
            with contextlib.suppress(OSError):
                if os.path.islink(folder):
                    continue
                with os.scandir(folder) as entries:
                    for entry in entries:
                        if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                            status = entry.stat(follow_symlinks=False)
                            yield status.st_mtime, _on_disk(status.st_size), entry.path

    def _path(self, key: str) -> str:
        """The file of a key; empty if there is none, or a link would lead elsewhere."""
        if not self.folder or not key:
            return ""
        folder = os.path.join(self.folder, key[:2])
        path = os.path.join(folder, key)
        return "" if os.path.islink(folder) or os.path.islink(path) else path


def _on_disk(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _sum(key: str, packed: bytes) -> bytes:
    return hashlib.sha256(key.encode() + packed).digest()


def compiler_here() -> str:
    """What identifies the compiler in this process; empty if it has passes or features of the user's.

    These are Python, whose meaning no hash has.
    """
    if any(registry.added() for registry in snapshot()):
        return ""
    return f"{_built()}\0{options_set()!r}"


@cache
def _built() -> str:
    """LLVM's version, and when the library of passpilot was built."""
    status = os.stat(_core.__file__)
    return f"{_core.version_text()}\0{status.st_size} {status.st_mtime_ns}"
