# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`passpilot.tune`: the same search as the command's, from Python."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import passpilot
from passpilot.cli.tune import make_parser
from passpilot.training.machines.local import machines
from passpilot.training.tuning.decision_file import read_decisions
from passpilot.training.tuning.study import Study, Trial
from tests.command import passpilot as command
from tests.training.evaluation.small import corpus as small_corpus
from tests.training.tuning.test_build import folder_with
from tests.training.tuning.units import modules


@pytest.fixture(scope="module")
def unit(corpus: Callable[[str, str], Path]) -> Path:
    """lz4's frame format, a unit that compiles in a tenth of a second."""
    return next(corpus("lz4", "Oz").parent.glob("*lz4frame*.bc"))


def test_what_the_command_is_not_given_is_as_in_the_function() -> None:
    values = make_parser().values(["IN", "-o", "OUT"])
    rows = {**inspect.signature(machines).parameters, **inspect.signature(passpilot.tune).parameters}
    defaults = {name: row.default for name, row in rows.items()}
    same = defaults.keys() & values.keys() - {"modules", "output", "search", "compiles"}
    assert {name: values[name] for name in same} == {name: defaults[name] for name in same}
    assert {"seed", "jobs", "reward", "engine"} <= same


def test_the_function_finds_what_the_command_finds(unit: Path, tmp_path: Path) -> None:
    flags = ("--compiles=10", "--jobs=2", "--seed=3", "--result=command.json", "-o", "command.decisions")
    done = command("tune", unit, *flags, cwd=tmp_path)
    assert done.code == 0, done.err
    result = passpilot.tune(unit, compiles=10, jobs=2, seed=3)
    result.save(str(tmp_path / "python.decisions"))
    assert (tmp_path / "python.decisions").read_bytes() == (tmp_path / "command.decisions").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {
        "command.decisions", "command.json", "python.decisions"
    }  # fmt: skip
    table = json.loads((tmp_path / "command.json").read_text())
    assert (result.start, result.best) == (table["start"], table["text"])
    assert result.best < result.start
    assert [(compiles, size) for compiles, _, size in result.curve] == [
        (compiles, size) for compiles, _, size in table["curve"]
    ]
    assert repr(result).partition(" compilations in ")[0] in done.err
    (decided,) = result.decisions
    (read,) = read_decisions(str(tmp_path / "python.decisions"))
    assert (decided.name, dict(decided.inline)) == (read.name, dict(read.inline))


def test_a_callback_sees_every_trial_and_may_stop(unit: Path) -> None:
    trials: list[Trial] = []
    best: list[float] = []

    def watch(study: Study, trial: Trial) -> None:
        trials.append(trial)
        best.append(study.best_value)
        if trial.number == 3:
            study.stop()

    result = passpilot.tune(passpilot.Module.read(unit), compiles=1000, jobs=1, callbacks=[watch])
    assert [trial.number for trial in trials[:4]] == [0, 1, 2, 3]
    assert result.compiles == trials[-1].compiles < 12, "after `stop` only what was found is joined"
    assert trials[0].value == best[0] == result.start
    assert min(trial.value for trial in trials if trial.value is not None) == result.best
    assert best == sorted(best, reverse=True)
    assert all(trial.seconds > 0 for trial in trials)


def test_what_was_compiled_before_an_error_is_kept(
    unit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSPILOT_CACHE", str(tmp_path / "cache"))
    found: list[int] = []

    def fail(_study: Study, trial: Trial) -> None:
        if trial.number == 2:
            raise ZeroDivisionError

    def note(study: Study, _trial: Trial) -> None:
        found.append(study.engine.found)

    with pytest.raises(ZeroDivisionError):
        passpilot.tune(unit, compiles=6, jobs=1, callbacks=[fail])
    passpilot.tune(unit, compiles=6, jobs=1, callbacks=[note])
    assert found[:3] == [1, 2, 3]
    before = found.copy()
    passpilot.tune(unit, compiles=6, jobs=1, no_cache=True, callbacks=[note])
    assert set(found[len(before) :]) == {0}


def test_several_modules_have_one_result(tmp_path: Path) -> None:
    paths = modules(tmp_path)
    output = tmp_path / "out.decisions"
    finished: list[str] = []
    result = passpilot.tune(
        paths, compiles=8, jobs=2, output=str(output), done=lambda each: finished.append(each.name)
    )
    assert finished == [str(path) for path in paths] == [each.name for each in result.programs]
    assert result.start == sum(each.start for each in result.programs)
    assert result.best == sum(each.best for each in result.programs) == result.curve[-1][2]
    assert result.curve[0][2] == result.start
    assert result.compiles == sum(each.compiles for each in result.programs)
    assert [each.name for each in read_decisions(str(output))] == [each.name for each in result.decisions]


def test_a_corpus_is_searched_by_programs(tmp_path: Path) -> None:
    folder = small_corpus(tmp_path)
    result = passpilot.tune(folder, program=["count"], compiles=4, jobs=2)
    assert (result.name, list(result.programs)) == ("count", [])
    assert len(result.decisions) == 2
    with pytest.raises(passpilot.errors.UsageError, match="expected one of count, shout, got none"):
        passpilot.tune(corpus=folder, program=["none"])


def test_a_build_is_recorded_and_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder_with(tmp_path))
    before = set(Path().iterdir())
    result = passpilot.tune(build=["make", "-s"], compiles=4, jobs=2)
    assert {unit.name for unit in result.decisions} == {"main.cpp", "other.cpp"}
    assert result.best <= result.start
    made = {path.name for path in set(Path().iterdir()) - before}
    assert made == {"demo", "main.o", "other.o", "libother.a"}, "nothing but what the build makes"


@pytest.mark.parametrize(
    ("sources", "keywords", "told"),
    [
        ((), {}, "expected modules, or --corpus=DIR, or -- and the command of a build"),
        (("a.bc",), {"build": ["make"]}, "expected modules, or --corpus=DIR, or -- and"),
        (("a.bc", "a.bc"), {}, "expected different modules, got a.bc, a.bc"),
        (("a.bc",), {"reward": "texts"}, "--reward: expected allocated, text"),
        (("a.bc",), {"reward": "run"}, "expected a program for 'run', got a module"),
        (("a.bc",), {"unseen": ["{}"]}, "--unseen: expected --reward=run beside it"),
        (("a.bc",), {"search": ["inlines"]}, "expected some of inline, pipeline"),
        (("a.bc",), {"lto": True}, "--lto: expected programs"),
        (("a.bc",), {"engine": "cloud"}, "--engine: expected local or ray, got 'cloud'"),
        (("a.bc",), {"address": "auto"}, "--address has no effect without --engine=ray"),
    ],
)
def test_wrong_arguments(sources: tuple[str, ...], keywords: dict[str, Any], told: str) -> None:
    with pytest.raises(passpilot.errors.UsageError) as caught:
        passpilot.tune(sources, **keywords)
    assert told in str(caught.value)


def test_what_cannot_be_read_or_compiled(tmp_path: Path) -> None:
    with pytest.raises(passpilot.errors.InputError, match=r"none\.bc: expected a module to read"):
        passpilot.tune(tmp_path / "none.bc")
    module = passpilot.Module(b"define void @f() {\n  ret void\n}\n")
    with pytest.raises(passpilot.Error, match="no-such-pass"):
        passpilot.tune(module, passes="no-such-pass", compiles=1)
    with pytest.raises(passpilot.errors.InputError, match="expected false to succeed, got exit code 1"):
        passpilot.tune(build=["false"])


def test_the_name_costs_nothing_until_it_is_used() -> None:
    code = (
        "import passpilot, sys; assert 'numpy' not in sys.modules; "
        "passpilot.tune; assert 'ray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
