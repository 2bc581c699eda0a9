# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layout of a corpus: what is written is read again, and what is wrong is said in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.corpus.layout import (
    Corpus,
    CorpusFacts,
    CorpusProgram,
    CorpusUnit,
    ProgramRun,
    UnitOrigin,
    command_arguments,
    command_bytes,
)
from tests import stock

COMMAND = (
    "-cc1",
    "-triple",
    "x86_64-pc-linux-gnu",
    "-Oz",
    "-mrelocation-model",
    "pic",
    "-ffunction-sections",
)
PROGRAM = CorpusProgram(
    "p",
    "c",
    "cc",
    ("src/a.c",),
    (("b.c",),),
    ("/abs/foreign.o",),
    ("-lm", "-Wl,-E"),
    (ProgramRun(("x y",), "/abs", "00ff"),),
    "/abs",
)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """A corpus of two units, not yet written; one has an index, a name and an argument that are not UTF-8."""
    units = {}
    for name in ("src/a.c", "b.c"):
        bitcode = tmp_path / f"{name.replace('/', '-')}.given"
        bitcode.write_bytes(name.encode())
        units[name] = CorpusUnit(name, bitcode, (*COMMAND, "-I", "\udcff ä"), bitcode)
    facts = CorpusFacts(
        "Debian clang version 22.1.8 (1)",
        "x86_64-pc-linux-gnu",
        {"b.c": UnitOrigin("12ab", "c", "34", "/b.c", ("clang-22", "b.c"), "/", "/b.o")},
        {"c.c": "b.c"},
    )
    return Corpus(tmp_path / "corpus", units, [PROGRAM], facts)


def test_what_is_written_is_read(corpus: Corpus) -> None:
    corpus.write()
    read = Corpus.read(corpus.folder)
    assert (read.programs, read.facts, read.override) == ((PROGRAM,), corpus.facts, None)
    assert list(read.units) == ["src/a.c", "b.c"]
    for name, unit in read.units.items():
        assert unit.arguments == corpus.units[name].arguments
        assert unit.bitcode == corpus.folder / f"{name}.bc"
        assert unit.bitcode.read_bytes() == name.encode()
        assert unit.thinlto
        assert unit.thinlto.read_bytes() == name.encode()
    assert PROGRAM.modules == ("src/a.c", "b.c")


def test_the_files_are_those_of_mlgo(corpus: Corpus) -> None:
    corpus.write()
    description = json.loads((corpus.folder / "corpus_description.json").read_text())
    assert description == {"modules": ["src/a.c", "b.c"], "has_thinlto": True}
    command = (corpus.folder / "b.c.cmd").read_bytes()
    assert command == b"".join(each.encode() + b"\0" for each in COMMAND) + b"-I\0\xff \xc3\xa4\0"


def test_what_the_arguments_say(corpus: Corpus) -> None:
    unit = corpus.units["b.c"]
    assert (unit.level, unit.relocation_model, unit.function_sections, unit.data_sections, unit.triple) == (
        "Oz",
        "pic",
        True,
        False,
        "x86_64-pc-linux-gnu",
    )
    assert (
        replace(unit, arguments=("-cc1", "-O2", "-mrelocation-model", "static")).relocation_model == "static"
    )
    assert replace(unit, arguments=()).level == "O0"


def test_an_override_replaces_all_arguments(corpus: Corpus) -> None:
    replace(corpus, override=("-cc1", "-Os")).write()
    read = Corpus.read(corpus.folder)
    assert {unit.level for unit in read.units.values()} == {"Os"}
    assert not list(corpus.folder.rglob("*.cmd"))


def test_a_unit_without_arguments_does_not_end_the_reading(corpus: Corpus) -> None:
    corpus.write()
    (corpus.folder / "b.c.cmd").unlink()
    read = Corpus.read(corpus.folder)
    assert read.units["b.c"].arguments == ()
    assert read.units["src/a.c"].level == "Oz"


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("corpus_description.json", None, "expected the folder of a corpus, got another folder"),
        ("corpus_description.json", "{", "corpus_description.json: expected a JSON file, got other text"),
        ("corpus_description.json", "[" * 100_000, "corpus_description.json: expected a JSON file"),
        ("corpus_description.json", "[]", r"expected a JSON object, got \[\]"),
        ("corpus_description.json", "{}", "corpus_description.json: expected modules, got none"),
        (
            "corpus_description.json",
            '{"modules": [1]}',
            "modules: expected a string, got 1",
        ),
        (
            "corpus_description.json",
            '{"modules": ["../x"]}',
            "expected names of files in the folder, got '../x'",
        ),
        ("corpus_description.json", '{"modules": ["/x"]}', "expected names of files in the folder, got '/x'"),
        (
            "corpus_description.json",
            '{"modules": [], "global_command_override": ["<UNSPECIFIED>"]}',
            "global_command_override: expected arguments of clang -cc1",
        ),
        ("passpilot.json", '{"format": 2}', "expected format 1, got 2"),
        ("passpilot.json", '{"format": "x"}', "format: expected an integer, got 'x'"),
        ("passpilot.json", '{"format": 1, "modules": {"a": {}}}', "modules: a: expected sha256, got none"),
        ("programs.json", '{"programs": {}}', "programs: expected an array, got {}"),
        (
            "programs.json",
            '{"programs": [{"name": 1}]}',
            r"programs\[0\]: name: expected a string, got 1",
        ),
        (
            "programs.json",
            '{"programs": [{"name": "q", "language": "c", "compiler": "cc", "objects": ["z.c"]}]}',
            "q: expected modules of the corpus, got 'z.c'",
        ),
        (
            "passpilot.json",
            '{"format": 1, "compiler": "clang version 21.0.0"}',
            "expected one of clang 22, got one of clang version 21.0.0; extract it again",
        ),
    ],
)
def test_a_wrong_file(corpus: Corpus, file: str, text: str | None, said: str) -> None:
    corpus.write()
    (corpus.folder / file).unlink()
    if text is not None:
        (corpus.folder / file).write_text(text)
    with pytest.raises(InputError, match=said):
        Corpus.read(corpus.folder)


def test_another_clang_is_known_by_its_folder(corpus: Corpus) -> None:
    """A corpus that mlgo-utils made says no version."""
    arguments = ("-cc1", "-resource-dir", "/usr/lib/llvm-19/lib/clang/19")
    units = {name: replace(unit, arguments=arguments) for name, unit in corpus.units.items()}
    replace(corpus, units=units).write()
    (corpus.folder / "passpilot.json").unlink()
    with pytest.raises(
        InputError, match="expected one of clang 22, got one of /usr/lib/llvm-19/lib/clang/19"
    ):
        Corpus.read(corpus.folder)


def test_a_corpus_that_cannot_be_written(corpus: Corpus, tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("in the way")
    with pytest.raises(InputError, match="expected a folder, got: Not a directory"):
        corpus.write()
    missing = replace(corpus.units["b.c"], bitcode=tmp_path / "none.bc")
    with pytest.raises(InputError, match=r"none.bc: expected a file that can be read, got: No such file"):
        replace(corpus, folder=tmp_path / "new", units={"b.c": missing}, programs=()).write()
    assert not (tmp_path / "new" / "corpus_description.json").exists()


def test_the_corpus_of_the_tests_can_be_exported(tmp_path: Path) -> None:
    from tests.corpus.export import export

    assert export(tmp_path / "corpus", ["lz4"], "Oz") == []
    corpus = Corpus.read(tmp_path / "corpus")
    (program,) = corpus.programs
    assert program.objects == ("lz4/_driver/driver_lz4.c",)
    assert set(program.modules) == set(corpus.units)
    unit = corpus.units["lz4/lz4libs/lz4.c"]
    assert (unit.level, unit.relocation_model) == ("Oz", "pic")
    words = [*unit.arguments, "-x", "ir", str(unit.bitcode), "-o", str(tmp_path / "lz4.o")]
    stock.run("clang", *words)
    assert (tmp_path / "lz4.o").stat().st_size > 1000


def test_the_compilers_version_counts_before_its_folder(corpus: Corpus) -> None:
    units = {"b.c": replace(corpus.units["b.c"], arguments=("-resource-dir", "/usr/lib/clang/19"))}
    made = replace(corpus, units=units, programs=())
    made.write()
    assert list(Corpus.read(corpus.folder).units) == ["b.c"]
    replace(made, facts=CorpusFacts("GNU C 12")).write()
    with pytest.raises(InputError, match="got one of /usr/lib/clang/19; extract it again"):
        Corpus.read(corpus.folder)
    for folder in ("/usr/lib/clang/22", "/usr/lib/clang/22.1.8", "", "/"):
        units = {"b.c": replace(corpus.units["b.c"], arguments=("-resource-dir", folder))}
        replace(made, units=units, facts=CorpusFacts()).write()
        assert list(Corpus.read(corpus.folder).units) == ["b.c"]


@pytest.mark.parametrize("name", ["", "a/../b", "..", "a\\u0000b", "/"])
def test_names_that_lead_out_of_the_folder(corpus: Corpus, name: str) -> None:
    corpus.write()
    (corpus.folder / "corpus_description.json").write_text(f'{{"modules": ["b.c", "{name}"]}}')
    with pytest.raises(InputError, match="modules: expected names of files in the folder, got "):
        Corpus.read(corpus.folder)


def test_dots_in_names_are_no_way_out(corpus: Corpus) -> None:
    (corpus.folder / "x").mkdir(parents=True)
    (corpus.folder / "corpus_description.json").write_text('{"modules": ["a..b", "...", "x/..c"]}')
    assert list(Corpus.read(corpus.folder).units) == ["a..b", "...", "x/..c"]


def test_what_is_empty_is_not_written(corpus: Corpus) -> None:
    plain = {name: replace(unit, thinlto=None) for name, unit in corpus.units.items()}
    facts = replace(corpus.facts, origins={"b.c": UnitOrigin("12", source="/b.c")})
    replace(corpus, units=plain, programs=[replace(PROGRAM, directory="")], facts=facts).write()
    read = {path.name: json.loads(path.read_text()) for path in corpus.folder.glob("*.json")}
    assert read["corpus_description.json"] == {"modules": ["src/a.c", "b.c"], "has_thinlto": False}
    assert read["passpilot.json"]["modules"] == {"b.c": {"sha256": "12", "source": "/b.c"}}
    assert "directory" not in read["programs.json"]["programs"][0]
    assert (corpus.folder / "programs.json").read_bytes().endswith(b"\n")
    assert not list(corpus.folder.rglob("*.thinlto.bc"))
    again = Corpus.read(corpus.folder)
    assert again.units["b.c"].thinlto is None
    assert again.programs[0].directory == ""
    again.write()
    assert (corpus.folder / "b.c.bc").read_bytes() == b"b.c"


def test_arguments_in_a_file() -> None:
    for words in ((), ("a",), ("a", "", "b"), ("", "")):
        assert command_arguments(command_bytes(words)) == words
    assert command_arguments(b"a\0b") == ("a", "b")
    assert command_arguments(b"") == ()


def test_sections_are_asked_for_by_name(corpus: Corpus) -> None:
    unit = replace(corpus.units["b.c"], arguments=("-fdata-sections",))
    assert (unit.function_sections, unit.data_sections, unit.triple) == (False, True, "")


def test_the_modules_of_a_program_come_once() -> None:
    program = replace(PROGRAM, objects=("b", "a", "b"), libraries=(("a", "c"), ("d", "c")))
    assert program.modules == ("b", "a", "c", "d")


def test_a_folder_of_packages_is_one_corpus(corpus: Corpus, tmp_path: Path) -> None:
    local = replace(PROGRAM, foreign=(), directory="/build/source")
    for package in ("foo", "libbar"):
        replace(corpus, folder=tmp_path / package / "corpus", programs=(local,)).write()
    (tmp_path / "failed").mkdir()
    whole = Corpus.read(tmp_path)
    assert list(whole.units) == ["foo/src/a.c", "foo/b.c", "libbar/src/a.c", "libbar/b.c"]
    assert whole.units["libbar/b.c"].read() == b"b.c", "modules stay where they are"
    assert whole.units["foo/b.c"].name == "foo/b.c"
    assert [program.name for program in whole.programs] == ["foo:p", "libbar:p"]
    assert whole.programs[1].objects == ("libbar/src/a.c",)
    assert whole.programs[1].libraries == (("libbar/b.c",),)
    assert whole.programs[0].directory == str(tmp_path / "foo/corpus"), "the build's folder is not here"
    assert whole.facts.origins["foo/b.c"].sha256 == "12ab"
    assert whole.facts.duplicates == {"foo/c.c": "foo/b.c", "libbar/c.c": "libbar/b.c"}
    assert whole.facts.compiler == corpus.facts.compiler
    replace(whole, folder=tmp_path / "copy").write()
    assert list(Corpus.read(tmp_path / "copy").units) == list(whole.units)
