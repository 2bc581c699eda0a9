# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`corpus split`: programs stay whole, families together, and the same seed gives the same parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.corpus.layout import Corpus, CorpusFacts, CorpusProgram, CorpusUnit, UnitOrigin
from passpilot.training.corpus.partition import PARTS, SplitFile, partition, programs_of
from tests.command import passpilot, refused


def corpus_of(folder: Path, *programs: tuple[str, ...]) -> Corpus:
    """A corpus of programs with a name and modules; every module has a file with its name in it."""
    names = list(dict.fromkeys(module for _, *modules in programs for module in modules))
    folder.mkdir()
    units = {}
    for name in names:
        path = folder / name.replace("/", "-")
        path.write_text(name)
        units[name] = CorpusUnit(name, path, ("-cc1", "-Oz"))
    origins = {name: UnitOrigin(f"hash of {name}") for name in names}
    facts = CorpusFacts(origins=origins, duplicates={f"other/{name}": name for name in names})
    made = [CorpusProgram(name, "c", "cc", tuple(modules)) for name, *modules in programs]
    return Corpus(folder / "corpus", units, made, facts)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Twenty programs; q0 and q1 share a module."""
    rows = [(f"p{number}", f"p{number}/a.c", f"p{number}/b.c") for number in range(18)]
    return corpus_of(tmp_path / "made", *rows, ("q0", "q/x.c", "q/y.c"), ("q1", "q/z.c", "q/x.c"))


def names(corpus: Corpus, seed: int, file: SplitFile | None = None) -> list[list[str]]:
    return [list(part.programs) for part in partition(corpus, seed, file=file)]


def test_the_parts_are_those_of_the_seed(corpus: Corpus) -> None:
    first = names(corpus, 1)
    assert names(corpus, 1) == first
    assert any(names(corpus, seed) != first for seed in range(2, 5))
    assert sorted(name for part in first for name in part) == sorted(each.name for each in corpus.programs)
    assert [len(part) for part in first] == pytest.approx([14, 3, 3], abs=1)


def test_programs_that_share_a_module_stay_together(corpus: Corpus) -> None:
    for seed in range(8):
        assert {"q0", "q1"} in [set(part) & {"q0", "q1"} for part in names(corpus, seed)]


def test_families_stay_together(corpus: Corpus) -> None:
    families = {"one": ("p1", "p2", "p3"), "two": ("p3", "q1"), "absent": ("x", "y")}
    together = {"p1", "p2", "p3", "q0", "q1"}
    for seed in range(8):
        parts = names(corpus, seed, SplitFile(families, {}))
        assert together in [set(part) & together for part in parts]


def test_parts_that_are_fixed_take_their_families_along(corpus: Corpus) -> None:
    file = SplitFile({"f": ("p1", "p2")}, {"test": ("p1", "q0"), "validation": ("p5",)})
    for seed in range(4):
        train, validation, test = names(corpus, seed, file)
        assert {"p1", "p2", "q0", "q1"} <= set(test)
        assert "p5" in validation
        assert len(train) >= 10
    wrong = SplitFile({"f": ("p1", "p2")}, {"test": ("p1",), "train": ("p2",)})
    with pytest.raises(InputError, match="expected a family in one part, got p1, p2 in test and train"):
        partition(corpus, 0, file=wrong)


def test_a_family_in_all_parts_is_an_error_of_ours(corpus: Corpus) -> None:
    parts = {"validation": ("p1",), "train": ("p2",), "test": ("p3",)}
    wrong = SplitFile({"f": ("p1", "p2", "p3")}, parts)
    with pytest.raises(InputError, match="got p1, p2, p3 in test and train and validation"):
        partition(corpus, 0, file=wrong)


def test_shares(corpus: Corpus) -> None:
    train, validation, test = partition(corpus, 0, (1.0, 0.0, 1.0))
    assert validation.programs == {}
    assert abs(len(train.programs) - len(test.programs)) <= 2


def test_three_programs_fill_three_parts(tmp_path: Path) -> None:
    small = corpus_of(tmp_path / "small", ("a", "a.c"), ("b", "b.c"), ("c", "c.c"))
    assert [len(part.programs) for part in partition(small, 0)] == [1, 1, 1]


def test_modules_without_a_program_belong_to_their_folder(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path / "made", ("p", "lib/a.c"))
    units = {name: CorpusUnit(name, Path(name), ()) for name in ("lib/a.c", "lib/b.c", "x.c", "p/y.c")}
    assert programs_of(Corpus(corpus.folder, units, corpus.programs)) == {
        "p": ("lib/a.c", "p/y.c"),
        "lib": ("lib/b.c",),
        "x.c": ("x.c",),
    }


def test_the_parts_are_corpora(corpus: Corpus, tmp_path: Path) -> None:
    corpus.write()
    (tmp_path / "f.toml").write_text('[families]\nf = ["p1", "p2"]\n[parts]\ntest = ["p1"]\n')
    done = passpilot(
        "corpus", "split", corpus.folder, "-o", "parts", "--split=f.toml", "--seed=3", cwd=tmp_path
    )
    assert done.code == 0
    assert done.err == ""
    parts = {name: Corpus.read(tmp_path / "parts" / name) for name in PARTS}
    lines = done.out.decode().splitlines()
    for line, (name, part) in zip(lines, parts.items(), strict=True):
        programs = [each.name for each in part.programs]
        assert line == f"{name:10} {len(part.units)} units: {', '.join(sorted(programs))}"
        assert {module for each in part.programs for module in each.modules} == set(part.units)
        assert set(part.facts.origins) == set(part.units)
        assert set(part.facts.duplicates) == {f"other/{each}" for each in part.units}
        for unit in part.units.values():
            assert unit.bitcode.read_text() == unit.name
            assert unit.arguments == ("-cc1", "-Oz")
    assert {"p1", "p2"} <= {each.name for each in parts["test"].programs}
    assert sum(len(part.units) for part in parts.values()) == len(corpus.units)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[families", "f.toml: expected TOML, got other text: "),
        ("[family]\n", "f.toml: expected keys among families, parts, got 'family'"),
        (
            "[families]\nf = 1\n",
            "f.toml: families: f: expected an array, got 1",
        ),
        ("[parts]\ntests = []\n", "f.toml: parts: expected train, validation, test, got 'tests'"),
        (
            '[parts]\ntest = ["a"]\ntrain = ["a"]\n',
            "f.toml: parts: expected every program once, got 'a' again",
        ),
        ('[families]\nf = ["p1", "zz"]\n', "f.toml: expected programs among "),
        ('[families]\nf = ["p1", "zz"]\n', ", got zz; remove these names from the file"),
        ('[parts]\ntrain = ["pp1"]\n', ", got pp1; did you mean 'p1' for 'pp1'?"),
        (None, "f.toml: expected a TOML file, got: No such file or directory"),
    ],
)
def test_a_wrong_file(corpus: Corpus, tmp_path: Path, text: str | None, said: str) -> None:
    corpus.write()
    if text is not None:
        (tmp_path / "f.toml").write_text(text)
    assert said in refused("corpus", "split", corpus.folder, "-o", "parts", "--split=f.toml", cwd=tmp_path)


@pytest.mark.parametrize(
    "text", ["families = 1", '[families]\nf = "ab"', '[families]\nf = ["a", 1]', "parts = []"]
)
def test_tables_have_arrays_of_names(text: str, tmp_path: Path) -> None:
    (tmp_path / "f.toml").write_text(text)
    with pytest.raises(
        InputError, match=r": (families|parts): (f: )?expected an? (object|array|string), got "
    ):
        SplitFile.read(str(tmp_path / "f.toml"))


def test_a_wrong_command_line(corpus: Corpus, tmp_path: Path) -> None:
    corpus.write()
    for shares in ("1,2", "a,b,c", "0,0,0", "-1,1,1", "nan,1,1"):
        line = refused(
            "corpus", "split", corpus.folder, "-o", "p", f"--shares={shares}", cwd=tmp_path, code=2
        )
        assert f"expected three numbers, got '{shares}'" in line
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "x").touch()
    line = refused("corpus", "split", corpus.folder, "-o", "there", cwd=tmp_path)
    assert "expected a new folder, got there, which has other files" in line


def test_a_package_stays_whole_and_its_name_stands_for_its_programs(tmp_path: Path) -> None:
    rows = [(f"p{number}:{name}", f"p{number}/{name}.c") for number in range(6) for name in "ab"]
    corpus = corpus_of(tmp_path / "made", *rows)
    for seed in range(4):
        for part in partition(corpus, seed):
            packages = [name.partition(":")[0] for name in part.programs]
            assert all(packages.count(package) == 2 for package in packages)
    (tmp_path / "s.toml").write_text('[parts]\ntest = ["p1", "p2:a"]\n')
    file = SplitFile.of(str(tmp_path / "s.toml"), programs_of(corpus))
    assert file.by_program() == {"p1:a": "test", "p1:b": "test", "p2:a": "test"}
    assert {"p1:a", "p1:b", "p2:a", "p2:b"} <= set(names(corpus, 0, file)[2])
    (tmp_path / "s.toml").write_text('[parts]\ntest = ["p9"]\n')
    with pytest.raises(InputError, match=r"expected programs among p0, p0:a, p0:b, .*, got p9"):
        SplitFile.of(str(tmp_path / "s.toml"), programs_of(corpus))
