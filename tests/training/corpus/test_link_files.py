# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a corpus, a database of commands and the links in them read: nothing outside of the given folders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import passpilot
from passpilot.plugin.errors import InputError
from passpilot.training.corpus.compile_commands import draft_commands
from passpilot.training.corpus.layout import Corpus, CorpusProgram
from passpilot.training.corpus.link_files import refusal
from passpilot.training.data.flips import FlipSettings, gather_flips
from passpilot.training.ladder.programs import LadderStep
from tests import stock
from tests.command import passpilot as command
from tests.training.corpus.builds import run
from tests.training.evaluation.small import change, corpus

SECRET = "root:secret:0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of a corpus, with files in it, links out of it, and files beside it."""
    made = tmp_path / "corpus"
    made.mkdir()
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "a.s").write_text("more: .byte 1\n")
    stock.run("clang", "-c", tmp_path / "a.s", "-o", tmp_path / "out.o")
    stock.run("clang", "-c", tmp_path / "a.s", "-o", made / "in.o")
    run("llvm-ar-22", "rc", "in.a", "in.o", cwd=made)
    run("llvm-ar-22", "rcT", "thin.a", "in.o", cwd=made)
    run("llvm-ar-22", "rcT", "leaving.a", "in.o", "../out.o", cwd=made)
    (made / "script").write_text('INPUT("../secret")')
    (made / "a.s").write_text('.incbin "../secret"')
    (made / "link.o").symlink_to("../out.o")
    (made / "up").symlink_to("..")
    return made


def program(*words: str, directory: str = "") -> CorpusProgram:
    return CorpusProgram("p", "c", "cc", (), foreign=words[:1], arguments=words[1:], directory=directory)


OUTSIDE = [
    *("{}/out.o", "../out.o", "link.o", "up/secret", "up/corpus/../out.o", "script", "a.s", "leaving.a"),
    *("in.o {}/out.o", "in.o -Wl,../out.o", "in.o -Wl,in.o,{}/secret", "in.o -Wl,--version-script=../secret"),
    *("in.o -Wl,-T{}/secret", "in.o -Wl,-T -Wl,{}/secret", "in.o -T script", "in.o -L{}", "in.o -L.."),
    *("in.o --sysroot=.", "in.o --sysroot={}", "in.o --gcc-toolchain=../corpus"),
    *("in.o -Wl,-R../secret", "/usr/../etc/passwd", "in.o -Wl,--just-symbols=../out.o", "in.o -Lup"),
]


@pytest.mark.parametrize("words", OUTSIDE)
def test_files_outside_are_refused_unless_their_folder_is_named(words: str, folder: Path) -> None:
    given = program(*words.format(folder.parent).split())
    told = refusal(given, str(folder), "")
    assert told.startswith("p: expected ")
    assert " to permit it" in told
    assert refusal(given, str(folder), told.partition("--root=")[2].partition(" ")[0]) == ""
    assert refusal(given, str(folder), str(folder.parent / "other"))


@pytest.mark.parametrize(
    "words",
    ["in.o", "in.o --sysroot=/usr/x", "in.a",
      "thin.a", "none.o", "in.o -lm", "in.o -L/usr/lib/llvm-22/lib -lz", "in.o -Wl,-h,x",
     "/usr/lib/os-release", "in.o -Wl,-soname,libx.so", "in.o -L.", "up/corpus/in.o"],
)  # fmt: skip
def test_files_of_the_corpus_and_of_the_system_are_read(words: str, folder: Path) -> None:
    assert refusal(program(*words.split()), str(folder), "") == ""


def test_the_folder_of_the_link_is_no_root(folder: Path) -> None:
    assert "got " in refusal(program("out.o", directory=str(folder.parent)), str(folder), "")


@pytest.mark.parametrize(
    ("words", "read"),
    [("x.o", "x.o"), ("/x.o -Wl,--version-script=x.map", "x.map"), ("/x.o -T x.ld", "x.ld"),
     ("/x.o -Wl,-T,x.ld", "x.ld"), ("/x.o -Wl,--dynamic-list -Wl,x", "x"), ("/x.o -Tx.ld", "x.ld")],
)  # fmt: skip
def test_a_link_says_what_it_needs_of_a_folder_that_is_elsewhere(words: str, read: str, folder: Path) -> None:
    given = program(*words.split(), directory="/no/such")
    expected = f"p: expected {read} of its link in /no/such, got no such folder; put it there, or record"
    assert refusal(given, str(folder), "/").startswith(expected)


@pytest.mark.parametrize(
    "words", ["/x.o -Wl,-Ttext=0x100 -lm", "/x.o -Wl,-soname,libx.so -Wl,-rpath,x", "/x.o -L. -T /x.ld"]
)
def test_a_link_that_reads_nothing_relative_needs_no_folder(words: str, folder: Path) -> None:
    assert refusal(program(*words.split(), directory="/no/such"), str(folder), "/") == ""


def test_a_corpus_of_another_machine_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder in which its programs were linked is not here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small = corpus(tmp_path)
    change(small, "count", directory="/no/such", arguments=["--shared"], runs=[])
    for lto in (False, True):
        assert passpilot.tune(corpus=small, program=["count"], compiles=1, lto=lto).best > 0
    words = ("eval", f"--corpus={small}", "--program=count", "--baselines=-Oz", "--rounds=0", "--no-logs")
    done = command(*words, cwd=tmp_path)
    assert (done.code, "no/such" in done.err) == (0, False), done.err

    def stop(step: LadderStep) -> None:
        if step.builds == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        passpilot.ladder(small, program=["count"], step=stop, output=str(tmp_path / "new/folder"))
    assert (tmp_path / "new/folder/count.ladder.search").stat().st_size > 0
    change(small, "count", foreign=["x.o"])
    told = re.escape("count: expected x.o of its link in /no/such")
    with pytest.raises(InputError, match=told):
        passpilot.tune(corpus=small, program=["count"], compiles=1)
    with pytest.raises(InputError, match=told):
        passpilot.ladder(small, program=["count"])
    assert "count: expected x.o of its link in /no/such" in command(*words, cwd=tmp_path).err


def test_commands_link_nothing_from_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small = corpus(tmp_path)
    outside = small.parent / "out.o"
    (small.parent / "out.c").write_text("int more;")
    stock.run("clang", "-c", small.parent / "out.c", "-o", outside)
    change(small, "count", foreign=[str(outside)])
    told = f"expected inputs of the link below {small}, got {outside}; give --root="
    for lto in (False, True):
        with pytest.raises(InputError, match=re.escape(told)):
            passpilot.tune(corpus=small, program=["count"], compiles=1, lto=lto, root="/none")
    (broken,) = gather_flips(Corpus.read(small, "/none"), ["count"], FlipSettings(1))
    assert told in str(broken)
    words = ("eval", f"--corpus={small}", "--program=count", "--baselines=-Oz", "--rounds=0", "--no-logs")
    assert told in command(*words, "--root=/none", cwd=small.parent).err
    done = command(*words, f"--root={small.parent}", cwd=small.parent)
    assert (done.code, "to permit it" in done.err) == (0, False), done.err


def entry(folder: Path, command: str) -> str:
    """What is wrong with a command of a database in a folder; empty if it compiles."""
    value = [{"directory": str(folder), "file": "a.c", "command": f"cc -c a.c {command}"}]
    (folder / "db").mkdir(exist_ok=True)
    (folder / "db/c.json").write_text(json.dumps(value))
    (folder / "scratch").mkdir(exist_ok=True)
    draft = draft_commands(str(folder / "db/c.json"), folder / "scratch", 1)
    return "\n".join(draft.problems)


def test_response_files_are_in_the_folder_of_the_database(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int x = Y;")
    for name in ("out.rsp", "db/in.rsp", "db/nested.rsp", "db/link.rsp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        if "link" in name:
            (tmp_path / name).symlink_to(tmp_path / "out.rsp")
        else:
            (tmp_path / name).write_text("@out.rsp" if "nested" in name else "-DY=1")
    assert entry(tmp_path, "@db/in.rsp") == ""
    hint = f"got {tmp_path}/{{}}; give --base={tmp_path} to permit it"
    for words, got in {
        "@out.rsp": "out.rsp", "@db/nested.rsp": "out.rsp", "@db/link.rsp": "db/link.rsp",
        "-Xclang @out.rsp": "out.rsp", "@db/../out.rsp": "db/../out.rsp",
    }.items():  # fmt: skip
        told = f"a.c: expected response files below {tmp_path}/db, {hint.format(got)}"
        assert entry(tmp_path, words) == told
        assert draft_commands(str(tmp_path / "db/c.json"), tmp_path / "scratch", 1, (), str(tmp_path)).units
    assert "got --config=out.rsp" in entry(tmp_path, "-DY=1 --config=out.rsp")


def test_objects_are_in_the_folder_of_the_database(tmp_path: Path) -> None:
    """Elsewhere the source is compiled, and no object or index for ThinLTO is read."""
    (tmp_path / "a.c").write_text("int x;")
    embed = ("-O1", "-Xclang", "-fembed-bitcode=all")
    stock.run("clang", *embed, "-c", tmp_path / "a.c", "-o", tmp_path / "a.o")
    (tmp_path / "cmd").write_bytes(b"-cc1\0-O1\0-fthinlto-index=secret\0")
    (tmp_path / "secret").write_text(SECRET)
    run("llvm-objcopy-22", "--update-section", ".llvmcmd=cmd", "a.o", cwd=tmp_path)
    assert entry(tmp_path, "-Oz -o a.o") == ""
    for root, level in (("", "-Oz"), (str(tmp_path), "-O1")):
        (unit,) = draft_commands(str(tmp_path / "db/c.json"), tmp_path / "scratch", 1, (), root).units
        assert level in unit.arguments(None)  # type: ignore[arg-type]
        assert (unit.thinlto is None) == (level == "-Oz")


def test_a_database_loads_no_code(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int x;")
    (tmp_path / "m.c").write_text(
        '#include <stdio.h>\n__attribute__((constructor)) void f(void) { fclose(fopen("loaded", "w")); }\n'
    )
    stock.run("clang", "-shared", "-fPIC", tmp_path / "m.c", "-o", tmp_path / "x.so")
    for words in ("-Xclang -load -Xclang ./x.so", "-fplugin=./x.so", "-fpass-plugin=./x.so"):
        assert "expected a command that loads no code" in entry(tmp_path, words)
        assert not (tmp_path / "loaded").exists()


def test_what_is_refused_can_still_be_counted(folder: Path) -> None:
    """Only links are refused."""
    (folder / "corpus_description.json").write_text('{"modules": []}')
    value = {"name": "p", "language": "c", "compiler": "cc", "objects": [], "foreign": ["../out.o"]}
    (folder / "programs.json").write_text(json.dumps({"programs": [value]}))
    (read,) = Corpus.read(folder).programs
    assert read.refused
    assert not Corpus.read(folder, str(folder.parent)).programs[0].refused
