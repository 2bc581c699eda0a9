# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc` says once in a build that a policy or a decision file meets another level than its own."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.command import PASSPILOT, passpilot

NOTHING = "nothing changes where nothing is optimized"
SMALL = "code is now made small, and may be slower"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source; the user's cache is in it, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.c").write_text("int f(int a) { return a * 3; }\n")
    (tmp_path / "file.decisions").write_text("# passpilot decisions 3\n")
    return tmp_path


def compiled(here: Path, *arguments: str) -> str:
    """What a build of four objects says."""
    text = "all: 1 2 3 4\n.PHONY: 1 2 3 4\n1 2 3 4:\n\t$(CC) -c a.c -o $@.o\n"
    (here / "Makefile").write_text(text)
    command = shlex.join([str(PASSPILOT), "cc", *arguments])
    done = subprocess.run(
        ["make", "-sj2", f"CC={command}"], cwd=here, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--policy=@oz",), f"--policy=@oz: expected a level such as -Oz, got no -O; {NOTHING}"),
        (("--policy=@oz", "-Oz", "-O0"), f"--policy=@oz: expected a level such as -Oz, got -O0; {NOTHING}"),
        (("--policy=@oz", "-O2"), f"--policy=@oz: it is made for -Oz, got -O2; {SMALL}"),
        (("--policy=@oz", "-O2", "-w"), f"--policy=@oz: it is made for -Oz, got -O2; {SMALL}"),
        (("--policy=@oz?tries=2", "-O3"), f"--policy=@oz?tries=2: it is made for -Oz, got -O3; {SMALL}"),
    ],
)
def test_another_level_is_said_once(here: Path, arguments: tuple[str, ...], text: str) -> None:
    said = f"passpilot: warning: cc: {text} (said once in a build)\n"
    assert compiled(here, *arguments) == said
    assert compiled(here, *arguments) == ""
    (note,) = (here / "cache/passpilot/said").iterdir()
    os.utime(note, (0, 0))  # a build of another day
    assert compiled(here, *arguments) == said


def test_links_of_objects_say_nothing(here: Path) -> None:
    (here / "b.c").write_text("int f(int a);\nint main(void) { return f(0); }\n")
    for given in (["--policy=@oz"], ["--policy=@oz", "-flto"]):
        objects = passpilot("cc", *given, "-Oz", "-c", "a.c", "b.c", cwd=here)
        linked = passpilot("cc", *given, "a.o", "b.o", "-o", "b", cwd=here)
        assert (objects.err, linked.code, linked.err) == ("", 0, "")
    for sources in (("a.c", "b.o"), ("-x", "c", "a.c", "-x", "none", "b.o")):
        assert NOTHING in passpilot("cc", "--policy=@oz", *sources, cwd=here).err
        (note,) = (here / "cache/passpilot/said").glob("*-O0")
        note.unlink()


@pytest.mark.parametrize("level", ["-Oz", "-Os"])
def test_levels_for_size_say_nothing(here: Path, level: str) -> None:
    assert compiled(here, "--policy=@oz", level) == ""
    assert compiled(here, "-O2") == ""
    assert compiled(here, "--policy=@spill", "-O2") == ""


def test_probes_say_nothing(here: Path) -> None:
    (here / "conftest.c").write_text("int main(void) { return 0; }\n")
    done = passpilot("cc", "--policy=@oz", "-O2", "conftest.c", "-o", "conftest", cwd=here)
    assert (done.code, done.err) == (0, "")
    assert SMALL in compiled(here, "--policy=@oz", "-O2")


def test_a_cache_that_cannot_be_written_does_not_silence(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(here / "a.c"))
    assert compiled(here, "--policy=@oz", "-O2").count(SMALL) == 4
