# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded builds as corpora: programs, archives, probes, duplicates, and what is left out."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from passpilot.training.corpus.builder import build_corpus
from passpilot.training.corpus.layout import Corpus
from passpilot.training.corpus.recorded.from_recording import draft_recording, names_of
from tests.command import PASSPILOT, passpilot, refused
from tests.corpus.build import bindir
from tests.training.corpus.builds import SOURCES, make_project, run, write


def extracted(recording: Path, folder: Path, *, problems: int = 0) -> Corpus:
    """The corpus of a recording."""
    built = build_corpus(str(folder), draft_recording(str(recording)))
    assert len(built.problems) == problems, built.problems
    return built.corpus


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with the sources of three units."""
    return write(tmp_path / "source", SOURCES)


def cc(here: Path, *arguments: str, driver: str = "cc", cwd: Path | None = None) -> None:
    run(PASSPILOT, driver, f"--record={here.parent}/recording", *arguments, cwd=cwd or here)


def corpus_of(here: Path, *, problems: int = 0) -> Corpus:
    return extracted(here.parent / "recording", here.parent / "corpus", problems=problems)


def test_a_program_by_make_with_an_archive(tmp_path: Path) -> None:
    sources, _ = make_project(tmp_path)
    done = passpilot("corpus", "extract", "--recording=recording", "-o", "corpus", cwd=tmp_path)
    assert (done.code, done.out) == (0, b"")
    assert done.err == "passpilot: corpus: 3 units, 1 program, 0 duplicates dropped, 0 left out\n"
    corpus = Corpus.read(tmp_path / "corpus")
    assert list(corpus.units) == ["add.c", "main.c", "twice.c"]
    (program,) = corpus.programs
    assert (program.name, program.language, program.compiler) == ("program", "c", "cc")
    assert program.objects == ("main.c",)
    assert program.libraries == (("twice.c", "add.c"),)
    assert (program.foreign, program.runs) == ((), ())
    assert program.arguments == ("-Wl,--gc-sections", "-lm")
    unit = corpus.units["add.c"]
    assert (unit.level, unit.function_sections) == ("Oz", True)
    origin = corpus.facts.origins["add.c"]
    assert origin.sha256 == hashlib.sha256(unit.bitcode.read_bytes()).hexdigest()
    assert origin.source == str(sources / "add.c")
    assert origin.command == ("clang-22", "-Oz", "-ffunction-sections", "-c", "-o", "add.o", "add.c")
    assert origin.directory == str(sources)
    assert origin.output == str(sources / "add.o")
    assert corpus.facts.target == "x86_64-pc-linux-gnu"
    assert "clang version 22" in corpus.facts.compiler


def test_what_no_longer_exists_is_dropped(here: Path) -> None:
    cc(here, "-Oz", "-c", "add.c")
    cc(here, "main.c", "twice.c", "add.c", "-o", "conftest")
    cc(here, "-Oz", "-c", "twice.c", "-o", "gone.o")
    for name in ("conftest", "gone.o"):
        (here / name).unlink()
    corpus = corpus_of(here)
    assert list(corpus.units) == ["add.c"]
    assert corpus.programs == ()


def test_an_archive_stands_for_objects_that_are_gone(here: Path) -> None:
    cc(here, "-Oz", "-c", "twice.c", "add.c")
    run(bindir() / "llvm-ar", "rc", "libtwice.a", "twice.o", "add.o", cwd=here)
    for name in ("twice.o", "add.o"):
        (here / name).unlink()
    cc(here, "-Oz", "main.c", "libtwice.a", "-o", "program")
    (program,) = corpus_of(here).programs
    assert program.objects == ("main.c",)
    assert program.libraries == (("twice.c", "add.c"),)


def test_stripped_members_of_a_thin_archive(here: Path) -> None:
    cc(here, "-Oz", "-g", "-c", "twice.c", "add.c")
    (here / "lib").mkdir()
    run(bindir() / "llvm-strip", "-g", "twice.o", cwd=here)
    run(bindir() / "llvm-ar", "rc", "--thin", "lib/libtwice.a", "twice.o", "add.o", cwd=here)
    cc(here, "-Oz", "main.c", "-Llib", "-ltwice", "-o", "program")
    (program,) = corpus_of(here).programs
    assert program.libraries == (("twice.c", "add.c"),)


def test_a_whole_archive_is_objects_in_their_place(here: Path) -> None:
    cc(here, "-Oz", "-c", "main.c", "twice.c", "add.c")
    run(bindir() / "llvm-ar", "rc", "libtwice.a", "twice.o", "add.o", cwd=here)
    cc(here, "-Wl,--whole-archive", "libtwice.a", "-Wl,--no-whole-archive", "main.o", "-o", "program")
    (program,) = corpus_of(here).programs
    assert program.objects == ("twice.c", "add.c", "main.c")
    assert program.arguments == ()


def test_what_was_not_recorded_is_foreign(here: Path) -> None:
    run("clang-22", "-Oz", "-c", "add.c", cwd=here)
    cc(here, "-Oz", "-c", "main.c", "twice.c")
    run(bindir() / "llvm-ar", "rc", "libtwice.a", "twice.o", "add.o", cwd=here)
    cc(here, "main.o", "libtwice.a", "-o", "mixed")
    cc(here, "main.o", "twice.o", "add.o", "-o", "plain")
    corpus = corpus_of(here)
    mixed, plain = corpus.programs
    assert (mixed.name, mixed.libraries, mixed.foreign) == (
        "mixed",
        (("twice.c",),),
        (str(here / "libtwice.a"),),
    )
    assert (plain.name, plain.objects, plain.foreign) == (
        "plain",
        ("main.c", "twice.c"),
        (str(here / "add.o"),),
    )
    assert list(corpus.units) == ["main.c", "twice.c"]


def test_objects_that_are_linked_twice(here: Path) -> None:
    """`-r` makes an object of objects; its units belong to the program."""
    cc(here, "-Oz", "-c", "main.c", "twice.c", "add.c")
    cc(here, "-r", "-nostdlib", "twice.o", "add.o", "-o", "both.o")
    cc(here, "main.o", "both.o", "-o", "program")
    (program,) = corpus_of(here).programs
    assert program.objects == ("main.c", "twice.c", "add.c")
    assert program.foreign == ()


def test_one_source_compiled_twice_has_two_names_and_equal_modules_are_one(here: Path) -> None:
    (here / "fast").mkdir()
    (here / "copy").mkdir()
    shutil.copy(here / "add.c", here / "copy")
    cc(here, "-Oz", "-c", "add.c")
    cc(here, "-O2", "-c", "add.c", "-o", "fast/add.o")
    cc(here, "-Oz", "-c", "add.c", cwd=here / "copy")
    cc(here, "-Oz", "-ffunction-sections", "-c", "twice.c")
    cc(here, "-Oz", "-c", "twice.c", "-o", "twice.pic.o")
    corpus = corpus_of(here)
    assert list(corpus.units) == ["add.c@add.o", "add.c@fast-add.o", "twice.c@twice.o", "twice.c@twice.pic.o"]
    assert corpus.facts.duplicates == {"copy/add.c": "add.c@add.o"}


def test_the_last_object_of_a_path_counts(here: Path) -> None:
    cc(here, "-O2", "-c", "add.c")
    cc(here, "-Oz", "-c", "add.c")
    assert corpus_of(here).units["add.c"].level == "Oz"


def test_another_object_than_the_recorded_one_is_left_out(here: Path) -> None:
    cc(here, "-Oz", "-c", "add.c")
    cc(here, "-Oz", "-c", "twice.c")
    run("clang-22", "-O0", "-c", "add.c", cwd=here)
    built = build_corpus(str(here.parent / "corpus"), draft_recording(str(here.parent / "recording")))
    expected = (
        f"{here}/add.c: expected its object, got another {here}/add.o than the recorded one; it is left out"
    )
    assert built.problems == [expected]
    assert list(built.corpus.units) == ["twice.c"]


def test_the_front_ends_failure_leaves_the_object_foreign(here: Path) -> None:
    (here / "once.c").write_text(
        '#if __has_include("once.d")\n#error again\n#endif\nint add(int a, int b) { return a; }'
    )
    cc(here, "-MD", "-c", "once.c")
    cc(here, "-Oz", "-c", "main.c", "twice.c")
    cc(here, "main.o", "twice.o", "once.o", "-o", "program")
    built = build_corpus(str(here.parent / "corpus"), draft_recording(str(here.parent / "recording")))
    said = "clang: expected it to succeed, got once.c:1:2: error: again"
    assert built.problems == [f"{here}/once.c: {said.replace(':1:', ':2:')}; its object is linked as it is"]
    (program,) = built.corpus.programs
    assert program.foreign == (str(here / "once.o"),)


def test_a_program_in_c_and_cxx(here: Path) -> None:
    (here / "main.cpp").write_text(
        'extern "C" int twice(int); int main(int c, char **) { return twice(c) - 2 * c; }\n'
    )
    cc(here, "-Oz", "-c", "twice.c", "add.c")
    cc(here, "-Os", "main.cpp", "twice.o", "add.o", "-o", "program", driver="c++")
    corpus = corpus_of(here)
    (program,) = corpus.programs
    assert (program.language, program.compiler) == ("c++", "c++")
    assert corpus.units["main.cpp"].level == "Os"
    assert corpus.facts.origins["main.cpp"].language == "c++"


def test_link_time_optimization_is_recorded_before_it(here: Path) -> None:
    cc(here, "-Oz", "-flto=thin", "-c", "main.c", "twice.c", "add.c")
    cc(here, "-flto=thin", "-fuse-ld=lld", "-Oz", "main.o", "twice.o", "add.o", "-o", "program")
    corpus = corpus_of(here)
    (program,) = corpus.programs
    assert program.objects == ("main.c", "twice.c", "add.c")
    assert program.arguments == ()


def test_a_damaged_recording(here: Path) -> None:
    cc(here, "-Oz", "-c", "main.c", "twice.c", "add.c")
    cc(here, "-Oz", "-c", "add.c", "-o", "add2.o")
    recording = here.parent / "recording"
    commands = sorted((recording / "commands").iterdir())
    whole = next(path for path in commands if "add2" not in path.read_text())
    other = next(path for path in commands if path != whole)
    other.write_text("{")
    command = json.loads(whole.read_text())
    main, twice, _ = (recording / "bitcode" / f"{unit['bitcode']}.bc" for unit in command["units"])
    main.write_bytes(main.read_bytes()[:900])
    twice.unlink()
    built = build_corpus(str(here.parent / "corpus"), draft_recording(str(recording)))
    json_, cut, gone = built.problems
    assert json_.startswith(f"{other}: expected a JSON file, got other text")
    assert cut.startswith("main.c: expected LLVM IR or bitcode, got: ")
    assert gone == "twice.c: expected bitcode, got: No such file or directory"
    assert list(built.corpus.units) == ["add.c"]


def test_bitcode_of_another_clang_is_refused_in_one_line(here: Path) -> None:
    cc(here, "-Oz", "-c", "main.c", "twice.c", "add.c")
    folder = here.parent / "recording" / "bitcode"
    for path in folder.iterdir():
        run("clang-14", "-c", "-emit-llvm", here / "add.c", "-o", path, cwd=here)
    line = refused("corpus", "extract", "--recording=recording", "-o", "corpus", cwd=here.parent)
    assert "add.c and 2 more: expected bitcode of clang 22, got Debian clang version 14" in line
    assert line.startswith("passpilot: error: corpus corpus: expected at least one unit, got none; ")


def test_another_target_is_left_out_in_one_line(here: Path) -> None:
    cc(here, "-Oz", "-c", "main.c", "twice.c", "add.c")
    cc(here, "-Oz", "--target=aarch64-linux-gnu", "-c", "add.c", "twice.c", cwd=write(here / "arm", SOURCES))
    built = build_corpus(str(here.parent / "corpus"), draft_recording(str(here.parent / "recording")))
    (problem,) = built.problems
    assert problem == (
        "arm/add.c and 1 more: expected a module for x86_64-pc-linux-gnu as most are, got one for "
        "aarch64-unknown-linux-gnu"
    )


def test_the_folder_must_be_new_and_appears_whole(here: Path) -> None:
    cc(here, "-Oz", "-c", "add.c")
    top = here.parent
    assert "expected a recording, got: No such file" in refused(
        "corpus", "extract", "--recording=none", "-o", "corpus", cwd=top
    )
    full = refused(
        "corpus",
        "extract",
        "--recording=recording",
        "-o",
        "corpus",
        cwd=top,
        prefix=("prlimit", "--fsize=500"),
    )
    assert "got: File too large" in full
    (top / "corpus").mkdir()
    assert passpilot("corpus", "extract", "--recording=recording", "-o", "corpus", cwd=top).code == 0
    line = refused("corpus", "extract", "--recording=recording", "-o", "corpus", cwd=top)
    assert (
        "corpus extract: -o: expected a new output, got corpus, which exists; give --force to replace it"
        in line
    )
    (top / "file").write_text("in the way")
    assert "expected a new folder, got file: Not a directory" in refused(
        "corpus", "extract", "--recording=recording", "-o", "file", cwd=top
    )
    assert "expected one of --recording, " in refused("corpus", "extract", "-o", "new", cwd=top, code=2)


def test_names() -> None:
    places = [("/p/a.c", "/p/x/a.o"), ("/p/a.c", "/p/y/a.o"), ("/p/s/b.c", "/p/b.o"), ("/p/a.c", "/p/x/a.o")]
    assert names_of(places) == ["a.c@x-a.o", "a.c@y-a.o", "s/b.c", "a.c@x-a.o.2"]
    assert names_of([("/p/s/b.c", "")], "/p") == ["s/b.c"]
    assert names_of([("/usr/b.c", "")], "/p") == ["usr/b.c"]
