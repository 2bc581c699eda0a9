# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`build_corpus`: duplicates, programs that lack a module, what is said of the others, and statistics."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.plugin.module import Module
from passpilot.training.corpus.builder import CorpusDraft, UnitDraft, build_corpus, check_new
from passpilot.training.corpus.from_bitcode import derived, draft_bitcode, draft_thinlto
from passpilot.training.corpus.inspection import ModuleFacts
from passpilot.training.corpus.layout import Corpus, CorpusFacts, CorpusProgram, UnitOrigin, clang_major
from passpilot.training.corpus.statistics import statistics_of

TRIPLE = "x86_64-pc-linux-gnu"
OURS = "Debian clang version 22.1.8"


def bitcode(
    folder: Path, text: str = "", *, ident: str = OURS, triple: str = TRIPLE, source: str = "s.c"
) -> bytes:
    """A module with a function that calls another one, and a text of its own."""
    path = folder / "module.ll"
    path.write_text(
        f'source_filename = "{source}"\n'
        + (f'target triple = "{triple}"\n' if triple else "")
        + "define void @f() {\n  call void @g()\n  ret void\n}\ndefine void @g() {\n  ret void\n}\n"
        + (f'!llvm.ident = !{{!0}}\n!0 = !{{!"{ident}"}}\n' if ident else "")
        + (f"@{text} = global i32 0\n" if text else "")
    )
    return Module.read(path).bitcode()


def unit(name: str, data: bytes, *arguments: str, index: bytes | None = None) -> UnitDraft:
    thinlto = None if index is None else (lambda: index)
    return UnitDraft(name, lambda: data, lambda _: ("-cc1", *arguments), UnitOrigin("", "c"), thinlto)


def test_equal_modules_are_one_if_they_are_compiled_alike(tmp_path: Path) -> None:
    same = bitcode(tmp_path)
    drafts = [
        unit("first", same, "-Oz"),
        unit("other", bitcode(tmp_path, "x"), "-Oz"),
        unit("again", same, "-Oz", "-DX"),
        unit("level", same, "-Os"),
        unit("model", same, "-Oz", "-mrelocation-model", "static"),
        unit("functions", same, "-Oz", "-ffunction-sections"),
        unit("data", same, "-Oz", "-fdata-sections"),
        unit("index", same, "-Oz", index=b"one"),
        unit("indices", same, "-Oz", index=b"two"),
        unit("alike", same, "-Oz", index=b"one"),
    ]
    programs = [
        CorpusProgram("p", "c", "cc", ("again", "level"), (("alike", "other"),)),
        CorpusProgram("q", "c", "cc", ("first", "again")),
    ]
    corpus = build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts, programs)).corpus
    assert list(corpus.units) == [each.name for each in drafts if each.name not in ("again", "alike")]
    assert corpus.facts.duplicates == {"again": "first", "alike": "index"}
    assert set(corpus.facts.origins) == set(corpus.units)
    assert corpus.facts.origins["first"].language == "c"
    assert not (corpus.folder / "again.bc").exists()
    assert [each.objects for each in corpus.programs] == [("first", "level"), ("first", "first")]
    assert corpus.programs[0].libraries == (("index", "other"),)
    thinlto = corpus.units["indices"].thinlto
    assert thinlto
    assert thinlto.read_bytes() == b"two"
    assert (corpus.units["first"].thinlto, corpus.units["first"].arguments) == (None, ("-cc1", "-Oz"))


def test_a_program_that_lacks_a_module_is_left_out(tmp_path: Path) -> None:
    drafts = [unit("good", bitcode(tmp_path)), unit("bad", b"nonsense"), unit("worse", b"")]
    programs = [
        CorpusProgram("whole", "c", "cc", ("good",)),
        CorpusProgram("lacks", "c", "cc", ("good", "bad")),
        CorpusProgram("too", "c", "cc", ("good",), (("worse",),)),
    ]
    built = build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts, programs, ["first"]))
    lost = "expected all its modules, got some that were left out; it is left out, too"
    assert built.problems == [
        "first",
        "bad: expected bitcode, got other data",
        "worse: expected bitcode, got nothing",
        f"program lacks: {lost}",
        f"program too: {lost}",
    ]
    assert [each.name for each in built.corpus.programs] == ["whole"]


def test_modules_of_others_are_refused_together(tmp_path: Path) -> None:
    """The target is what most modules of our own clang have."""
    arm = "aarch64-unknown-linux-gnu"
    rows = {
        "old": bitcode(tmp_path, ident="clang version 19.1.0", triple=arm),
        "older": bitcode(tmp_path, "x", ident="clang version 19.1.0", triple=arm),
        "oldest": bitcode(tmp_path, "y", ident="clang version 3.9", triple=arm),
        "ours": bitcode(tmp_path),
        "gcc": bitcode(tmp_path, ident="GNU C 12"),
        "silent": bitcode(tmp_path, ident=""),
        "arm": bitcode(tmp_path, triple=arm),
        "none": bitcode(tmp_path, triple=""),
    }
    drafts = [unit(name, data) for name, data in rows.items()]
    built = build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts))
    assert built.problems == [
        "old and 1 more: expected bitcode of clang 22, got clang version 19.1.0",
        "oldest: expected bitcode of clang 22, got clang version 3.9",
        f"arm: expected a module for {TRIPLE} as most are, got one for {arm}",
        f"none: expected a module for {TRIPLE} as most are, got one for no target",
    ]
    assert list(built.corpus.units) == ["ours", "gcc", "silent"]
    assert (built.corpus.facts.compiler, built.corpus.facts.target) == (OURS, TRIPLE)


def test_the_compiler_is_that_of_most_modules(tmp_path: Path) -> None:
    idents = ["clang version 22.1.0", OURS, OURS, "", "", ""]
    drafts = [unit(f"{at}", bitcode(tmp_path, f"x{at}", ident=each)) for at, each in enumerate(idents)]
    assert build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts)).corpus.facts.compiler == OURS
    assert build_corpus(str(tmp_path / "one"), CorpusDraft(drafts[3:])).corpus.facts.compiler == ""


def test_only_wanted_units_come_in(tmp_path: Path) -> None:
    drafts = [unit(name, bitcode(tmp_path, name), flag) for name, flag in (("a", "-Oz"), ("b", "-Os"))]
    files = {"deep/more.txt": b"more"}
    draft = CorpusDraft(drafts, override=("-cc1", "-O1"), files=files)
    built = build_corpus(str(tmp_path / "corpus"), draft, lambda arguments: "-Os" in arguments)
    assert [each.arguments for each in built.corpus.units.values()] == [("-cc1", "-O1")]
    assert list(built.corpus.units) == ["b"]
    assert (tmp_path / "corpus" / "deep" / "more.txt").read_bytes() == b"more"
    assert sorted(os.listdir(tmp_path)) == ["corpus", "module.ll"]


def test_with_an_override_the_own_arguments_make_no_difference(tmp_path: Path) -> None:
    drafts = [unit(level, bitcode(tmp_path), f"-{level}") for level in ("Oz", "O3")]
    built = build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts, override=("-cc1", "-O1")))
    assert built.corpus.facts.duplicates == {"O3": "Oz"}


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, ""),
        (1, "; u0: expected bitcode, got nothing"),
        (3, "; u0: expected bitcode, got nothing (and 2 more)"),
    ],
)
def test_nothing_to_build(count: int, said: str, tmp_path: Path) -> None:
    drafts = [unit(f"u{number}", b"") for number in range(count)]
    with pytest.raises(InputError) as caught:
        build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts))
    assert str(caught.value) == f"corpus {tmp_path}/corpus: expected at least one unit, got none{said}"
    assert not list(tmp_path.iterdir())


def test_a_folder_must_be_new(tmp_path: Path) -> None:
    check_new(str(tmp_path / "none"))
    (tmp_path / "there").mkdir()
    check_new(str(tmp_path / "there"))
    for name, got in (("x", "one with files in it"), ("corpus_description.json", "a corpus")):
        (tmp_path / "there" / name).touch()
        with pytest.raises(InputError) as caught:
            check_new(str(tmp_path / "there"))
        expected = f"expected a new folder, got {got}; remove it, or choose another"
        assert str(caught.value) == f"{tmp_path}/there: {expected}"


def test_what_is_half_written_is_removed(tmp_path: Path) -> None:
    """An index is read only when the modules before it are written."""

    def fails() -> bytes:
        raise OSError(5, "Input/output error")

    drafts = [unit("a", bitcode(tmp_path)), replace(unit("b", bitcode(tmp_path, "x")), thinlto=fails)]
    with pytest.raises(InputError, match=r"corpus: expected to write a corpus, got: Input/output error"):
        build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts))
    assert os.listdir(tmp_path) == ["module.ll"]


def test_derived_arguments_suit_the_module() -> None:
    def of(*, minsize: bool = False, optsize: bool = False, is_pic: bool = False) -> tuple[str, ...]:
        return derived(ModuleFacts("t", "", "", 1, 0, minsize=minsize, optsize=optsize, is_pic=is_pic))

    assert of() == ("-cc1", "-triple", "t", "-O2", "-emit-obj", "-mrelocation-model", "static")
    assert of(is_pic=True)[-1] == "pic"
    assert of(optsize=True)[3] == "-Os"
    assert of(optsize=True, minsize=True)[3] == "-Oz"


def test_plain_bitcode_with_arguments_and_an_index(tmp_path: Path) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("a.bc", "deep/b.c.bc", "a.thinlto.bc", "c.txt"):
        (tmp_path / "in" / name).write_bytes(name.encode())
    (tmp_path / "in" / "deep" / "b.c.cmd").write_bytes(b"-cc1\0-Os")
    first, second = draft_bitcode(str(tmp_path / "in"), None).units
    facts = ModuleFacts("t", "", "", 1, 0, minsize=False, optsize=False, is_pic=True)
    assert (first.name, second.name) == ("a", "deep/b.c")
    assert (first.arguments(facts), second.arguments(facts)) == (derived(facts), ("-cc1", "-Os"))
    assert first.thinlto
    assert (first.thinlto(), second.thinlto) == (b"a.thinlto.bc", None)
    assert draft_bitcode(str(tmp_path / "in"), ("x",)).override == ("x",)


def test_what_lld_has_left_needs_its_index(tmp_path: Path) -> None:
    for name in ("a.o.3.import.bc", "a.o.thinlto.bc", "d/b.o.3.import.bc", "c.o.1.promote.bc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    made = draft_thinlto(str(tmp_path), ("x",))
    (only,) = made.units
    assert only.thinlto
    assert (only.name, only.bitcode(), only.thinlto()) == ("a.o", b"a.o.3.import.bc", b"a.o.thinlto.bc")
    assert made.override == ("x",)
    assert made.problems == [
        "d/b.o: expected its index, b.o.thinlto.bc, beside b.o.3.import.bc, got none; "
        "link with -Wl,--thinlto-emit-index-files"
    ]


def test_the_version_of_a_compiler() -> None:
    versions = {
        "Debian clang version 22.1.8": "22",
        "clang version 19.0.0git (x)": "19",
        "Apple clang version 15.0.0 (clang-1500)": "15",
        "clang version": "",
        "GNU C17 12.2.0 version 3": "",
        "clang 22.1.8": "",
        "": "",
    }
    assert {text: clang_major(text) for text in versions} == versions


def test_statistics_count_by_program_and_in_all(tmp_path: Path) -> None:
    """A unit of two programs counts in both, and once in all."""
    sources = {"a": "a.cpp", "b": "b.cc", "c": "c.c", "d": "d.f90", "e": "noend"}
    drafts = [
        replace(unit(name, bitcode(tmp_path, name, source=source), "-Oz"), origin=UnitOrigin(""))
        for name, source in sources.items()
    ]
    drafts[1] = replace(drafts[1], arguments=lambda _: ("-cc1", "-O2"))
    drafts[4] = replace(drafts[4], origin=UnitOrigin("", "c++"))
    programs = [
        CorpusProgram("p", "c", "cc", ("b", "a")),
        CorpusProgram("q", "c", "cc", ("c", "a", "d", "e")),
    ]
    corpus = build_corpus(str(tmp_path / "corpus"), CorpusDraft(drafts, programs)).corpus
    found = statistics_of(corpus)
    one, other = found.rows
    assert (one.name, one.languages, one.levels, one.units) == ("p", ("c++",), ("O2", "Oz"), 2)
    assert (other.languages, other.levels, other.units) == (("c", "c++", "other"), ("Oz",), 4)
    assert (other.functions, other.calls) == (8, 4)
    assert (found.total.name, found.total.units, found.total.functions) == ("all", 5, 10)
    sizes = {name: each.bitcode.stat().st_size for name, each in corpus.units.items()}
    assert (one.bitcode, found.total.bitcode) == (sizes["a"] + sizes["b"], sum(sizes.values()))
    assert (found.compiler, found.target, found.problems) == (OURS, TRIPLE, ())
    corpus.units["a"].bitcode.write_bytes(b"")
    bare = replace(corpus, facts=CorpusFacts(duplicates={"x": "a", "y": "a"}))
    broken = statistics_of(bare)
    assert broken.problems == ("a: expected bitcode, got nothing",)
    assert (broken.rows[0].units, broken.total.units, broken.duplicates) == (1, 4, 2)
    assert (broken.compiler, broken.target) == (OURS, TRIPLE)
    told = statistics_of(replace(corpus, facts=CorpusFacts("theirs", "there")))
    assert (told.compiler, told.target) == ("theirs", "there")
    empty = statistics_of(Corpus(tmp_path, {}))
    assert (empty.rows, empty.compiler, empty.target) == ((), "unknown", "unknown")
