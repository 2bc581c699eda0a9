# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `Imitation` keeps, writes and tells, on the decisions of a small program."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from passpilot.features.domain import Choice, Flag, Number
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import InputError, PasspilotWarning
from passpilot.training.data.matrix import Arrangement
from passpilot.training.data.shards import DecisionShards
from passpilot.training.learning.imitate import Imitation, _check_fit, _check_parts, imitate
from passpilot.training.learning.learner import Scaling
from passpilot.training.learning.settings import DataSettings, ImitateSettings, TreeSettings
from passpilot.training.learning.toml_settings import read_settings
from tests.shared import made_once
from tests.training.learning.examples import arranged, decided
from tests.training.shards import gathered


@pytest.fixture(scope="session")
def shards(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Decisions at random of a small program."""

    def make(folder: Path) -> None:
        gathered([program], folder, "random:3")

    return made_once(tmp_path_factory, "random-decisions", make) / "train"


def settings_of(shards: Path) -> ImitateSettings:
    """Trees that learn random decisions by heart, so that validation gets worse."""
    trees = TreeSettings(rounds=12, learning_rate=1, least_rows=1)
    return ImitateSettings(DataSettings((str(shards),)), trees=trees, checkpoint=4, seed=5)


@pytest.mark.filterwarnings("ignore::passpilot.errors.PasspilotWarning")
@pytest.mark.parametrize(("keep", "rounds"), [("best", 4), ("last", 12)])
def test_the_best_round_or_the_last_is_kept(
    keep: str, rounds: int, shards: Path, program: Path, tmp_path: Path
) -> None:
    other = gathered([program], tmp_path / "data", "random:4")
    settings = replace(settings_of(shards), keep=keep)
    settings = replace(settings, data=replace(settings.data, validation=(str(other),)))
    told: list[tuple[int, str]] = []
    training = Imitation(
        settings,
        str(tmp_path / "made"),
        callbacks=[lambda run, _row: told.append((run.done, run.line))],
    )
    assert training.total == 12
    made = training.run()
    rows = list(csv.DictReader((tmp_path / "made" / "curve.csv").read_text().splitlines()))
    losses = [float(row["validation loss"]) for row in rows]
    assert losses == sorted(losses), "the first is the best"
    assert made.rounds == rounds
    assert [count for count, _ in told] == [4, 8, 12]
    agreement = float(rows[0]["validation agreement"])
    assert told[0][1] == f"validation loss {losses[0]:.4f}, agreement {agreement:.2%}"
    assert made.parts["validation"].loss == pytest.approx(losses[rounds // 4 - 1])


def test_what_is_written(shards: Path, tmp_path: Path) -> None:
    made = Imitation(settings_of(shards), str(tmp_path / "a" / "b")).run()
    folder = tmp_path / "a" / "b"
    assert read_settings(str(folder / "settings.toml"), ImitateSettings) == settings_of(shards)
    facts = {each.key: each.value for each in onnx.load(folder / "model.onnx").metadata_props}
    assert facts["passpilot/trained"] == f"imitation, {made.description}, seed 5"
    assert facts["passpilot/point"] == made.point == "inline"
    assert "Imitation at inline: log loss and agreement" in (folder / "curve.svg").read_text()
    assert (made.folder, list(made.parts), list(made.programs)) == (str(folder), ["train"], ["train"])
    assert not (folder / "network.json").exists()
    lost = [share for _, share in made.importance]
    assert lost == sorted(lost, reverse=True)
    names = {name for name, _ in made.importance}
    assert len(names) == len(made.importance)
    assert names < {spec.name for spec in find_point("inline").features}


def test_a_network_leaves_its_weights_and_scales(shards: Path, tmp_path: Path) -> None:
    settings = replace(settings_of(shards), policy="linear", features=("cost_estimate", "callee_users"))
    Imitation(settings, str(tmp_path)).run()
    assert list(json.loads((tmp_path / "statistics.json").read_text())) == ["cost_estimate", "callee_users"]
    assert json.loads((tmp_path / "network.json").read_text())["names"] == ["cost_estimate", "callee_users"]


def test_a_folder_that_cannot_be_made(shards: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file/made: expected a folder, got: Not a directory"):
        Imitation(settings_of(shards), str(tmp_path / "file" / "made")).run()


def test_decisions_of_other_features_are_refused(shards: Path) -> None:
    found, point = DecisionShards(str(shards)), find_point("inline")
    _check_fit(found, Arrangement.of(point, ["cost_estimate"]))
    with pytest.raises(InputError, match=r"expected decisions with other as .*, got no other"):
        _check_fit(found, Arrangement("inline", (TensorSpec("other", "int64", (1,)),), Flag()))
    wide = TensorSpec("cost_estimate", "int64", (2,))
    with pytest.raises(
        InputError, match=r"expected decisions with cost_estimate as .*, got cost_estimate as"
    ):
        _check_fit(found, Arrangement("inline", (wide,), Flag()))


def test_programs_in_several_parts_are_told() -> None:
    train, test = (decided(arranged(Flag()), [[1]], [1]) for _ in range(2))
    with pytest.warns(
        PasspilotWarning, match="programs of train and test: expected different ones, got b, c in"
    ):
        _check_parts(
            {"train": replace(train, names=["c", "a", "b"]), "test": replace(test, names=["d", "c", "b"])}
        )


def test_the_scale_of_numbers() -> None:
    numbers = decided(arranged(Number(0, 99)), [[1], [2]], [10, 30])
    same = decided(arranged(Number(0, 99)), [[1], [2]], [10, 10])
    choices = decided(arranged(Choice(99)), [[1], [2]], [10, 30])
    made = [(each.offset, each.factor) for each in map(Scaling.of, (numbers, same, choices))]
    assert made == [(20, 10), (10, 1), (0, 1)]


def test_a_sample_keeps_decisions_whole() -> None:
    count = 30
    values = [float(at) for at in range(count)]
    whole = decided(
        arranged(Choice(2)), [[each] for each in values], values, default=values,
        mask=[[at % 2, at % 3 == 0] for at in range(count)], weights=values, gains=values,
    )  # fmt: skip
    whole = replace(whole, programs=np.arange(count, dtype=np.int32), targets=np.array(values))
    assert whole.sample(count, 1) is whole
    part = whole.sample(10, 1)
    labels = part.labels.tolist()
    assert (len(labels), labels) == (10, sorted(set(labels)))
    for each in (part.flat[:, 0], part.default, part.weights, part.programs, part.gains, part.targets):
        assert each is not None
        assert each.tolist() == labels
    assert part.mask is not None
    assert part.mask.tolist() == [[at % 2 == 1, at % 3 == 0] for at in labels]
    assert whole.sample(10, 1).labels.tolist() == labels
    assert whole.sample(10, 2).labels.tolist() != labels


def test_paths_are_those_from_a_folder() -> None:
    moved = DataSettings(("a", "/b"), ("c",), ("d/e",)).within("x")
    assert moved == DataSettings(("x/a", "/b"), ("x/c",), ("x/d/e",))


def test_the_function_takes_settings_as_a_mapping_and_can_be_stopped(shards: Path, tmp_path: Path) -> None:
    rounds = list[int]()

    def callback(training: Imitation, row: Mapping[str, float]) -> None:
        rounds.append(int(row["round"]))
        training.stop()

    settings = {"data": {"train": (str(shards),)}, "policy": "linear", "checkpoint": 4}
    made = imitate(settings, str(tmp_path), jobs=1, callbacks=[callback])
    assert (rounds, made.rounds) == ([4], 4)
    assert str(made) == f"{tmp_path}/model.onnx: {made.description}\ntrain      {made.parts['train'].text()}"
    assert (tmp_path / "card.md").read_text().startswith("# A model for the decision point `inline`")
    with pytest.raises(InputError, match=r"settings: trees: expected keys among rounds.*got 'leafs'"):
        imitate({**settings, "trees": {"leafs": 3}}, str(tmp_path))
