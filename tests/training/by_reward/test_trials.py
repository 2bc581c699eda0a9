# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Trials`: what policies are worth, the compilations that takes, and modules that cannot be tried."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from passpilot.plugin.errors import Error, InputError
from passpilot.training.by_reward.evolution import Antithetic, Covariance, centred_ranks
from passpilot.training.by_reward.evolve import EvolutionRun
from passpilot.training.by_reward.settings import EvolveSettings
from passpilot.training.by_reward.training import modules_of, watched_reward
from passpilot.training.by_reward.trials import FAILED, TrialModule, Trials
from passpilot.training.data.shards import DecisionShards
from passpilot.training.machines.local import Machines
from tests.training.calls import CALLS

SMALLER = CALLS.replace("mul i32 %x, 3", "xor i32 %x, 12345").replace("@caller", "@other")


@pytest.fixture
def modules(tmp_path: Path) -> list[TrialModule]:
    """Two modules in which other decisions are worth different shares."""
    made = []
    for name, text in (("a", CALLS), ("b", SMALLER)):
        (tmp_path / f"{name}.ll").write_text(text)
        made.append(TrialModule.read(str(tmp_path / f"{name}.ll"), "default<Oz>"))
    return made


def test_a_policy_is_worth_the_mean_of_its_gains(modules: list[TrialModule]) -> None:
    trials = Trials("inline", machines=Machines(1))
    steps = list[int]()
    found = trials.rewards(["const:0", "default"], modules, lambda: steps.append(1))
    assert (len(steps), trials.compilations) == (6, 6)
    measured = trials.measure([(None, each) for each in modules], lambda: None)
    others = trials.measure([("const:0", each) for each in modules], lambda: None)
    gains = []
    for own, other in zip(measured, others, strict=True):
        assert not isinstance(own, Error)
        assert not isinstance(other, Error)
        gains.append((own - other) / own)
    assert gains[0] != gains[1]
    assert found == [pytest.approx(sum(gains) / 2), 0]
    assert trials.compilations == 10


def test_the_compilers_own_decisions_are_measured_once(modules: list[TrialModule]) -> None:
    trials = Trials("inline", machines=Machines(1))
    trials.rewards(["default"], modules[:1])
    assert trials.compilations == 2
    trials.rewards(["default", "const:0"], modules)
    assert trials.compilations == 2 + 1 + 4


def test_a_module_that_does_not_compile_is_named(modules: list[TrialModule]) -> None:
    broken = TrialModule("broken.ll", b"nonsense", "default<Oz>")
    trials = Trials("inline", machines=Machines(1))
    with pytest.raises(InputError, match=r"^broken.ll: expected a module that compiles, got: "):
        trials.rewards(["default"], [modules[0], broken])


def test_a_failure_costs_its_module_only(modules: list[TrialModule]) -> None:
    def picky(obs: Any) -> int:
        if obs.site.caller.name == "other":
            raise ValueError("no answer")
        return 0

    trials = Trials("inline", machines=Machines(1))
    (found,) = trials.rewards([picky], modules)
    (good,) = trials.rewards(["const:0"], modules[:1])
    assert found == pytest.approx((good + FAILED) / 2)
    assert FAILED == -1


def test_modules_are_those_that_fit_patterns(tmp_path: Path) -> None:
    for name in ("b.ll", "a.ll", "deep/er/c.ll", "d.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)

    def names(*patterns: str) -> list[str]:
        found = modules_of(patterns, str(tmp_path), "dce")
        assert {each.pipeline for each in found} == {"dce"}
        return [str(Path(each.name).relative_to(tmp_path)) for each in found]

    assert names("*.ll") == ["a.ll", "b.ll"]
    assert names("b.ll", "*.ll", "a.ll") == ["b.ll", "a.ll"]
    assert names("deep/**/*.ll") == ["deep/er/c.ll"]
    assert names(str(tmp_path / "d.txt")) == ["d.txt"]
    with pytest.raises(InputError, match=r"modules: expected files, got none that fit no\*"):
        names("*.ll", "no*")
    with pytest.raises(InputError, match=r"deep: expected a module, got: Is a directory"):
        names("deep")


def test_validation_is_watched_if_there_is_one() -> None:
    assert watched_reward({"train": 1.0, "validation": 2.0}) == 2
    assert watched_reward({"train": 1.0, "validation": 0.0}) == 0
    assert watched_reward({"train": 1.0}) == 1


def test_candidates_are_opposite_pairs_near_the_weights() -> None:
    start = np.array([2.0, 0.0, -4.0])
    one = Antithetic(start, 0.5, 5, 7, 0.1)
    asked = one.ask()
    assert len(asked) == 4
    for first, second in zip(asked[::2], asked[1::2], strict=True):
        assert (first + second) / 2 == pytest.approx(start)
        noise = (first - start) / (0.5 * np.array([2.01, 0.01, 4.01]))
        assert np.abs(noise).max() < 5
        assert (noise != 0).all()
    assert len(Antithetic(start, 0.5, 1, 7, 0.1).ask()) == 2
    again = Antithetic(start, 0.5, 5, 7, 0.1)
    assert all((each == other).all() for each, other in zip(asked, again.ask(), strict=True))
    other = Antithetic(start, 0.5, 5, 8, 0.1)
    assert not (asked[0] == other.ask()[0]).all()
    one.tell([1, 0, 0, 0])
    assert not (one.ask()[0] - one.mean == asked[0] - start).all()
    assert (start == [2, 0, -4]).all()


def test_a_step_of_adam_goes_up_by_its_rate() -> None:
    """The first step is as long as the rate says, as a share of the weights."""
    start = np.array([2.0, -4.0])
    made = Antithetic(start, 0.5, 2, 7, 0.25)
    better, _ = made.ask()
    made.tell([5, -5])
    step = made.mean - start
    assert np.sign(step).tolist() == np.sign(better - start).tolist()
    assert np.abs(step) == pytest.approx([0.25 * 2.01, 0.25 * 4.01], rel=1e-4)
    assert (start == [2, -4]).all()
    first = made._moments.copy(), made._squares.copy()
    made.ask()
    made.tell([1, 1])
    assert made._moments == pytest.approx(0.9 * first[0])
    assert made._squares == pytest.approx(0.99 * first[1])


def test_the_slope_is_that_of_the_pairs() -> None:
    """Every pair counts by the ranks of its two candidates."""
    start = np.array([2.0, -4.0, 1.0])
    made = Antithetic(start, 0.5, 6, 7, 0.25)
    asked = made.ask()
    noise = [(each - start) / (0.5 * (np.abs(start) + 0.01)) for each in asked[::2]]
    values = [3.0, 1.0, 6.0, 2.0, 5.0, 9.0]
    made.tell(values)
    ranks = centred_ranks(values)
    slope = sum((ranks[2 * place] - ranks[2 * place + 1]) * each for place, each in enumerate(noise)) / 6
    assert made._moments == pytest.approx(0.1 * slope)
    assert made._squares == pytest.approx(0.01 * slope**2)


def test_equal_candidates_move_nothing() -> None:
    made = Antithetic(np.array([1.0, 2.0]), 0.5, 4, 7, 0.25)
    made.ask()
    made.tell([3, 3, 3, 3])
    assert made.mean.tolist() == [1, 2]
    assert centred_ranks([1]).tolist() == [0]


def test_covariance_goes_up_and_is_that_of_the_seed() -> None:
    start = np.array([1.0, 0.0, -2.0])

    def run(seed: int) -> np.ndarray:
        made = Covariance(start, 0.3, 8, seed)
        assert made.mean == pytest.approx(start)
        asked = made.ask()
        assert len(asked) == 8
        spread = np.std(asked, axis=0)
        assert spread[1] < 0.02 < spread[0] < spread[2]
        made.tell([each[0] for each in asked])
        return made.mean

    first = run(1)
    assert first[0] > 1
    assert (first == run(1)).all()
    assert not (first == run(2)).all()


def test_an_evolution_says_what_came_of_it(modules: list[TrialModule], tmp_path: Path) -> None:
    """The best is chosen by the modules for validation; without a look at them it is the start."""
    settings = EvolveSettings(
        ("a.ll",), ("b.ll",), iterations=3, population=4, sigma=2.0, checkpoint=2, seed=1
    )
    steps = list[int]()
    made = EvolutionRun(
        settings,
        str(tmp_path),
        str(tmp_path / "o"),
        machines=Machines(1),
        callbacks=[lambda run, _row: steps.append(run.done)],
    ).run()
    assert steps == [1, 2, 3]
    rows = list(csv.DictReader((tmp_path / "o" / "curve.csv").read_text().splitlines()))
    assert [bool(row["validation reward"]) for row in rows] == [False, True, True]
    best = [made.others["at the start"]["validation"], *(float(row["validation reward"]) for row in rows[1:])]
    assert made.rewards["validation"] == pytest.approx(max(best))
    assert made.rounds == (0, 2, 3)[best.index(max(best))]
    for row in rows:
        assert float(row["reward"]) <= float(row["best candidate"])
    # The defaults of both, the start on both, candidates on one, and two looks at both.
    assert made.compilations == 2 + 2 + 3 * 4 + 2 * 2
    model = onnx.load(tmp_path / "o" / "model.onnx")
    told = {entry.key: entry.value for entry in model.metadata_props}
    assert told["passpilot/point"] == "inline"
    assert told["passpilot/trained"] == f"evolution, {made.description}, seed 1"
    assert 'validation = ["b.ll"]' in (tmp_path / "o" / "settings.toml").read_text()
    assert (tmp_path / "o" / "network.json").exists()
    assert (
        DecisionShards(tmp_path / "o" / "start" / "train").arrays(["module"])["module"].tolist()
        == [modules[0].name] * 2
    )
