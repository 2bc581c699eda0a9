# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decisions of teachers: one, a decision file, the best of several; what cannot be compiled is left out."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from passpilot.cli.train import main
from passpilot.plugin.errors import Error, InputError
from passpilot.plugin.module import Module
from passpilot.training.corpus.layout import Corpus
from passpilot.training.corpus.partition import PARTS
from passpilot.training.data.collection import collect, loose_modules, write_description
from passpilot.training.data.gather import Teaching
from passpilot.training.data.shards import DecisionShards
from passpilot.training.tuning.decision_file import CallKey, UnitDecisions, write_decisions
from tests.command import passpilot, refused
from tests.training.evaluation.small import corpus
from tests.training.shards import gathered


def test_the_decisions_of_a_file_are_labels(program: Path, tmp_path: Path) -> None:
    before = DecisionShards(gathered([program], tmp_path / "llvm")).arrays()
    default = before["inlining_default"].reshape(-1)
    assert np.array_equal(before["inlining_decision"].reshape(-1), default)
    row = int(np.flatnonzero(default)[-1])  # the last one that LLVM inlines: nothing before it changes
    counts = Counter(zip(before["caller"][: row + 1], before["callee"][: row + 1], strict=True))
    pair = before["caller"][row], before["callee"][row]
    call = CallKey(*pair, counts[pair])
    unit = UnitDecisions(Module.read(program).source_file, {call: False}, gains={call: 12})
    folder = program.parent.name
    write_decisions(str(tmp_path / f"{folder}.decisions"), [unit])
    teacher = f"decisions:{tmp_path}/{{program}}.decisions"
    after = DecisionShards(gathered([program], tmp_path / "tuned", teacher)).arrays()
    changed = np.flatnonzero(after["inlining_default"] != after["inlining_decision"])
    assert row in changed
    assert (after["caller"][row], after["callee"][row], after["gain"][row]) == (*pair, 12)
    assert after["gain"].sum() == 12


def test_the_best_teacher_of_a_module_is_kept(program: Path, tmp_path: Path) -> None:
    modules = loose_modules([str(program)], "")
    teaching = Teaching(teachers=("const:0", "default", "const:1"))
    found = collect(modules, teaching, str(tmp_path / "best"), None, "train")
    (told,) = found.programs.values()
    assert sum(told.teachers.values()) == 1
    best = DecisionShards(tmp_path / "best" / "train").arrays(["inlining_decision"])["inlining_decision"]
    (teacher,) = told.teachers
    alone = DecisionShards(gathered([program], tmp_path / "alone", teacher)).arrays(["inlining_decision"])
    assert np.array_equal(best, alone["inlining_decision"])
    assert teacher != "const:1"  # which inlines large functions several times


def test_what_cannot_be_compiled_is_left_out(program: Path, tmp_path: Path) -> None:
    broken = tmp_path / "bad" / "in.ll"
    broken.parent.mkdir()
    broken.write_text("nonsense")
    modules = loose_modules([str(program), str(broken)], "")
    found = collect(modules, Teaching(), str(tmp_path / "data"), None, "train")
    assert len(found.programs) == 1
    (problem,) = found.problems
    assert str(broken) in problem
    with pytest.raises(InputError, match="expected decisions of modules, got none: "):
        collect(loose_modules([str(broken)], ""), Teaching(), str(tmp_path / "none"), None, "train")
    write_description(str(tmp_path / "data"), found, "command", ["default"])
    assert json.loads((tmp_path / "data" / "data.json").read_text())["left_out"] == [problem]


def test_the_command_gathers_logs(program: Path, tmp_path: Path) -> None:
    done = passpilot("opt", program, "-passes=default<Oz>", "--inline=const:0", "--log=a.log", cwd=tmp_path)
    assert done.code == 0, done.err
    done = passpilot("train", "data", "a.log", "--part=validation", "-o", "data", cwd=tmp_path)
    assert done.code == 0, done.err
    shards = DecisionShards(tmp_path / "data" / "validation")
    assert f"validation 1 program, 1 module, {len(shards)} decisions" in done.out.decode()
    assert not shards.arrays(["inlining_decision"])["inlining_decision"].any()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "give modules, logs or --corpus=DIR, one of them"),
        (("in.bc", "--at=x"), "--at: expected POINT=PIPELINE"),
        (("in.bc", "--part=all"), "expected one of train"),
        (("in.bc", "--point=x"), "expected one of inline"),
        (("in.bc", "--split=none.toml"), "expected modules, got in.bc: No such file"),
        (("in.bc", "a.log"), "give logs or modules, not both"),
        (("in.bc", "--program=a"), "--program works only with --corpus"),
        (("in.bc", "--lto"), "--lto works only with --flips"),
    ],
)
def test_wrong_command_lines_are_refused(arguments: tuple[str, ...], error: str, tmp_path: Path) -> None:
    with pytest.raises(Error) as caught:
        main(["data", *arguments, "-o", str(tmp_path / "x")])
    assert error in str(caught.value)
    assert not (tmp_path / "x").exists()


def test_packages_are_taught_as_one_corpus_and_split_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    made = corpus(tmp_path / "made")
    for package in ("foo", "bar"):
        shutil.copytree(made, tmp_path / "packages" / package / "corpus")
    (tmp_path / "s.toml").write_text('[parts]\ntrain = ["foo"]\ntest = ["bar:count"]\n')
    words = ("--corpus=packages", "--split=s.toml", "-o", "data")
    done = passpilot("train", "data", *words, cwd=tmp_path)
    assert done.code == 0, done.err
    known = {program.name for program in Corpus.read(made).programs}
    parts = {part: {path.stem for path in (tmp_path / "data" / part).glob("*.parquet")} for part in PARTS}
    assert parts == {"train": {f"foo_{name}" for name in known}, "validation": set(), "test": {"bar_count"}}


def test_a_folder_with_files_is_refused(program: Path, tmp_path: Path) -> None:
    said = refused("train", "data", program, "-o", program.parent, cwd=tmp_path)
    assert "expected a new folder" in said
