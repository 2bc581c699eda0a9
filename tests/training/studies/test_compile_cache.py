# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`CompileCache` and `passpilot cache`: results by content, damage, the limit, links, and what is removed."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.training.studies.compile_cache import CompileCache
from tests.command import passpilot, refused
from tests.training.tuning.units import modules


def test_what_was_kept_is_found_by_its_key(tmp_path: Path) -> None:
    cache = CompileCache(str(tmp_path / "cache"))
    key = cache.key("clang 22", ["-Oz"], b"unit")
    assert cache.find(key) is None
    cache.keep(key, b"\x7fELF\n\n")
    assert cache.find(key) == CompileCache(cache.folder).find(key) == b"\x7fELF\n\n"
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
    others = {cache.key("clang 23", ["-Oz"], b"unit"), cache.key("clang 22", ["-Os"], b"unit")}
    assert key not in others | {cache.key("clang 22", ["-Oz"], b"other")}


def file_of(cache: CompileCache, key: str) -> Path:
    return Path(cache.folder, key[:2], key)


def test_no_change_of_a_file_is_taken(tmp_path: Path) -> None:
    cache = CompileCache(str(tmp_path))
    key, other = (cache.key("", [], each) for each in (b"1", b"2"))
    cache.keep(key, b"data" * 9)
    cache.keep(other, b"other")
    good = file_of(cache, key).read_bytes()
    for place in range(len(good)):
        file_of(cache, key).write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        assert cache.find(key) is None, place
        file_of(cache, key).write_bytes(good[:place])
        assert cache.find(key) is None, place
    shutil.copy(file_of(cache, other), file_of(cache, key))
    assert cache.find(key) is None, "a file of another key"
    cache.keep(key, b"again")
    assert cache.find(key) == b"again"


def test_links_are_not_followed(tmp_path: Path) -> None:
    cache, elsewhere = CompileCache(str(tmp_path / "cache")), tmp_path / "elsewhere"
    key = cache.key("", [], b"")
    cache.keep(key, b"data")
    shutil.move(file_of(cache, key), elsewhere)
    file_of(cache, key).symlink_to(elsewhere)
    before = elsewhere.read_bytes()
    cache.keep(key, b"more")
    assert cache.find(key) is None
    assert elsewhere.read_bytes() == before
    shutil.rmtree(file_of(cache, key).parent)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / key).write_bytes(before)
    file_of(cache, key).parent.symlink_to(tmp_path / "folder")
    cache.keep(key, b"more")
    cache.prune(0)
    assert cache.find(key) is None
    assert (tmp_path / "folder" / key).read_bytes() == before


def test_the_oldest_go_first(tmp_path: Path) -> None:
    cache = CompileCache(str(tmp_path))
    keys = [cache.key("", [], bytes([number])) for number in range(4)]
    for number, key in enumerate(keys):
        cache.keep(key, os.urandom(5000))
        os.utime(file_of(cache, key), (number, number))
    assert cache.find(keys[0]) is not None, "a use makes it young"
    files, size = cache.contents
    assert files == 4
    assert cache.prune(size) == (4, size)
    assert cache.prune(size // 2) == (2, size // 2)
    assert [cache.find(key) is not None for key in keys] == [True, False, False, True]


def test_the_limit_holds_while_files_come(tmp_path: Path) -> None:
    cache = CompileCache(str(tmp_path), most=160_000)
    for number in range(200):
        cache.keep(cache.key("", [], bytes([number])), b"small")
        assert cache.contents.bytes <= 160_000 * 17 / 16 + 4096
    assert 30 < cache.contents.files < 45
    assert cache.find(cache.key("", [], bytes([199]))) == b"small"


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache = CompileCache("")
    cache.keep("00", b"data")
    assert cache.prune() == (0, 0)
    assert cache.find("00") is None
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(PasspilotWarning, match="file: expected a folder for the cache of compilations"):
        CompileCache(str(tmp_path / "file")).keep("00", b"data")


def test_the_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PASSPILOT_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for variable, folder in ((None, "home/.cache"), ("", "home/.cache"), ("own", "own")):
        if variable is not None:
            monkeypatch.setenv("XDG_CACHE_HOME", variable and str(tmp_path / variable))
        assert CompileCache.of_user().folder == str(tmp_path / folder / "passpilot" / "compilations")
    for folder in (str(tmp_path), ""):
        monkeypatch.setenv("PASSPILOT_CACHE", folder)
        assert CompileCache.of_user().folder == folder
    (tmp_path / "file").touch()
    monkeypatch.setenv("PASSPILOT_CACHE", str(tmp_path / "file"))
    with pytest.raises(
        InputError, match=r"^PASSPILOT_CACHE: expected a folder, or no text for no cache, got .*file$"
    ):
        CompileCache.of_user()


def test_words_are_told_apart_in_a_key() -> None:
    keys = {
        CompileCache.key("c", ["ab"], b"d"),
        CompileCache.key("c", ["a", "b"], b"d"),
        CompileCache.key("c", ["a"], b"bd"),
        CompileCache.key("c", ["a", "b", "d"], b""),
        CompileCache.key("c", ["\udcff"], b""),
    }
    assert len(keys) == 5


def test_searches_share_the_cache_which_a_command_shows_and_clears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSPILOT_CACHE", str(tmp_path / "cache"))
    main, _ = modules(tmp_path)
    words = ("tune", main, "--compiles=4", "--jobs=2")
    assert "in the cache" not in passpilot(*words, "-o", "a", cwd=tmp_path).err
    again = passpilot(*words, "--seed=1", "-o", "b", cwd=tmp_path)
    assert again.err.endswith("compilations were in the cache\n")
    (tmp_path / "cache" / "notes").write_text("mine")
    count = CompileCache(str(tmp_path / "cache")).contents.files
    shown = passpilot("cache", cwd=tmp_path)
    assert f"{tmp_path}/cache: {count} compilations, " in shown.out.decode()
    half = passpilot("cache", "--most=8K", cwd=tmp_path)
    assert f"removed {count - 2} compilations" in half.out.decode()
    assert re.search(r": 2 compilations, \S+ MiB of at most 8K\n", half.out.decode())
    cleared = passpilot("cache", "--clear", cwd=tmp_path)
    assert ": 0 compilations, 0.0 MiB of at most 2,048.0 MiB" in cleared.out.decode()
    assert (tmp_path / "cache" / "notes").read_text() == "mine"
    wrong = refused("cache", "--most=-1", cwd=tmp_path, code=2)
    assert "cache: --most: expected a size such as 500M, got '-1'" in wrong
