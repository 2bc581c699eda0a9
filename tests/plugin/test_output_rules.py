# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One table of cases for both writers of output files: Python's, and C++'s in a stock compiler."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from passpilot import Module, Remarks, optimize
from passpilot.plugin.errors import InputError
from passpilot.plugin.files import write_file
from tests.plugin.native.stock.tools import tool

NOBODY: Final = 65534
IR: Final = """\
define internal i32 @g() {
  ret i32 1
}
define i32 @f() {
  %x = call i32 @g()
  ret i32 %x
}
"""
REFUSED: Final = "another user's link or FIFO in a folder that many may write"


@pytest.fixture(params=["Python", "C++"])
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Path], str]:
    """Writes a file; returns the error, or an empty text."""

    def in_python(path: Path) -> str:
        try:
            write_file(str(path), b"new")
        except InputError as error:
            return str(error)
        return ""

    def in_cpp(path: Path) -> str:
        flags = ("-passes=inliner-wrapper", "-passpilot-inline=const:1", f"-passpilot-log={path}")
        return tool("opt", *flags, "-disable-output", tmp_path / "in.ll", cwd=tmp_path).err

    (tmp_path / "in.ll").write_text(IR)
    return in_python if request.param == "Python" else in_cpp


@dataclass(frozen=True)
class Case:
    """What there is before, what is written, and what there is after."""

    prepare: Callable[[Path], object]
    """Fills the folder, in which `out` is written."""
    mode: int | None = 0o644
    """The permissions of the file `out` or, if it is a link, of its target; None if it is refused."""
    error: str = REFUSED
    """If it is refused, a part of the error."""


def old(mode: int, user: int = -1) -> Callable[[Path], object]:
    """A file that is there before."""

    def prepare(folder: Path) -> None:
        file = folder / "out"
        file.write_text("{old")
        os.chown(file, user, -1)
        file.chmod(mode)  # after chown, which clears such bits

    return prepare


def link(target: str, user: int = -1, mode: int = 0o1777, owner: int = -1) -> Callable[[Path], object]:
    """A link of a user in a folder of these permissions."""

    def prepare(folder: Path) -> None:
        (folder / "own").mkdir()
        (folder / "own" / "target").write_text("{old")
        (folder / "out").symlink_to(target)
        os.chown(folder / "out", user, -1, follow_symlinks=False)
        os.chown(folder, owner, -1)
        folder.chmod(mode)

    return prepare


def fifo(folder: Path) -> None:
    """Another user's FIFO in a folder such as /tmp."""
    os.mkfifo(folder / "out")
    os.chown(folder / "out", NOBODY, -1)
    folder.chmod(0o1777)


OWN: Final = {
    "new": Case(lambda _: None),
    "old": Case(old(0o604), 0o604),
    "setuid": Case(old(0o4755), 0o755),
    "setgid and sticky": Case(old(0o3755), 0o755),
    "own link in a sticky folder": Case(link("own/target")),
    "dangling link": Case(link("own/new")),
    "link to itself": Case(link("out"), None, "Too many levels of symbolic links"),
    "link through a file": Case(link("own/target/x"), None, "Not a directory"),
}
OTHERS: Final = {
    "setuid": Case(old(0o4777, NOBODY)),
    "private": Case(old(0o600, NOBODY)),
    "link in a sticky folder": Case(link("own/target", NOBODY), None),
    "dangling link in a sticky folder": Case(link("own/new", NOBODY), None),
    "link to a device": Case(link("/dev/null", NOBODY), None),
    "link of the owner of the sticky folder": Case(link("own/target", NOBODY, owner=NOBODY)),
    "link in another folder": Case(link("own/target", NOBODY, 0o777)),
    "FIFO": Case(fifo, None),
}


def check(case: Case, write: Callable[[Path], str], folder: Path) -> None:
    folder.mkdir()
    case.prepare(folder)
    before = os.umask(0o022)
    try:
        said = write(folder / "out")
    finally:
        os.umask(before)
    if case.mode is None:
        assert case.error in said
        assert "Traceback" not in said
        target = folder / "own" / "target"
        assert not target.exists() or target.read_text() == "{old"
        assert not (folder / "own" / "new").exists()
        return
    assert said == ""
    made = (folder / "out").stat()
    assert stat.S_IMODE(made.st_mode) == case.mode
    assert made.st_uid == os.geteuid()
    assert (folder / "out").read_bytes() not in (b"{old", b"")


@pytest.mark.parametrize("name", OWN)
def test_files_of_ones_own(name: str, write: Callable[[Path], str], tmp_path: Path) -> None:
    check(OWN[name], write, tmp_path / "folder")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of other users")
@pytest.mark.parametrize("name", OTHERS)
def test_files_of_others(name: str, write: Callable[[Path], str], tmp_path: Path) -> None:
    check(OTHERS[name], write, tmp_path / "folder")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files of other users")
def test_remarks_which_llvm_writes(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    link("own/target", NOBODY)(folder)
    with pytest.raises(InputError, match=REFUSED):
        optimize(Module.read(IR.encode()), "default<O2>", remarks=Remarks(output=str(folder / "out")))
    assert (folder / "own" / "target").read_text() == "{old"


def test_a_link_within_the_path(write: Callable[[Path], str], tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to("real/../real")
    assert write(tmp_path / "way" / "out") == ""
    assert (tmp_path / "real" / "out").stat().st_size
    if os.geteuid() == 0:
        os.chown(tmp_path / "way", NOBODY, -1, follow_symlinks=False)
        tmp_path.chmod(0o1777)
        assert REFUSED in write(tmp_path / "way" / "out")


def test_a_folder_that_is_missing(write: Callable[[Path], str], tmp_path: Path) -> None:
    assert "No such file or directory" in write(tmp_path / "missing" / "out")
