# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`StudyFile`: what is written is read, by Optuna's rules; torn, damaged and foreign lines; the union."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.studies.study_file import (
    KeptTrial,
    StudyFile,
    best_fact,
    existing,
    is_study,
    merge_studies,
)
from tests.command import passpilot, refused

FACTS: Final = {"kind": "tune", "space": {"lever": ["start", "inline"], "sigma": {"low": 1e-6, "log": True}}}


def trial(value: float | None, calls: int = 0, **facts: object) -> KeptTrial:
    return KeptTrial(value, {"lever": "inline", "calls": calls, "sigma": 0.5}, facts)


def written(path: Path, *trials: KeptTrial, name: str = "a") -> StudyFile:
    file = StudyFile(str(path))
    file.study(name, 1, FACTS)
    for each in trials:
        file.add(name, each)
    return file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    trials = [trial(12), trial(None, 3), trial(7.25, 4, decisions="x\udcff")]
    file = written(tmp_path / "s", *trials)
    assert file.begin("a", "run 1", lambda: "first") == "first"
    assert file.begin("a", "run 1", lambda: "second") == "first"
    file.end("a", "run 1")
    assert file.begin("a", "run 1", lambda: "third") == "third"
    for reader in (file, StudyFile(str(tmp_path / "s"))):
        (found,) = reader.read()
        assert list(found.trials.values()) == trials
        assert (found.name, found.direction, found.facts, found.runs) == ("a", 1, FACTS, {"run 1": "third"})
        assert found.best == trials[2]
    size = (tmp_path / "s").stat().st_size
    written(tmp_path / "s", *trials)
    assert (tmp_path / "s").stat().st_size == size, "a trial is there once"


def test_lines_are_those_of_optuna(tmp_path: Path) -> None:
    """The values that Optuna's own storage writes for such a trial."""
    written(tmp_path / "s", trial(12, 3), trial(None))
    lines: list[Any] = [json.loads(line) for line in (tmp_path / "s").read_text().splitlines()]
    assert {each["worker_id"] for each in lines} == {"passpilot"}
    assert [each["op_code"] for each in lines] == [0, 2, 2, 4, 4]
    assert lines[0]["directions"] == [1]
    assert [(each["state"], each["value"]) for each in lines[3:]] == [(1, 12), (3, None)]
    assert lines[3]["params"] == {"lever": 1, "calls": 3, "sigma": 0.5}
    distributions = {name: json.loads(text) for name, text in lines[3]["distributions"].items()}
    assert distributions["lever"] == {
        "name": "CategoricalDistribution",
        "attributes": {"choices": ["start", "inline"]},
    }
    assert distributions["calls"]["attributes"] == {"log": False, "step": 1, "low": 0, "high": 1 << 31}
    assert distributions["sigma"]["attributes"] == {"step": None, "low": 1e-6, "high": 1 << 31, "log": True}


def test_a_line_of_a_killed_process_is_none(tmp_path: Path) -> None:
    path = tmp_path / "s"
    written(path, trial(1), trial(2))
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    for end in (last + 1, last + 40, len(whole) - 1):
        path.write_bytes(whole[:end])
        (found,) = existing(str(path))
        assert [each.value for each in found.trials.values()] == [1]
        written(path, trial(3))
        (found,) = existing(str(path))
        assert [each.value for each in found.trials.values()] == [1, 3]


def test_a_study_of_a_killed_process_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    written(path, trial(1))
    whole = path.read_bytes()
    for count in range(4):
        path.write_bytes(b"".join(whole.splitlines(keepends=True)[:count]))
        written(path, trial(1))
        assert [(each.facts, len(each.trials)) for each in existing(str(path))] == [(FACTS, 1)]


def test_a_file_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    file = written(tmp_path / "s", trial(1), trial(2))
    written(tmp_path / "other", trial(3))
    merge_studies([str(tmp_path / "s"), str(tmp_path / "other")], str(tmp_path / "s"))
    file.add("a", trial(3))
    file.add("a", trial(4))
    (found,) = existing(str(tmp_path / "s"))
    assert [each.value for each in found.trials.values()] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("old", "new", "got"),
    [
        (b'"value":12', b'"value":11', "got a trial that was changed"),
        (b'"calls":3', b'"calls":4', "got a trial that was changed"),
        (b'"op_code":4,"study_id":0', b'"op_code":4,"study_id":7', "got another one"),
        (b'"op_code":4,"study_id":0', b'"op_code":4,"study_id":-1', "got another one"),
        (b'"params":{', b'"params":[{', "got other text"),
        (b'"value":12', b'"value":"12"', "got another one"),
        (b'"value":12', b'"value":NaN', "got other text"),
    ],
)
def test_a_damaged_line_is_an_error(old: bytes, new: bytes, got: str, tmp_path: Path) -> None:
    path = tmp_path / "s"
    written(path, trial(12, 3), trial(13))
    text = path.read_bytes()
    assert text.count(old) >= 1
    path.write_bytes(text.replace(old, new, 1))
    with pytest.raises(InputError, match=rf"s:4: expected a line of a study, {got}"):
        existing(str(path))
    before = path.read_bytes()
    with pytest.raises(InputError, match="s:4: expected a line of a study"):
        written(path, trial(14))
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["notes", "notes\n", "{}\n", "[1]\n", '{"op_code": "x"}\n', "\n"])
def test_another_file_stays_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "notes"
    path.write_text(text)
    assert not is_study(str(path)) or text.startswith('{"op')
    with pytest.raises(InputError, match="notes:1: expected a line of a study"):
        written(path, trial(1))
    assert path.read_text() == text
    os.mkfifo(tmp_path / "fifo")
    for name in ("fifo", "."):
        with pytest.raises(InputError, match=r"expected a (study|file to write), got"):
            written(tmp_path / name, trial(1))


def test_what_others_write_stays_and_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s"
    other = {"op_code": 0, "worker_id": "w", "study_name": "optuna's", "directions": [2]}
    more = {"op_code": 4, "worker_id": "w", "study_id": 0, "datetime_start": "2026-01-01T00:00:00"}
    last = {"op_code": 8, "worker_id": "w", "trial_id": 0, "user_attr": {"note": 1}}
    theirs = "".join(json.dumps(each) + "\n" for each in (other, more, last))
    path.write_text(theirs)
    written(path, trial(5))
    (found,) = existing(str(path))
    assert (found.name, len(found.trials)) == ("a", 1)
    assert path.read_text().startswith(theirs)
    with path.open("a") as file:
        file.write(json.dumps({"op_code": 1, "worker_id": "w", "study_id": 1}) + "\n")
    assert existing(str(path)) == []
    written(path, trial(6))
    assert [trial.value for each in existing(str(path)) for trial in each.trials.values()] == [6]


def test_the_union_of_files_has_all_trials_once(tmp_path: Path) -> None:
    shared = [trial(9, 1), trial(8, 2)]
    written(tmp_path / "a", *shared, trial(7, 3))
    written(tmp_path / "b", shared[0], trial(6, 4), trial(None, 5))
    written(tmp_path / "b", trial(1), name="another")
    paths = [str(tmp_path / name) for name in ("a", "b")]
    merged = merge_studies(paths, str(tmp_path / "both"))
    assert [(each.name, len(each.trials)) for each in merged] == [("a", 5), ("another", 1)]
    keys = {key for path in paths for study in existing(path) for key in study.trials}
    assert {key for study in existing(str(tmp_path / "both")) for key in study.trials} == keys
    merge_studies(reversed(paths), str(tmp_path / "other way"))
    both = (tmp_path / "both").read_bytes()
    assert (tmp_path / "other way").read_bytes() == both
    merge_studies([str(tmp_path / "both"), *paths], str(tmp_path / "both"))
    assert (tmp_path / "both").read_bytes() == both
    written(tmp_path / "both", trial(0.5))
    assert len(existing(str(tmp_path / "both"))[0].trials) == 6


def test_the_best_fact_is_of_the_own_study_or_of_the_last(tmp_path: Path) -> None:
    written(tmp_path / "s", trial(9, decisions="nine"), trial(8, decisions="eight"), trial(7), name="old")
    written(tmp_path / "s", trial(50, decisions="fifty"), name="new")
    path = str(tmp_path / "s")
    for own, found in (("old", "eight"), ("new", "fifty"), ("none", "fifty")):
        assert best_fact(path, {"kind": "tune"}, own, "decisions") == found
    assert best_fact(path, {"kind": "evolve"}, "old", "decisions") == ""


def test_processes_write_side_by_side(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom tests.training.studies.test_study_file import trial, written\n"
        "from pathlib import Path\n"
        "written(Path('s'), *[trial(1, number) for number in range(int(sys.argv[1]), int(sys.argv[1]) + 40)])"
    )
    root = str(Path(__file__).parents[3])
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(20 * number)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": root},
        )
        for number in range(3)
    ]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    (found,) = existing(str(tmp_path / "s"))
    assert sorted(each.parameters["calls"] for each in found.trials.values()) == list(range(80))


def test_the_command_shows_and_merges(tmp_path: Path) -> None:
    written(tmp_path / "a", trial(12), trial(9, 1))
    written(tmp_path / "b", trial(8, 2))
    shown = passpilot("study", "a", cwd=tmp_path)
    assert shown.out.decode() == "a: 2 trials, 12 -> 9, None\n"
    assert (
        passpilot("study", "a", "b", "-o", "c", cwd=tmp_path).out.decode() == "a: 3 trials, 12 -> 8, None\n"
    )
    assert "give --force to replace it" in refused("study", "a", "-o", "c", cwd=tmp_path)
    assert "none: expected the file of a study, which --study=FILE writes, got no such file" in refused(
        "study", "none", cwd=tmp_path
    )
    assert "study: -o: expected" in refused("study", "a", "b", cwd=tmp_path, code=2)
    heavy = "('numpy', 'passpilot.plugin._core')"
    loads = f"import sys, passpilot.cli.study; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert re.search(r"^  study +show", passpilot("--help", cwd=tmp_path).out.decode(), re.MULTILINE)
