# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompileCache`: keeps the objects of baselines on disk, by the content of what they are made from.

A file is one line of JSON, `{"seconds": 1.25}`, and the object behind it. When the cache has grown over its
limit, the files that were not used for the longest time go.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import read_regular, write_file
from passpilot.plugin.json_and_toml import parse_json, typed_record

MOST_BYTES: Final = 2 << 30


class CachedObject(NamedTuple):
    """An object, and the processor time that its compilation took."""

    data: bytes
    seconds: float


@dataclass(frozen=True)
class _Head:
    seconds: float


class CompileCache:
    """The cache in a folder; an empty path makes one that keeps nothing."""

    def __init__(self, folder: str) -> None:
        self._folder: Final = Path(folder) if folder else None

    @classmethod
    def of_user(cls) -> CompileCache:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return cls(os.path.join(home, "passpilot", "eval"))

    @staticmethod
    def key(compiler: str, words: Sequence[str], bitcode: bytes) -> str:
        """The key of a compilation: of the compiler's version, its arguments, and the unit."""
        digest = hashlib.sha256("\0".join((compiler, *words)).encode("utf-8", "surrogateescape"))
        digest.update(b"\0" + bitcode)
        return digest.hexdigest()

    def find(self, key: str) -> CachedObject | None:
        """The object of this key, if it is there."""
        if self._folder is None:
            return None
        path = self._path(key)
        try:
            line, _, data = read_regular(path).partition(b"\n")
            seconds = typed_record(parse_json(line, str(path)), _Head, str(path)).seconds
            os.utime(path)
        except (OSError, InputError):
            return None
        return CachedObject(data, seconds)

    def keep(self, key: str, made: CachedObject) -> None:
        """Keep an object; a full disk is no error."""
        if self._folder is None:
            return
        path = self._path(key)
        with contextlib.suppress(OSError, InputError):
            path.parent.mkdir(parents=True, exist_ok=True)
            head = json.dumps({"seconds": round(made.seconds, 4)}).encode() + b"\n"
            write_file(os.fspath(path), head + made.data)

    def prune(self, most: int = MOST_BYTES) -> None:
        """Remove the files that were not used for the longest time, until `most` bytes are left."""
        if self._folder is None:
            return
        found = []
        with contextlib.suppress(OSError):
            for path in self._folder.glob("*/*.o"):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= most:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / key[:2] / f"{key}.o"
