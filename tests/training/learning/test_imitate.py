# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Imitation learns decisions of programs that it has not seen, goes on exactly, and exports models."""

from __future__ import annotations

import csv
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from passpilot.features.point import find_point
from passpilot.plugin.errors import InputError, ModelError, PasspilotWarning
from passpilot.training.data.matrix import Arrangement, Examples, ExampleWeights
from passpilot.training.data.shards import DecisionShards
from passpilot.training.learning.checkpoint import Checkpoint
from passpilot.training.learning.decision_network import DecisionNetwork
from passpilot.training.learning.export_check import check_export
from passpilot.training.learning.imitate import Imitation
from passpilot.training.learning.settings import (
    DataSettings,
    ImitateSettings,
    NetworkSettings,
    TreeSettings,
)
from tests import stock
from tests.command import PASSPILOT, passpilot, refused, started
from tests.shared import made_once
from tests.training.shards import CAREFUL, gathered


@pytest.fixture(scope="session")
def taught(corpus: Callable[[str, str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Decisions of a careful teacher on lz4 for training, and on libyaml for validation."""

    def make(folder: Path) -> None:
        (folder / "careful.py").write_text(CAREFUL)
        for program, part in (("lz4", "train"), ("libyaml", "validation")):
            module = folder / "in" / program / "in.bc"
            module.parent.mkdir(parents=True)
            shutil.copy(corpus(program, "Oz"), module)
            gathered([module], folder / program, f"python:{folder}/careful.py:decide", part=part)

    return made_once(tmp_path_factory, "taught", make)


def settings_of(folder: Path, policy: str = "trees") -> ImitateSettings:
    data = DataSettings((str(folder / "lz4" / "train"),), (str(folder / "libyaml" / "validation"),))
    trees, network = TreeSettings(rounds=60), NetworkSettings(hidden=(32, 32), rounds=25, batch=64)
    return ImitateSettings(data, policy, trees=trees, network=network)


def test_llvms_decisions_are_cloned_on_an_unseen_program(taught: Path, tmp_path: Path) -> None:
    made = Imitation(replace(settings_of(taught), label="default"), str(tmp_path)).run()
    assert made.parts["validation"].decisions > 300
    assert made.parts["validation"].agreement >= 0.99
    assert made.importance[0][0] == "cost_estimate"


@pytest.mark.parametrize(("policy", "found"), [("trees", 0.9), ("network", 0.75)])
def test_a_teacher_is_imitated_on_an_unseen_program(
    policy: str, found: float, taught: Path, tmp_path: Path
) -> None:
    settings = settings_of(taught, policy)
    made = Imitation(settings, str(tmp_path)).run()
    seen = made.parts["validation"]
    assert seen.changed > 50
    assert seen.found >= found  # of the decisions that are not LLVM's, which a clone of LLVM never finds
    rows = list(csv.DictReader((tmp_path / "curve.csv").read_text().splitlines()))
    assert float(rows[-1]["train loss"]) < float(rows[0]["train loss"])
    assert made.check.observations == 10_000
    assert "<polyline" in (tmp_path / "curve.svg").read_text()
    assert list((tmp_path / "tensorboard").iterdir())
    model = onnx.load(tmp_path / "model.onnx")
    assert {entry.key: entry.value for entry in model.metadata_props}["passpilot/point"] == "inline"
    assert (tmp_path / "statistics.json").exists() == (policy != "trees")


def test_the_exported_policy_decides_in_a_compiler(taught: Path, program: Path, tmp_path: Path) -> None:
    Imitation(settings_of(taught), str(tmp_path)).run()
    assert passpilot("aot", "model.onnx", "-o", "model.so", cwd=tmp_path).code == 0
    runners = {
        "onnx": "onnx:model.onnx",
        "aot": "aot:model.so",
        "teacher": f"python:{taught}/careful.py:decide",
    }
    for name, runner in runners.items():
        flags = ("-passes=default<Oz>", f"--inline={runner}", "-o", f"{name}.bc")
        done = passpilot("opt", program, *flags, cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    made = {name: (tmp_path / f"{name}.bc").read_bytes() for name in runners}
    assert made["onnx"] == made["aot"]
    assert stock.opt(program, "default<Oz>")[0] != made["onnx"]


@pytest.mark.parametrize("patience", [1, 4])
def test_training_ends_when_its_patience_does(patience: int, taught: Path, tmp_path: Path) -> None:
    settings = replace(settings_of(taught), trees=TreeSettings(rounds=200, learning_rate=1))
    made = Imitation(replace(settings, checkpoint=1, patience=patience), str(tmp_path)).run()
    rows = list(csv.DictReader((tmp_path / "curve.csv").read_text().splitlines()))
    losses = [float(row["validation loss"]) for row in rows]
    assert made.rounds == losses.index(min(losses)) + 1
    assert len(rows) == made.rounds + patience


@pytest.mark.parametrize("policy", ["trees", "network"])
def test_training_goes_on_exactly(policy: str, taught: Path, tmp_path: Path) -> None:
    settings = replace(settings_of(taught, policy), checkpoint=5)
    settings = replace(settings, trees=TreeSettings(rounds=20, sample=0.7, columns=0.5))
    Imitation(settings, str(tmp_path / "whole")).run()

    def stop(training: Imitation, _row: object) -> None:
        if training.done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Imitation(settings, str(tmp_path / "parts"), callbacks=[stop]).run()
    check_damaged(settings, tmp_path / "parts")
    Imitation(settings, str(tmp_path / "parts"), resume=True).run()
    for name in ("model.onnx", "curve.csv"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    with pytest.raises(InputError, match="expected a checkpoint of the same settings"):
        Imitation(replace(settings, seed=1), str(tmp_path / "parts"), resume=True).run()
    (tmp_path / "parts" / "checkpoint.npz").write_bytes(b"PK\3\4")
    with pytest.raises(InputError, match="expected a checkpoint, got another file"):
        Imitation(settings, str(tmp_path / "parts"), resume=True).run()


def check_damaged(settings: ImitateSettings, folder: Path) -> None:
    """Checkpoints of these settings with other values are refused; the folder is as before."""
    path = folder / "checkpoint.npz"
    good = path.read_bytes()
    kept = Checkpoint.read(str(path), Imitation(settings, str(folder))._key())
    facts = [{"rows": []}, *({**kept.facts, "rows": rows} for rows in (5, [1], [{"x": "y"}]))]
    damaged = [replace(kept, facts=other) for other in (*facts, {**kept.facts, "best": 5})]
    damaged += [replace(kept, arrays={}), replace(kept, arrays=dict.fromkeys(kept.arrays, np.zeros(3)))]
    for checkpoint in damaged:
        checkpoint.write(str(path))
        with pytest.raises(
            InputError, match=r"npz: expected a checkpoint of this training, got a damaged one"
        ):
            Imitation(settings, str(folder), resume=True).run()
    path.write_bytes(good)


def test_training_goes_on_with_the_same_decisions_only(taught: Path, tmp_path: Path) -> None:
    shutil.copytree(taught / "lz4", tmp_path / "data")
    (file,) = DecisionShards(tmp_path / "data" / "train").files
    data = DataSettings((str(tmp_path / "data" / "train"),))
    settings = ImitateSettings(data, trees=TreeSettings(rounds=2), checkpoint=1)
    Imitation(settings, str(tmp_path / "model")).run()
    Imitation(settings, str(tmp_path / "model"), resume=True).run()
    shutil.copy(DecisionShards(taught / "libyaml" / "validation").files[0], file)
    with pytest.raises(InputError, match="expected a checkpoint of the same settings"):
        Imitation(settings, str(tmp_path / "model"), resume=True).run()


def test_the_command_survives_a_kill(taught: Path, tmp_path: Path) -> None:
    settings = tmp_path / "a.toml"
    settings.write_text(
        f'policy = "network"\ncheckpoint = 2\n[data]\ntrain = ["{taught}/lz4/train"]\n'
        f'validation = ["{taught}/libyaml/validation"]\n[network]\nrounds = 20\nbatch = 16\n'
    )
    command = (PASSPILOT, "train", "imitate", settings, "-o", "model")
    with started(*command, cwd=tmp_path) as child:
        until = time.monotonic() + 60
        while not (tmp_path / "model" / "checkpoint.npz").exists() and child.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.02)
        os.kill(child.pid, signal.SIGKILL)
    assert not (tmp_path / "model" / "model.onnx").exists()
    done = passpilot(*command[1:], "--resume", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    rows = list(csv.DictReader((tmp_path / "model" / "curve.csv").read_text().splitlines()))
    assert [int(row["round"]) for row in rows] == list(range(2, 21, 2))
    card = (tmp_path / "model" / "card.md").read_text()
    assert "| validation | 1 |" in card
    assert "passpilot train imitate" in card


def test_weights_are_those_of_the_settings(taught: Path) -> None:
    point = find_point("inline")
    arrangement = Arrangement.of(point, ["cost_estimate"])
    shards = DecisionShards(taught / "lz4" / "train", taught / "libyaml" / "validation")

    def loaded(**weights: float) -> Examples:
        return Examples.load(shards, arrangement, point.default.name, "advice", ExampleWeights(**weights))

    plain = loaded()
    assert (plain.weights == 1).all()
    heavy = loaded(changed=3)
    ratio = heavy.weights[heavy.changed].mean() / heavy.weights[~heavy.changed].mean()
    assert (ratio, heavy.weights.mean()) == pytest.approx((4, 1))
    equal = loaded(balance=1)
    assert np.bincount(equal.programs, equal.weights) == pytest.approx([len(equal) / 2] * 2)


def test_evictions_are_learned_from_the_set_of_columns(pressed: Path, tmp_path: Path) -> None:
    gathered([pressed], tmp_path / "data", point="evict")
    data = DataSettings((str(tmp_path / "data" / "train"),))
    settings = ImitateSettings(data, "set", network=NetworkSettings((16, 16), 60, 16, 1e-2))
    made = Imitation(settings, str(tmp_path / "set")).run()
    assert made.parts["train"].agreement > 0.8
    assert "set network" in made.description
    assert passpilot("aot", "set/model.onnx", "--point=evict", "-o", "a.so", cwd=tmp_path).code == 0
    objects = []
    for runner in ("onnx:set/model.onnx", "aot:a.so"):
        done = passpilot("llc", pressed, "-filetype=obj", f"--evict={runner}", "-o", "a.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        objects.append((tmp_path / "a.o").read_bytes())
    assert objects[0] == objects[1]
    arrangement = Arrangement.of(find_point("evict"), settings.features)
    again = DecisionNetwork.read(str(tmp_path / "set"), arrangement)
    flat = np.random.default_rng(0).integers(0, 9, (3, arrangement.elements)).astype(np.float32)
    other = again.network.copy()
    other.assign(again.network.vector())
    assert (replace(again, network=other).scores(flat) == again.scores(flat)).all()
    assert again.describe() == made.description


def test_an_answer_has_no_columns_to_be_a_set(taught: Path, tmp_path: Path) -> None:
    settings = ImitateSettings(DataSettings((str(taught / "lz4" / "train"),)), "set")
    with pytest.raises(InputError, match=r"policy set: expected a point whose choices .*, got inline"):
        Imitation(settings, str(tmp_path / "set")).run()


@pytest.mark.soak
def test_evictions_are_learned_by_columns(pressed: Path, tmp_path: Path) -> None:
    gathered([pressed], tmp_path / "data", point="evict")
    for policy in ("trees", "network"):
        data = DataSettings((str(tmp_path / "data" / "train"),))
        settings = ImitateSettings(
            data,
            policy,
            network=NetworkSettings((32,), 150, 16, 1e-2),
            trees=TreeSettings(30, 7, least_rows=3),
        )
        made = Imitation(settings, str(tmp_path / policy)).run()
        assert made.parts["train"].agreement > 0.8
    assert passpilot("aot", "trees/model.onnx", "--point=evict", "-o", "a.so", cwd=tmp_path).code == 0
    objects = []
    for runner in ("onnx:trees/model.onnx", "aot:a.so", "onnx:network/model.onnx"):
        done = passpilot("llc", pressed, "-filetype=obj", f"--evict={runner}", "-o", "a.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
        objects.append((tmp_path / "a.o").read_bytes())
    assert objects[0] == objects[1]


def test_llvms_own_choice_is_a_feature_of_columns(pressed: Path, tmp_path: Path) -> None:
    gathered([pressed], tmp_path / "data", point="evict")
    data = DataSettings((str(tmp_path / "data" / "train"),))
    for policy in ("trees", "linear"):
        settings = ImitateSettings(data, policy, features=("*", "evict_default"), label="default")
        settings = replace(settings, network=NetworkSettings((), 60, 16, 1e-2), trees=TreeSettings(10, 7))
        made = Imitation(settings, str(tmp_path / policy)).run()
        assert made.parts["train"].agreement > 0.99
        flags = ("-filetype=obj", f"--evict=onnx:{policy}/model.onnx", "-o", f"{policy}.o")
        assert passpilot("llc", pressed, *flags, cwd=tmp_path).code == 0
    assert passpilot("llc", pressed, "-filetype=obj", "-o", "plain.o", cwd=tmp_path).code == 0
    assert (tmp_path / "linear.o").read_bytes() == (tmp_path / "plain.o").read_bytes()
    assert passpilot("aot", "linear/model.onnx", "--point=evict", "-o", "a.so", cwd=tmp_path).code == 0
    done = passpilot("llc", pressed, "-filetype=obj", "--evict=aot:a.so", "-o", "aot.o", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert (tmp_path / "aot.o").read_bytes() == (tmp_path / "plain.o").read_bytes()


def test_numbers_are_learned(pressed: Path, tmp_path: Path) -> None:
    gathered([pressed], tmp_path / "data", point="priority")
    data = DataSettings((str(tmp_path / "data" / "train"),))
    for policy in ("trees", "network"):
        settings = ImitateSettings(
            data, policy, network=NetworkSettings((16,), 60, 16), trees=TreeSettings(30, 7)
        )
        Imitation(settings, str(tmp_path / policy)).run()
        rows = list(csv.DictReader((tmp_path / policy / "curve.csv").read_text().splitlines()))
        assert float(rows[-1]["train loss"]) < min(0.5, float(rows[0]["train loss"]))
    runner = "--priority=onnx:network/model.onnx"
    done = passpilot("llc", pressed, "-filetype=obj", runner, "-o", "a.o", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")


def test_a_wrong_export_is_refused(taught: Path, tmp_path: Path) -> None:
    training = Imitation(settings_of(taught, "linear"), str(tmp_path))
    training.run()
    model = onnx.load(tmp_path / "model.onnx")
    bias = next(each for each in model.graph.initializer if each.name.startswith("bias"))
    bias.CopyFrom(onnx.numpy_helper.from_array(np.array([3], np.float32), bias.name))
    parts = list(training._parts.values())
    with pytest.raises(ModelError, match="expected the decisions of the trained model, got others"):
        check_export(model.SerializeToString(), training._learner, training._scaling, parts, 0)


def test_wrong_data_is_refused(taught: Path, tmp_path: Path) -> None:
    settings = settings_of(taught)
    both = replace(settings, data=replace(settings.data, validation=settings.data.train))
    with pytest.warns(PasspilotWarning, match="expected different ones, got .* in both"):
        Imitation(both, str(tmp_path))
    (tmp_path / "a.toml").write_text("[data]\ntrain = ['none']\n")
    assert "none: expected a shard" in refused("train", "imitate", "a.toml", "-o", "m", cwd=tmp_path)
    text = f'features = ["callee_user"]\n[data]\ntrain = ["{taught}/lz4/train"]\n'
    (tmp_path / "a.toml").write_text(text)
    error = refused("train", "imitate", "a.toml", "-o", "m", cwd=tmp_path)
    assert "a.toml: features: decision point inline: expected features among those it offers, got" in error
    assert "got callee_user; " in error
    assert "; did you mean 'callee_users'?" in error
