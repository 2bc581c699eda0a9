# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which of several objects stays, whatever the compilations come to."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import pytest

from passpilot.cli.cc.best_of import LOG, POLICY, compile_best
from passpilot.plugin.errors import InputError
from tests import stock
from tests.command import files_in

SCRIPT: Final = """
echo "$PASSPILOT_POLICY,$PASSPILOT_LOG" >> asked
echo "out $PASSPILOT_POLICY"
case "$PASSPILOT_POLICY" in
  fails) echo cut > out.o; exit 3 ;;
  dies) kill -TERM $$ ;;
  text) echo text > out.o ;;
  *) cp "${PASSPILOT_POLICY:-own}.o" out.o ;;
esac
"""
"""Takes an object that clang has made for the one that it makes."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with objects of three sizes; two of them are of one size."""
    folder = tmp_path_factory.mktemp("objects")
    bodies = {"own": "x * 3 + 2", "same": "x * 3 + 3", "small": "x", "large": "x * 3 % 7 / (x + 1)"}
    for name, body in bodies.items():
        source = folder / f"{name}.c"
        source.write_text(f"int f(int x) {{ return {body}; }}\n")
        stock.run("clang", "-O1", "-c", source, "-o", folder / f"{name}.o")
        source.unlink()
    return folder


@pytest.fixture
def here(objects: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the objects."""
    folder = Path(shutil.copytree(objects, tmp_path / "here"))
    monkeypatch.chdir(folder)
    return folder


def compiled(*policies: str) -> int:
    environment = {LOG: "logs", "PATH": "/usr/bin:/bin"}
    return compile_best("/bin/sh", ["sh", "-ec", SCRIPT], environment, "out.o", policies)


@pytest.mark.parametrize(
    ("policies", "kept"),
    [
        (("", "small", "large"), "small"),
        (("", "large"), "own"),
        (("large", "", "small"), "small"),
        (("", "same"), "own"),
        (("same", ""), "same"),
        (("", "fails"), "own"),
        (("large", "fails", "small"), "small"),
        (("", "dies"), "own"),
    ],
)
def test_the_first_of_the_smallest_stays(policies: tuple[str, ...], kept: str, here: Path) -> None:
    before = files_in(here)
    assert compiled(*policies) == 0
    assert (here / "out.o").read_bytes() == (here / f"{kept}.o").read_bytes()
    assert files_in(here) == sorted([*before, "asked", "out.o"])


def test_only_the_first_compilation_writes_a_log_and_speaks(
    here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    compiled("", "small", "large")
    assert (here / "asked").read_text().splitlines() == [",logs", "small,", "large,"]
    assert capfd.readouterr().out == "out \n"
    assert (LOG, POLICY) == ("PASSPILOT_LOG", "PASSPILOT_POLICY")


@pytest.mark.parametrize(("policy", "code"), [("fails", 3), ("dies", 128 + 15)])
def test_an_error_of_the_first_ends_it(policy: str, code: int, here: Path) -> None:
    assert compiled(policy, "small") == code
    assert (here / "asked").read_text().count("\n") == 1


def test_an_object_that_is_none_leaves_nothing_beside_it(here: Path) -> None:
    with pytest.raises(InputError):
        compiled("", "text")
    assert not list(here.glob("out.o.best-*"))


def test_an_object_that_cannot_be_replaced_is_an_error(here: Path) -> None:
    (here / "kept").mkdir()
    with pytest.raises(
        InputError, match=r"^kept: expected to keep the smallest object, got: Is a directory$"
    ):
        compile_best("/bin/sh", ["sh", "-c", "exit 0"], {}, "kept", [""])
