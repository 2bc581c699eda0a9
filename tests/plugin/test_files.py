# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`OutputFile`: whole or not at all, on file systems with and without nameless files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import OutputFile, read_regular, write_file

OPEN: Callable[..., int] = os.open


@pytest.fixture(params=["nameless", "named"], autouse=True)
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    def refuse(path: str, flags: int, *more: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "no nameless files")
        return OPEN(path, flags, *more)

    if request.param == "named":
        monkeypatch.setattr(os, "open", refuse)
    return str(request.param)


def test_the_name_appears_at_the_end(tmp_path: Path, file_system: str) -> None:
    with OutputFile(str(tmp_path / "a")) as file:
        file.write(b"one")
        assert len(os.listdir(tmp_path)) == (file_system == "named")
        assert not (tmp_path / "a").exists()
    assert os.listdir(tmp_path) == ["a"]
    assert (tmp_path / "a").read_bytes() == b"one"


def test_what_was_there_stays_until_the_end(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"before")
    file = OutputFile(str(place))
    file.write(b"part")
    file.discard()
    assert place.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["a"]
    write_file(str(place), b"after")
    assert place.read_bytes() == b"after"


def test_a_released_descriptor_writes_the_file(tmp_path: Path) -> None:
    file = OutputFile(str(tmp_path / "a"))
    with os.fdopen(file.release(), "wb") as other:
        other.write(b"by another")
    file.commit()
    assert (tmp_path / "a").read_bytes() == b"by another"


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_file(str(tmp_path / "a"), b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    write_file(str(tmp_path / "link"), b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == b"x"


def test_a_place_that_goes_away(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = OutputFile(str(folder / "a"))
    (folder / "a").mkdir()
    with pytest.raises(InputError, match="expected a file to write"):
        file.commit()
    assert os.listdir(folder) == ["a"]
    assert file.fd == -1


@pytest.mark.parametrize("name", ["fifo", "/dev/zero", "folder", "absent", "circle"])
def test_only_a_regular_file_is_read(tmp_path: Path, name: str) -> None:
    """`open` would wait for a writer of the FIFO, and read /dev/zero without end."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_bytes(b"text")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError, match=r"regular|directory|symbolic"):
        read_regular(tmp_path / name)
    assert read_regular(tmp_path / "link") == b"text"
