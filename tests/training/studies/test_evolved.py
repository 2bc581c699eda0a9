# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`train evolve --study`: trainings that are killed, and that begin with the best network of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from passpilot.plugin.errors import InputError
from passpilot.training.by_reward.evolve import evolve
from passpilot.training.studies.compile_cache import CompileCache
from passpilot.training.studies.evolved import NETWORK
from passpilot.training.studies.study_file import KeptStudy, existing, merge_studies
from tests.command import passpilot as command
from tests.training.studies.kills import killed_at
from tests.training.tuning.units import modules

FIRST = {"iterations": 2, "population": 4, "sample": 1, "sigma": 1.0, "learning_rate": 0.5, "checkpoint": 1}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evolved")
    modules(folder)
    settings: dict[str, Any] = {"modules": ["main.bc"], "validation": ["other.bc"], **FIRST}
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    (folder / "evolve.toml").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(autouse=True)
def shared_cache(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests here share compilations, which makes them short."""
    monkeypatch.setenv("PASSPILOT_CACHE", str(program / "cache"))


def study_in(path: Path) -> KeptStudy:
    (found,) = existing(str(path))
    return found


def settings(program: Path, **changes: object) -> dict[str, object]:
    paths = {"modules": [str(program / "main.bc")], "validation": [str(program / "other.bc")]}
    return {**paths, **FIRST, **changes}


def test_a_training_that_is_killed_at_any_trial_ends_with_an_equal_result(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSPILOT_CACHE", str(tmp_path / "cache"))
    words = ("train", "evolve", program / "evolve.toml", "--jobs=2")
    whole = command(*words, "--no-cache", "--study=whole.study", "-o", "whole", cwd=tmp_path)
    assert whole.code == 0, whole.err
    killed = (*words, "--study=killed.study", "--resume", "-o", "killed")
    for trials in (1, 2):
        killed_at(trials, "killed.study", *killed, cwd=tmp_path)
    assert CompileCache(str(tmp_path / "cache")).contents.files > 4
    done = command(*killed, cwd=tmp_path)
    assert done.code == 0, done.err
    for name in ("model.onnx", "curve.csv", "network.json"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    one, two = (study_in(tmp_path / f"{name}.study") for name in ("whole", "killed"))
    assert list(one.trials) == list(two.trials)
    assert [trial.facts["iteration"] for trial in one.trials.values()] == [0, 1, 2]
    assert one.best is not None
    assert NETWORK in one.best.facts


def test_trainings_begin_with_the_best_network_of_two_machines(program: Path, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("one", "two", "both")]
    for seed, path in enumerate(paths[:2]):
        evolve(settings(program, seed=seed), f"{path}.model", jobs=2, study=path)
    merge_studies(paths[:2], paths[2])
    one, two, both = (study_in(Path(path)) for path in paths)
    assert both.trials.keys() == one.trials.keys() | two.trials.keys()
    assert both.best is not None
    assert both.best.value == max(each.best.value for each in (one, two) if each.best)  # type: ignore[type-var]
    begun = settings(program, seed=7, start=paths[2], iterations=1)
    made = evolve(begun, str(tmp_path / "begun"), jobs=2, study=paths[2])
    assert made.others["at the start"]["validation"] == both.best.value
    assert (tmp_path / "begun/start/network.json").read_text() == both.best.facts[NETWORK]
    again = study_in(Path(paths[2]))
    assert len(again.trials) == len(both.trials) + 2
    # A training that goes on begins as it did, though the study has better networks by now.
    (tmp_path / "begun/checkpoint.npz").unlink()
    resumed = evolve(begun, str(tmp_path / "begun"), jobs=2, resume=True, study=paths[2])
    assert resumed.rewards == made.rewards
    assert len(study_in(Path(paths[2])).trials) == len(again.trials)


def test_the_cache_knows_networks_by_their_weights(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSPILOT_CACHE", str(tmp_path / "cache"))
    first = evolve(settings(program), str(tmp_path / "a"), jobs=2)
    assert first.compilations > 0
    again = evolve(settings(program), str(tmp_path / "b"), jobs=2)
    assert (again.compilations, again.rewards) == (0, first.rewards)
    other = evolve(settings(program, pipeline="default<O2>"), str(tmp_path / "c"), jobs=2)
    assert other.compilations > 5


def test_a_study_without_a_network_of_the_point_is_an_error(program: Path, tmp_path: Path) -> None:
    (tmp_path / "s").write_text('{"op_code":0,"study_name":"x","directions":[1],"worker_id":"w"}\n')
    with pytest.raises(InputError, match="s: expected a trial of inline, got none"):
        evolve(settings(program, start=str(tmp_path / "s")), str(tmp_path / "m"), jobs=2)
