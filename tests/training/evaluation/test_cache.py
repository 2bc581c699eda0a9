# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompileCache`: keeps objects by content, survives damage, and stays below its limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache = CompileCache("")
    cache.keep("00", CachedObject(b"data", 1))
    cache.prune()
    assert cache.find("00") is None
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    CompileCache(str(blocked)).keep("00", CachedObject(b"data", 1))


def test_the_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for variable, folder in ((None, "home/.cache"), ("", "home/.cache"), ("own", "own")):
        if variable is not None:
            monkeypatch.setenv("XDG_CACHE_HOME", variable and str(tmp_path / variable))
        CompileCache.of_user().keep("ab12", CachedObject(b"data", 1.23456789))
        file = tmp_path / folder / "passpilot" / "eval" / "ab" / "ab12.o"
        assert file.read_bytes() == b'{"seconds": 1.2346}\ndata'
        file.unlink()


def test_words_are_told_apart_in_a_key() -> None:
    keys = {
        CompileCache.key("c", ["ab"], b"d"),
        CompileCache.key("c", ["a", "b"], b"d"),
        CompileCache.key("c", ["a"], b"bd"),
        CompileCache.key("c", ["a", "b", "d"], b""),
        CompileCache.key("c", ["\udcff"], b""),
    }
    assert len(keys) == 5


def test_nothing_goes_at_the_limit(tmp_path: Path) -> None:
    cache = CompileCache(str(tmp_path))
    for key in ("aa", "bb"):
        cache.keep(key, CachedObject(b"12345", 1))
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.o"))
    cache.prune(size)
    assert len(list(tmp_path.rglob("*.o"))) == 2
    cache.prune(size - 1)
    assert len(list(tmp_path.rglob("*.o"))) == 1
