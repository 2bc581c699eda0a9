# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where collected decisions come: parts, programs, names of files, counts and the description."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from passpilot.plugin.errors import Error, InputError
from passpilot.training.corpus.layout import Corpus, CorpusProgram, CorpusUnit
from passpilot.training.corpus.partition import SplitFile
from passpilot.training.data.collection import (
    Collected,
    CollectedProgram,
    collect,
    collect_flips,
    collect_logs,
    corpus_modules,
    gather_decisions,
    loose_modules,
    program_of,
    write_description,
)
from passpilot.training.data.flips import FlipSettings
from passpilot.training.data.gather import TaughtModule, Teaching, gather
from passpilot.training.data.normalization import FeatureStatistics
from passpilot.training.data.shards import DecisionSchema, DecisionShards, TextColumn
from tests.command import passpilot
from tests.training.calls import CALLS


@pytest.fixture
def modules(tmp_path: Path) -> list[TaughtModule]:
    """Two modules of the program `b c`, one of `a`, and one of `none` with nothing to decide."""
    made = []
    for program, name in (("a", "x"), ("b c", "y"), ("b c", "z"), ("none", "n")):
        path = tmp_path / f"{name}.ll"
        path.write_text(CALLS if program != "none" else "define void @f() {\n  ret void\n}\n")
        made.append(TaughtModule(program, f"{name}.c", str(path), "default<Oz>"))
    return made


def corpus_of(folder: Path) -> Corpus:
    units = {
        name: CorpusUnit(name, folder / f"{name}.bc", arguments)
        for name, arguments in (("a.c", ("-cc1", "-O3")), ("b.c", ()), ("lib/c.c", ("-cc1", "-Os")))
    }
    programs = [CorpusProgram("p", "c", "cc", ("a.c", "b.c")), CorpusProgram("q", "c", "cc", ("b.c", "a.c"))]
    return Corpus(folder, units, programs)


def test_modules_of_a_corpus_come_once_and_with_their_level(tmp_path: Path) -> None:
    corpus = corpus_of(tmp_path)
    found = [(each.program, each.name, each.pipeline) for each in corpus_modules(corpus, [], "")]
    levels = [("p", "a.c", "default<O3>"), ("p", "b.c", "default<Oz>"), ("lib", "lib/c.c", "default<Os>")]
    assert found == levels
    assert [(each.program, each.name) for each in corpus_modules(corpus, ["q"], "")] == [
        ("q", "b.c"),
        ("q", "a.c"),
    ]
    (alone,) = corpus_modules(corpus, ["lib"], "dce")
    assert (alone.path, alone.pipeline) == (str(tmp_path / "lib/c.c.bc"), "dce")
    said = "expected a program among p, q, lib, got x"
    with pytest.raises(InputError, match=said):
        corpus_modules(corpus, ["p", "x"], "")
    with pytest.raises(InputError, match=said):
        collect_flips(corpus, ["x"], FlipSettings(1), str(tmp_path / "o"), None, "train")
    with pytest.raises(InputError, match=r"expected decisions of modules, got none: lib: .* the link of lib"):
        collect_flips(corpus, ["lib"], FlipSettings(1), str(tmp_path / "o"), None, "train")


def test_loose_modules_stand_by_their_folders() -> None:
    found = loose_modules(["/z/b.bc", "/a/c.bc", "/z/a.bc", "/d.bc", "/z/../z/b.bc"], "")
    assert [(each.program, each.name, each.path) for each in found] == [
        ("a", "/a/c.bc", "/a/c.bc"),
        ("program", "/d.bc", "/d.bc"),
        ("z", "/z/b.bc", "/z/b.bc"),
        ("z", "/z/a.bc", "/z/a.bc"),
    ]
    assert {each.pipeline for each in found} == {"default<Oz>"}
    assert loose_modules(["a.bc"], "dce")[0].pipeline == "dce"
    assert program_of("a.bc") == Path.cwd().name


def test_every_program_has_a_shard_in_its_part(modules: list[TaughtModule], tmp_path: Path) -> None:
    steps = list[int]()
    split = SplitFile({}, {"test": ("b c",), "train": ("other",)})
    folder = tmp_path / "data"
    found = collect(modules, Teaching(), str(folder), split, "validation", lambda: steps.append(1))
    files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.parquet"))
    assert files == ["test/b_c.parquet", "validation/a.parquet"]
    assert len(steps) == 4
    assert {name: (each.part, each.modules, each.decisions) for name, each in found.programs.items()} == {
        "a": ("validation", 1, 2),
        "b c": ("test", 2, 4),
        "none": ("validation", 1, 0),
    }
    assert found.programs["b c"].teachers == {"default": 2}
    arrays = DecisionShards(folder / "test").arrays(["program", "module"])
    assert arrays["program"].tolist() == ["b c"] * 4
    assert arrays["module"].tolist() == ["y.c"] * 2 + ["z.c"] * 2
    sums = found.sums()
    assert [(each.part, each.modules, each.decisions) for each in sums.values()] == [
        ("validation", 2, 2),
        ("test", 2, 4),
    ]


def test_programs_without_a_part_are_left_out(modules: list[TaughtModule], tmp_path: Path) -> None:
    split = SplitFile({}, {"train": ("a",)})
    found = collect(modules, Teaching(), str(tmp_path / "data"), split, "")
    assert list(found.programs) == ["a"]
    with pytest.raises(InputError, match="expected decisions of modules, got none: the modules ask nothing"):
        collect(modules[3:], Teaching(), str(tmp_path / "none"), None, "train")
    assert not list((tmp_path / "none").rglob("*.parquet"))


def test_decisions_that_differ_from_the_compilers_are_counted(
    modules: list[TaughtModule], tmp_path: Path
) -> None:
    arrays = {}
    changed = {}
    for teacher in ("const:0", "const:1", "default"):
        folder = tmp_path / teacher
        found = collect(modules[:1], Teaching(teachers=(teacher,)), str(folder), None, "train")
        arrays[teacher] = DecisionShards(folder / "train").arrays()
        changed[teacher] = found.programs["a"].changed
    for teacher, each in arrays.items():
        assert changed[teacher] == int((each["inlining_default"] != each["inlining_decision"]).sum())
    assert changed["default"] == 0
    assert changed["const:0"] or changed["const:1"]


def test_the_sums_of_parts() -> None:
    programs = {
        "a": CollectedProgram("train", 1, 10, 2),
        "b": CollectedProgram("test", 3, 30, 4),
        "c": CollectedProgram("train", 5, 50, 6),
    }
    assert Collected(programs).sums() == {
        "train": CollectedProgram("train", 6, 60, 8),
        "test": CollectedProgram("test", 3, 30, 4),
    }


def test_a_description_says_all(tmp_path: Path) -> None:
    collected = Collected({"a": CollectedProgram("train", 1, 10, 2, {"default": 1})}, ["why"])
    write_description(str(tmp_path), collected, "the command", ["default", "const:0"])
    assert json.loads((tmp_path / "data.json").read_text()) == {
        "format": 1,
        "command": "the command",
        "teachers": ["default", "const:0"],
        "programs": {
            "a": {"part": "train", "modules": 1, "decisions": 10, "changed": 2, "teachers": {"default": 1}}
        },
        "left_out": ["why"],
    }


def test_logs_of_one_folder_are_one_program(modules: list[TaughtModule], tmp_path: Path) -> None:
    paths = []
    for name in ("two/b", "one/c", "two/a"):
        path = tmp_path / f"{name}.log"
        path.parent.mkdir(exist_ok=True)
        flags = ("-passes=default<Oz>", "--inline=const:0", f"--log={path}")
        assert passpilot("opt", modules[0].path, *flags, cwd=tmp_path).code == 0
        paths.append(str(path))
    found = collect_logs(paths, "inline", str(tmp_path / "data"), "test")
    assert {name: (each.part, each.modules, each.teachers) for name, each in found.programs.items()} == {
        "one": ("test", 1, {}),
        "two": ("test", 2, {}),
    }
    arrays = DecisionShards(tmp_path / "data" / "test" / "two.parquet").arrays(["module", "gain"])
    assert list(dict.fromkeys(arrays["module"])) == [paths[0], paths[2]]
    assert not arrays["gain"].any()


def test_a_folder_in_the_way_is_named(modules: list[TaughtModule], tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(InputError, match=r"data/train: expected a folder, got: "):
        collect(modules[:1], Teaching(), str(tmp_path / "data"), None, "train")


def test_an_error_names_its_module(modules: list[TaughtModule], tmp_path: Path) -> None:
    """The others come in their order."""
    gone = TaughtModule("b c", "gone.c", str(tmp_path / "gone.ll"), "")
    found = list(gather([*modules[:2], gone, modules[2]], Teaching()))
    assert [isinstance(each, Error) for each in found] == [False, False, True, False]
    assert str(found[2]) == f"gone.c: expected to read {gone.path}, got: No such file or directory"


@pytest.mark.parametrize("teachers", [("const:1", "const:0"), ("const:0", "const:1")])
def test_of_equal_teachers_the_first_one_is_taken(
    teachers: tuple[str, ...], modules: list[TaughtModule]
) -> None:
    (found,) = gather(modules[3:], Teaching(teachers=teachers))
    assert not isinstance(found, Error)
    assert found.teacher == teachers[0]
    assert list(found.sizes) == list(teachers)
    assert len({*found.sizes.values()}) == 1
    (alone,) = gather(modules[3:], Teaching(teachers=teachers[1:]))
    assert not isinstance(alone, Error)
    assert (alone.teacher, alone.sizes) == (teachers[1], {})


def test_parts_have_names(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="part: expected one of train, validation, test, got 'all'"):
        gather_decisions(["a.bc"], str(tmp_path / "data"), part="all")


def test_the_function_gathers_and_says_how_far_it_is(modules: list[TaughtModule], tmp_path: Path) -> None:
    steps = list[tuple[int, int]]()
    found = gather_decisions(
        [each.path for each in modules[:3]],
        str(tmp_path / "data"),
        teacher=["const:0"],
        callbacks=[lambda done, total: steps.append((done, total))],
    )
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert repr(found) == "Collected(1 program, 6 decisions)"
    assert str(found).startswith("train      1 program, 3 modules, 6 decisions, ")
    assert json.loads((tmp_path / "data" / "data.json").read_text())["teachers"] == ["const:0"]


def test_statistics_are_on_the_logarithmic_scale() -> None:
    rows = np.array([[0, -3, 7], [np.expm1(2), 1, 7]], np.float32)
    made = FeatureStatistics.of(("a", "b", "c"), [rows])
    b = np.array([-np.log(4), np.log(2)])
    assert made.mean == pytest.approx([1, b.mean(), np.log(8)], rel=1e-5)
    assert made.deviation == pytest.approx([1, b.std(), 1], rel=1e-5)
    assert made.to_json()["a"] == {"mean": pytest.approx(1), "deviation": pytest.approx(1)}
    assert list(made.to_json()) == ["a", "b", "c"]
    assert made.normalize(np.array([[0, -3, 1e30]], np.float32))[0].tolist() == pytest.approx([-1, -1, 10])
    assert made.normalize(np.array([[0, 0, -1e30]], np.float32))[0, 2] == -10
    empty = FeatureStatistics.of(("a",), [])
    assert (empty.mean.tolist(), empty.deviation.tolist()) == ([0], [1])


def test_columns_of_text() -> None:
    made = TextColumn.of(["b", "a", "b"])
    assert (list(made.words), made.codes.tolist()) == (["b", "a"], [0, 1, 0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": 2, "point": "p", "features": [], "advice": {}}', "format 2"),
        ('{"format": 1, "point": "p", "features": []}', "'advice'"),
        ('{"format": 1, "point": "p", "features": 1, "advice": {}}', "not iterable"),
        ('{"point": "p"}', "'format'"),
        ("[]", "indices must be"),
        ("{", "Expecting"),
    ],
)
def test_what_is_no_schema(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DecisionSchema.from_json(text)


def test_a_call_that_is_ended_goes_on_behind_its_programs(tmp_path: Path) -> None:
    paths = []
    for program in ("a", "b", "c"):
        (tmp_path / program).mkdir()
        (tmp_path / program / "m.ll").write_text(CALLS)
        paths.append(str(tmp_path / program / "m.ll"))
    whole = gather_decisions(paths, str(tmp_path / "whole"))

    def end(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    data = tmp_path / "data"
    with pytest.raises(KeyboardInterrupt):
        gather_decisions(paths, str(data), callbacks=[end])
    assert sorted(str(path.relative_to(data)) for path in data.rglob("*.*")) == [
        "train/a.parquet",
        "unfinished.json",
    ]
    with pytest.raises(
        InputError, match=r"got one that another call of train data has begun; repeat that call"
    ):
        gather_decisions(paths, str(data), teacher=["const:0"])
    refused = passpilot("train", "data", *paths, "--teacher=const:0", "-o", "data", cwd=tmp_path)
    assert (refused.code, "has begun; repeat that call to go on, or give --force" in refused.err) == (1, True)

    steps = list[tuple[int, int]]()
    found = gather_decisions(paths, str(data), callbacks=[lambda *step: steps.append(step)])
    assert steps == [(1, 2), (2, 2)], "a is not compiled again"
    assert found.programs == whole.programs
    for name in ("train/a.parquet", "train/b.parquet", "train/c.parquet", "data.json"):
        assert (data / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert not (data / "unfinished.json").exists()


def test_a_command_goes_on_and_force_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p/m.ll").write_text(CALLS)
    words = ("train", "data", "p/m.ll", "-o", "data")
    (tmp_path / "data").mkdir()
    for text in ("{", '{"arguments": {}}', "[]", "[" * 200_000):
        (tmp_path / "data/unfinished.json").write_text(text)
        assert "another call of train data has begun" in passpilot(*words, cwd=tmp_path).err
    done = passpilot(*words, "--force", cwd=tmp_path)
    assert done.code == 0, done.err
    assert not (tmp_path / "data/unfinished.json").exists()
    begun = {"arguments": Collected.begun(str(tmp_path / "new"), {"x": 1}).arguments, "programs": {}}
    (tmp_path / "data/unfinished.json").write_text(json.dumps(begun | {"left_out": []}))
    assert Collected.begun(str(tmp_path / "data"), {"x": 1}).programs == {}
