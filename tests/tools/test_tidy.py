# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tools/tidy.py` checks the files that changed since they were clean, and remembers them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import tidy


@pytest.fixture
def native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source tree: a.cpp and its a.h, which includes deep.h, as b.cpp does; c.cpp includes nothing."""
    folder = (tmp_path / "plugin" / "native").resolve()
    (folder / "include").mkdir(parents=True)
    (folder / "llvm").mkdir()
    (folder / "llvm" / "a.cpp").write_text('#include "a.h"\n#include <vector>\nint a;\n')
    (folder / "llvm" / "a.h").write_text('#include "deep.h"\nint x; // a comment\n')
    (folder / "include" / "deep.h").write_text('#include "llvm/a.h2"\nint deep;\n')
    (folder / "llvm" / "b.cpp").write_text(
        '// #include "llvm/a.h"\n#include "deep.h"\n#include "outside.h"\n'
    )
    (folder / "llvm" / "c.cpp").write_text("int c;\n")
    monkeypatch.setattr(tidy, "ROOT", tmp_path.resolve())
    monkeypatch.setattr(tidy, "NATIVE", folder)
    (tmp_path / "tools").mkdir()
    monkeypatch.setattr(tidy, "RECORD", tmp_path / "tools" / "tidy.clean")
    tidy.closure.cache_clear()
    return folder


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are checked; one with the word WRONG has complaints."""
    names: list[str] = []

    def complaints(file: Path) -> str:
        names.append(file.name)
        return f"{file.name} is wrong\n" if "WRONG" in file.read_text() else ""

    monkeypatch.setattr(tidy, "complaints", complaints)
    monkeypatch.setenv("JOBS", "1")
    return names


def test_a_closure_has_our_headers(native: Path) -> None:
    def names(file: str) -> list[str]:
        return sorted(each.name for each in tidy.closure(native / file))

    assert names("llvm/a.cpp") == ["a.cpp", "a.h", "deep.h"]
    assert names("llvm/b.cpp") == ["b.cpp", "deep.h"]
    assert names("llvm/c.cpp") == ["c.cpp"]


def test_comments_and_spaces_are_no_change(tmp_path: Path) -> None:
    def state(text: str) -> str:
        (tmp_path / "x").write_text(text)
        return tidy.state(tmp_path / "x")

    plain = state('int x = f("a // b", \'"\');')
    assert len(plain) == 16
    assert state('/* two\nlines */ int x =\n\tf("a // b", \'"\'); // end') == plain
    assert state('int x = f("a // c", \'"\');') != plain
    assert state('int x = f("a\\"// b");') != state('int x = f("a\\"// c");')


def test_a_header_is_checked_with_a_source_that_includes_it(native: Path) -> None:
    sources = sorted(native.rglob("*.cpp"))
    found = [
        tidy.checked_by(native / name, sources).name for name in ("llvm/b.cpp", "llvm/a.h", "include/deep.h")
    ]
    assert found == ["b.cpp", "a.cpp", "a.cpp"]


def test_only_what_changed_is_checked(native: Path, checked: list[str]) -> None:
    assert tidy.main([]) == 0
    assert checked == ["a.cpp", "b.cpp", "c.cpp"], "headers are checked with their source"
    record = tidy.RECORD.read_text().splitlines()
    names = ["include/deep.h", "llvm/a.cpp", "llvm/a.h", "llvm/b.cpp", "llvm/c.cpp"]
    assert [line.split()[1] for line in record] == [f"plugin/native/{name}" for name in names]
    checked.clear()
    assert tidy.main([]) == 0
    assert checked == []
    (native / "llvm" / "c.cpp").write_text("int  c; // the same\n")
    (native / "llvm" / "a.h").write_text('#include "deep.h"\nint y;\n')
    assert tidy.main([]) == 0
    assert checked == ["a.cpp"]


def test_complaints_are_printed_and_not_recorded(
    native: Path, checked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (native / "llvm" / "b.cpp").write_text("int WRONG;\n")
    for _ in range(2):
        assert tidy.main([]) == 1
        assert capsys.readouterr().out == "b.cpp is wrong\n"
    assert checked == ["a.cpp", "b.cpp", "c.cpp", "b.cpp"]
    assert "plugin/native/llvm/b.cpp" not in tidy.recorded()
    (native / "llvm" / "b.cpp").unlink()
    (native / "llvm" / "c.cpp").unlink()
    (native / "llvm" / "a.cpp").write_text('#include "a.h"\nint a2;\n')
    tidy.closure.cache_clear()
    assert tidy.main([]) == 0
    assert "plugin/native/llvm/c.cpp" not in tidy.recorded(), "files that are gone are forgotten"


def test_named_files_are_checked_alone(
    native: Path, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(native)
    assert tidy.main(["llvm/c.cpp", "include/deep.h"]) == 0
    assert checked == ["a.cpp", "c.cpp"]
    assert sorted(tidy.recorded()) == ["plugin/native/include/deep.h", "plugin/native/llvm/c.cpp"]
