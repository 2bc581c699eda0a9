# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompileCache`: keeps objects by content, survives damage, and stays below its limit."""

from __future__ import annotations

import os
from pathlib import Path

from passpilot.training.evaluation.compile_cache import CachedObject, CompileCache


def test_an_object_is_found_by_its_key(tmp_path: Path) -> None:
    cache = CompileCache(str(tmp_path))
    key = cache.key("clang 22", ["-Oz"], b"unit")
    assert cache.find(key) is None
    cache.keep(key, CachedObject(b"\x7fELF\n\n", 1.25))
    assert cache.find(key) == CachedObject(b"\x7fELF\n\n", 1.25)
    others = {cache.key("clang 23", ["-Oz"], b"unit"), cache.key("clang 22", ["-Os"], b"unit")}
    assert key not in others | {cache.key("clang 22", ["-Oz"], b"other")}


def test_a_damaged_file_is_as_none(tmp_path: Path) -> None:
    cache = CompileCache(str(tmp_path))
    key = cache.key("", [], b"")
    cache.keep(key, CachedObject(b"data", 1))
    (file,) = tmp_path.rglob("*.o")
    file.write_bytes(b"nonsense")
    assert cache.find(key) is None


def test_the_oldest_go_first(tmp_path: Path) -> None:
    cache = CompileCache(str(tmp_path))
    keys = [cache.key("", [], bytes([number])) for number in range(4)]
    for number, key in enumerate(keys):
        cache.keep(key, CachedObject(bytes(1000), 1))
        os.utime(next(tmp_path.rglob(f"{key}.o")), (number, number))
    assert cache.find(keys[0]) is not None, "a use makes it young"
    cache.prune(2500)
    assert [cache.find(key) is not None for key in keys] == [True, False, False, True]


def test_without_a_folder_nothing_is_kept(tmp_path: Path) -> None:
    cache = CompileCache("")
    cache.keep("00", CachedObject(b"data", 1))
    cache.prune()
    assert cache.find("00") is None
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    CompileCache(str(blocked)).keep("00", CachedObject(b"data", 1))
