# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`OutputFile`: whole or not at all, on file systems with and without nameless files."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.files import (
    OutputFile,
    check_output,
    read_regular,
    replace_file,
    write_file,
    write_files,
)

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


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 0x80000000)
    with pytest.raises(OSError, match=r"^\[Errno 27\] File too large: '.*sparse'$"):
        read_regular(tmp_path / "sparse")
    (tmp_path / "small").write_bytes(b"four")
    assert read_regular(tmp_path / "small", most=4) == b"four"


def test_a_name_of_a_folder_makes_no_file(tmp_path: Path) -> None:
    for name in ("new/", ""):
        with pytest.raises(InputError, match="expected a file to write, got: Is a directory"):
            write_file(f"{tmp_path}/{name}", b"x")
    assert os.listdir(tmp_path) == []


def test_as_many_links_are_followed_as_by_linux(tmp_path: Path) -> None:
    (tmp_path / "0").write_bytes(b"old")
    for number in range(41):
        (tmp_path / str(number + 1)).symlink_to(str(number))
    write_file(str(tmp_path / "40"), b"new")
    assert (tmp_path / "0").read_bytes() == b"new"
    with pytest.raises(InputError, match="expected a file to write, got: Too many levels of symbolic links"):
        write_file(str(tmp_path / "41"), b"newer")
    with pytest.raises(InputError, match="41: expected a file to write, got: Too many levels"):
        check_output(str(tmp_path / "41"))
    check_output(str(tmp_path / "40"))


@pytest.mark.parametrize("last", ["missing/b", "/dev/full"])
def test_no_file_appears_before_all_are_complete(tmp_path: Path, last: str) -> None:
    (tmp_path / "old").write_bytes(b"before")
    with pytest.raises(InputError, match="expected a file to write, got: No s"):
        write_files({f"{tmp_path}/a": b"1", f"{tmp_path}/old": b"2", os.path.join(tmp_path, last): b"3"})
    assert os.listdir(tmp_path) == ["old"]
    assert (tmp_path / "old").read_bytes() == b"before"
    write_files({f"{tmp_path}/a": b"1", f"{tmp_path}/old": b"2"})
    assert [(tmp_path / name).read_bytes() for name in ("a", "old")] == [b"1", b"2"]


def test_a_slow_reader_of_a_fifo_gets_all(tmp_path: Path) -> None:
    fifo, data = tmp_path / "fifo", bytes(range(256)) * 2000
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    read: list[bytes] = []

    def rest() -> None:
        while part := os.read(reader, 5000):
            read.append(part)

    file = OutputFile(str(fifo))
    thread = threading.Thread(target=rest, daemon=True)
    thread.start()
    file.write(data)
    file.commit()
    thread.join()
    os.close(reader)
    assert b"".join(read) == data


def test_a_fifo_without_a_reader_is_an_error(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(InputError, match="fifo: expected a file to write, got: No such device or address"):
        write_file(str(tmp_path / "fifo"), b"x")


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
def test_an_open_descriptor_is_written_where_it_is(tmp_path: Path, folder: str) -> None:
    with (tmp_path / "a").open("w+b", buffering=0) as file:
        file.write(b"begin ")
        write_file(f"{folder}/{file.fileno()}", b"end")
        assert file.write(b".") == 1
    assert (tmp_path / "a").read_bytes() == b"begin end."


def test_standard_streams_have_names(capfd: pytest.CaptureFixture[str]) -> None:
    write_file("/dev/stdout", b"out")
    write_file("/dev/stderr", b"err")
    write_file("-", b", too")
    assert capfd.readouterr() == ("out, too", "err")


def test_a_reader_that_went_away_is_no_wrong_file() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        write_file(f"/dev/fd/{writer}", b"x")
    os.close(writer)


def test_an_exception_in_the_block_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(TypeError), OutputFile(str(tmp_path / "a")) as file:
        file.write("no bytes")  # type: ignore[arg-type]
    assert (os.listdir(tmp_path), file.fd) == ([], -1)


def test_a_file_system_may_take_a_part_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    write_file(str(tmp_path / "a"), b"ten bytes.")
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == b"ten bytes."


def test_what_another_text_replaces_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.decisions"
    for text in ("one", "one", "two"):
        assert not (tmp_path / "a.decisions.old").exists()
        replace_file(str(path), text)
    assert (path.read_text(), (tmp_path / "a.decisions.old").read_text()) == ("two", "one")
