# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot cc` says once in a build that a policy or a decision file meets another level than its own."""

from __future__ import annotations

import os
import pty
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from tests.command import PASSPILOT, passpilot, refused, run

NOTHING = "nothing changes where nothing is optimized"
SLIPS: Final = {
    "--policy=@ozz": "got another name; did you mean '@oz'?",
    "--inline=cnst:0": "runner scheme 'cnst': expected one of",
}
ADVICE: Final = (
    "--inline=const:0",
    "--evict=random:7",
    "--decisions=file.decisions",
    "PASSPILOT_INLINE=const:0",
)
SMALL = "code is now made small, and may be slower"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a source; the user's cache is in it, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.c").write_text("int f(int a) { return a * 3; }\n")
    (tmp_path / "file.decisions").write_text("passpilot decisions 1\n")
    return tmp_path


def compiled(here: Path, *arguments: str) -> str:
    """What a build of four objects says."""
    text = "all: 1 2 3 4\n.PHONY: 1 2 3 4\n1 2 3 4:\n\t$(CC) -c a.c -o $@.o\n"
    (here / "Makefile").write_text(text)
    command = shlex.join([str(PASSPILOT), "cc", *arguments])
    done = run("make", "-sj2", f"CC={command}", cwd=here)
    assert done.code == 0, done.err
    return done.err


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
def test_another_level_is_said_once_in_a_build(here: Path, arguments: tuple[str, ...], text: str) -> None:
    said = f"passpilot: warning: cc: {text} (said once in a build)\n"
    assert compiled(here, *arguments) == said
    assert compiled(here, *arguments) == said, "another build of the same session"
    assert len(list((here / "cache/passpilot/said").iterdir())) == 2
    for note in (here / "cache/passpilot/said").iterdir():
        os.utime(note, (0, 0))
    assert compiled(here, *arguments) == said
    assert len(list((here / "cache/passpilot/said").iterdir())) == 1, "old notes are gone"


@pytest.mark.parametrize(
    ("unit", "level", "text"),
    [
        ("other.c\nfunction * minsize", "-O2", "expected decisions for a.c, got those for other.c; "),
        ("a.c\nlevel Oz\nfunction * minsize", "-O2", "expected -Oz, at which a.c was searched, got -O2; "),
        ("a.c\nlevel Oz\nfunction * minsize", "-Oz", ""),
        ("a.c\nfunction * minsize", "-O2", ""),
    ],
)
def test_a_decision_file_that_does_not_fit_is_said_once_in_a_build(
    here: Path, unit: str, level: str, text: str
) -> None:
    file = here / "some.decisions"
    file.write_text(f"passpilot decisions 1\nunit {unit}\n")
    for _ in range(2):
        said = compiled(here, f"--decisions={file}", level)
        assert said.count("warning: ") == bool(text), said
        assert f"decisions {file}: {text}" in said or not text
        assert "(said once in a build)" in said or not text
    run("cp", "a.c", "conftest.c", cwd=here)
    for source, warns in (("conftest.c", False), ("a.c", bool(text))):
        done = passpilot("cc", f"--decisions={file}", level, "-c", source, "-o", "a.o", cwd=here)
        assert (done.code, done.err.count("warning: ")) == (0, warns), done.err
        assert "once in a build" not in done.err, "a command that a person types"


@pytest.mark.parametrize(
    "advice",
    ["--inline=const:0", "--evict=random:7", "--decisions=file.decisions", "PASSPILOT_INLINE=const:0"],
)
def test_advice_of_any_kind_without_optimization(
    here: Path, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = [advice]
    if not advice.startswith("-"):
        monkeypatch.setenv(*advice.split("="))
        arguments = []
    text = f"{advice}: expected a level such as -Oz, got no -O; {NOTHING} (said once in a build)\n"
    assert compiled(here, *arguments) == f"passpilot: warning: cc: {text}"
    assert NOTHING not in compiled(here, *arguments, "-O2")
    done = passpilot("build", *arguments, "--", "make", "-s", "CC=clang-22", cwd=here)
    assert (done.code, done.err.count("\n")) == (0, 1)
    assert text.partition("=")[2] in done.err


@pytest.mark.parametrize(
    "words",
    ["-E a.c", "-fsyntax-only a.c", "--version", "-### -c a.c", "-c start.s", "-M a.c", "a.o -shared"],
)
def test_what_compiles_nothing_says_nothing_but_names_are_checked(here: Path, words: str) -> None:
    (here / "start.s").write_text("nop\n")
    assert run("clang-22", "-c", "a.c", cwd=here).code == 0
    for option, told in SLIPS.items():
        assert told in refused("cc", option, *words.split(), cwd=here)
    for option in ("--policy=@oz", "--inline=const:0"):
        done = passpilot("cc", option, *words.split(), cwd=here)
        assert done.code == 0
        assert "passpilot" not in done.err


def test_how_a_build_is_started(here: Path) -> None:
    """By a script, whose builds are several; by a script that compiles itself; without any terminal."""
    (here / "Makefile").write_text("all:\n\t$(CC) -c a.c; $(CC) -c a.c\n\t$(CC) -c a.c\n")
    cc = f"{PASSPILOT} cc --policy=@oz"
    for script, times in {
        f"make -s CC='{cc}'; make -s CC='{cc}'": 2,
        f"make -s CC='{cc}' & make -s CC='{cc}'; wait": 2,
        f"{cc} -c a.c; {cc} -c a.c; sh -c '{cc} -c a.c; {cc} -c a.c'": 1,
        f"set -m; {cc} -c a.c; {cc} -c a.c": 2,  # as a person types them
        f"make -s CC='make -sf Makefile all CC=\"{cc}\"; true'": 1,
    }.items():
        assert run("bash", "-c", f"{script}; true", cwd=here).err.count(NOTHING) == times, script


def test_a_person_types_in_a_terminal(here: Path) -> None:
    shell, terminal = pty.fork()
    if not shell:
        os.chdir(here)
        os.execvp(
            "sh", ["sh", "-c", f"{PASSPILOT} cc --policy=@oz -c a.c; {PASSPILOT} cc --policy=@oz -c a.c; :"]
        )
    text = b""
    with suppress(OSError):  # of the end
        while part := os.read(terminal, 4096):
            text += part
    os.waitpid(shell, 0)
    assert text.count(NOTHING.encode()) == 2
    assert b"said once" not in text
    assert not (here / "cache/passpilot/said").exists()


def test_links_of_objects_say_nothing(here: Path) -> None:
    (here / "b.c").write_text("int f(int a);\nint main(void) { return f(0); }\n")
    for given in (["--policy=@oz"], ["--policy=@oz", "-flto"]):
        objects = passpilot("cc", *given, "-Oz", "-c", "a.c", "b.c", cwd=here)
        linked = passpilot("cc", *given, "a.o", "b.o", "-o", "b", cwd=here)
        assert (objects.err, linked.code, linked.err) == ("", 0, "")
    for sources in (("a.c", "b.o"), ("-x", "c", "a.c", "-x", "none", "b.o")):
        assert NOTHING in passpilot("cc", "--policy=@oz", *sources, cwd=here).err


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
