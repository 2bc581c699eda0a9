# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot tune --study`: searches that are killed, that begin with another study, and that go on."""

from __future__ import annotations

from pathlib import Path

import pytest

import passpilot
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.training.studies.study_file import KeptStudy, StudyFile, existing, merge_studies
from passpilot.training.studies.tuned import DECISIONS
from passpilot.training.tuning.study import Study, Trial
from tests.command import passpilot as command
from tests.command import refused
from tests.passes.mlir.schedule.kernels import MATMUL
from tests.training.studies.kills import killed_at
from tests.training.tuning.units import modules


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    main, _ = modules(tmp_path_factory.mktemp("program"))
    return main


@pytest.fixture(autouse=True)
def shared_cache(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests here share compilations, which makes them short."""
    monkeypatch.setenv("PASSPILOT_CACHE", str(program.parent / "cache"))


def study_in(path: Path) -> KeptStudy:
    (found,) = existing(str(path))
    return found


def test_a_search_that_is_killed_at_any_trial_ends_with_an_equal_result(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("tune", program, "--compiles=16", "--jobs=2", "--study=s", "--result=r.json")
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PASSPILOT_CACHE", str(tmp_path / "whole" / "cache"))
    assert command(*words, "-o", "d", cwd=tmp_path / "whole").code == 0
    whole = study_in(tmp_path / "whole" / "s")

    folder = tmp_path / "killed"
    monkeypatch.setenv("PASSPILOT_CACHE", str(folder / "cache"))
    for trials in (1, 5, 9):
        killed_at(trials, "s", *words, "-o", "d", cwd=folder)
    done = command(*words, "-o", "d", cwd=folder)
    assert " compilations were in the cache" in done.err
    assert (folder / "d").read_bytes() == (tmp_path / "whole" / "d").read_bytes()
    again = study_in(folder / "s")
    assert list(again.trials) == list(whole.trials)
    assert again.best is not None
    assert whole.best is not None
    assert again.best.facts == whole.best.facts
    assert len(whole.trials) > 9


def test_two_machines_share_their_work(program: Path, tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("one", "two", "both")]
    for seed, path in enumerate(paths[:2]):
        passpilot.tune(program, compiles=16, jobs=2, seed=seed, study=path)
    one, two = (set(study_in(Path(path)).trials) for path in paths[:2])
    assert one != two
    assert one & two, "the first trials are the same"
    merge_studies(paths[:2], paths[2])
    merged = study_in(Path(paths[2]))
    assert set(merged.trials) == one | two
    best = merged.best
    assert best is not None
    trials: list[float | None] = []

    def note(_study: Study, trial: Trial) -> None:
        trials.append(trial.value)

    result = passpilot.tune(program, compiles=16, jobs=2, update=paths[2], study=paths[2], callbacks=[note])
    assert trials[1] == best.value, "the best of both comes first"
    assert result.best <= (best.value or 0)
    assert set(study_in(Path(paths[2])).trials) > one | two


def test_a_search_goes_on_as_it_began(program: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    passpilot.tune(program, compiles=8, jobs=2, study=path)

    def fail(_study: Study, trial: Trial) -> None:
        if trial.number == 6:
            raise ZeroDivisionError

    passpilot.tune(program, compiles=12, jobs=2, seed=1, update=path, study=str(tmp_path / "whole"))
    with pytest.raises(ZeroDivisionError):
        passpilot.tune(program, compiles=12, jobs=2, seed=1, update=path, study=path, callbacks=[fail])
    passpilot.tune(program, compiles=12, jobs=2, seed=5, study=path)  # perhaps better ones
    result = passpilot.tune(program, compiles=12, jobs=2, seed=1, update=path, study=path)
    alone = set(study_in(tmp_path / "whole").trials)
    assert alone <= set(study_in(Path(path)).trials)
    assert result.best == min(study_in(tmp_path / "whole").trials[key].value or 0 for key in alone)
    known = study_in(Path(path)).best
    values: list[float | None] = []
    begun = passpilot.tune(
        program, compiles=12, jobs=2, seed=1, update=path, study=path,
        callbacks=[lambda _, trial: values.append(trial.value)],
    )  # fmt: skip
    assert known is not None
    assert values[1] == known.value, "a search that has ended begins anew, with the best by now"
    assert begun.best <= (known.value or 0)


def test_the_decisions_of_another_source_are_a_start(program: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    first = passpilot.tune(program, compiles=14, jobs=2, study=path)
    values: list[float | None] = []
    changed = tmp_path / program.name
    text = str(passpilot.Module.read(program)).replace(" 17", " 19")
    changed.with_suffix(".ll").write_text(text)
    changed = changed.with_suffix(".ll").rename(tmp_path / program.name)
    passpilot.tune(
        str(changed),
        compiles=3,
        jobs=1,
        update=path,
        callbacks=[lambda _, trial: values.append(trial.value)],
    )
    assert values[1] is not None
    assert values[0] is not None
    assert abs(values[1] - first.best) < first.start - first.best


def test_a_study_of_other_programs_is_said_to_be_one(program: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    StudyFile(path).study("b.bc", 1, {"kind": "tune", "program": "b.bc", "reward": "allocated"})
    with pytest.warns(PasspilotWarning, match="s has no trial of main.bc for allocated; the search"):
        passpilot.tune(program, compiles=2, update=path)


def test_decisions_that_are_not_permitted_are_refused(program: Path, tmp_path: Path) -> None:
    path = tmp_path / "s"
    passpilot.tune(program, compiles=4, study=str(path))
    (study,) = existing(str(path))
    evil = StudyFile(str(tmp_path / "evil"))
    evil.study(study.name, study.direction, study.facts)
    trial = next(iter(study.trials.values()))
    text = "passpilot decisions 1\n\nunit main.cpp\noption load=/tmp/evil.so\n"
    evil.add(study.name, type(trial)(1.0, trial.parameters, {DECISIONS: text}))
    with pytest.raises(InputError, match="evil: expected decisions, got: "):
        passpilot.tune(program, compiles=2, update=evil.path)


def test_the_study_is_no_other_output(program: Path, tmp_path: Path) -> None:
    told = refused("tune", program, "--study=./d", "-o", "d", cwd=tmp_path, code=2)
    assert "--study: expected a file of its own, got ./d, which -o writes" in told
    told = refused("tune", program, f"--study={program}", "-o", "d", cwd=tmp_path)
    assert f"{program}:1: expected a line of a study" in told


def test_a_kernel_has_no_study(tmp_path: Path) -> None:
    (tmp_path / "k.mlir").write_text(MATMUL)
    told = refused("tune", "k.mlir", "--study=s", "-o", "k.decisions", cwd=tmp_path, code=2)
    assert "--study: expected modules of LLVM beside it, got the kernel k.mlir" in told
    assert not (tmp_path / "s").exists()
