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

from passpilot.plugin.errors import InputError, ModelError, PasspilotWarning
from passpilot.training.data.matrix import ExampleWeights
from passpilot.training.learning.imitate import Imitated, Imitation
from passpilot.training.learning.policy_check import check_export
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
    """Decisions of LLVM and of a careful teacher on lua for training, and on libyaml for validation."""

    def make(folder: Path) -> None:
        (folder / "careful.py").write_text(CAREFUL)
        for program in ("lua", "libyaml"):
            (folder / "in" / program).mkdir(parents=True)
            shutil.copy(corpus(program, "Oz"), folder / "in" / program / "in.bc")
        for name, teacher in (("llvm", "default"), ("careful", f"python:{folder}/careful.py:decide")):
            for program, part in (("lua", "train"), ("libyaml", "validation")):
                gathered([folder / "in" / program / "in.bc"], folder / name / program, teacher, part=part)

    return made_once(tmp_path_factory, "taught", make)


def settings_of(folder: Path, policy: str = "trees") -> ImitateSettings:
    data = DataSettings((str(folder / "lua" / "train"),), (str(folder / "libyaml" / "validation"),))
    trees, network = TreeSettings(rounds=60), NetworkSettings(hidden=(32, 32), rounds=25, batch=64)
    return ImitateSettings(data, policy, trees=trees, network=network)


def test_llvms_decisions_are_cloned_on_an_unseen_program(taught: Path, tmp_path: Path) -> None:
    made = Imitation(settings_of(taught / "llvm"), str(tmp_path)).run()
    assert made.parts["validation"].decisions > 300
    assert made.parts["validation"].agreement >= 0.99
    assert made.importance[0][0] == "cost_estimate"


@pytest.mark.parametrize(("policy", "found"), [("trees", 0.9), ("network", 0.75), ("linear", 0.3)])
def test_a_teacher_is_imitated_on_an_unseen_program(
    policy: str, found: float, taught: Path, tmp_path: Path
) -> None:
    settings = settings_of(taught / "careful", policy)
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
    trained = Imitation(settings_of(taught / "careful"), str(tmp_path)).run()
    assert isinstance(trained, Imitated)
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


@pytest.mark.parametrize("policy", ["trees", "network"])
def test_training_goes_on_exactly(policy: str, taught: Path, tmp_path: Path) -> None:
    settings = replace(settings_of(taught / "careful", policy), checkpoint=5)
    settings = replace(settings, trees=TreeSettings(rounds=20, sample=0.7, columns=0.5))
    Imitation(settings, str(tmp_path / "whole")).run()

    def stop(rounds: int, _line: str) -> None:
        if rounds >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Imitation(settings, str(tmp_path / "parts")).run(stop)
    Imitation(settings, str(tmp_path / "parts"), resume=True).run()
    for name in ("model.onnx", "curve.csv"):
        assert (tmp_path / "parts" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    with pytest.raises(InputError, match="expected a checkpoint of the same settings"):
        Imitation(replace(settings, seed=1), str(tmp_path / "parts"), resume=True).run()
    (tmp_path / "parts" / "checkpoint.npz").write_bytes(b"PK\3\4")
    with pytest.raises(InputError, match="expected a checkpoint, got another file"):
        Imitation(settings, str(tmp_path / "parts"), resume=True).run()


def test_the_command_survives_a_kill(taught: Path, tmp_path: Path) -> None:
    settings = tmp_path / "a.toml"
    part = taught / "careful"
    settings.write_text(
        f'policy = "network"\ncheckpoint = 2\n[data]\ntrain = ["{part}/lua/train"]\n'
        f'validation = ["{part}/libyaml/validation"]\n[network]\nrounds = 40\nbatch = 16\n'
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
    assert [int(row["round"]) for row in rows] == list(range(2, 41, 2))
    card = (tmp_path / "model" / "card.md").read_text()
    assert "| validation | 1 |" in card
    assert "passpilot train imitate" in card


def test_weights_shift_the_policy(taught: Path, tmp_path: Path) -> None:
    """Decisions that are not LLVM's count more, so a weak model finds more of them."""
    settings = replace(
        settings_of(taught / "careful"), trees=TreeSettings(rounds=2, leaves=3, learning_rate=1)
    )
    plain = Imitation(settings, str(tmp_path / "a")).run()
    heavy = replace(settings, weights=ExampleWeights(changed=8.0))
    assert Imitation(heavy, str(tmp_path / "b")).run().parts["train"].found > plain.parts["train"].found


def test_evictions_are_learned_by_columns(pressed: Path, tmp_path: Path) -> None:
    gathered([pressed], tmp_path / "data", point="evict")
    for policy in ("trees", "network"):
        data = DataSettings((str(tmp_path / "data" / "train"),))
        settings = ImitateSettings(
            data,
            policy,
            network=NetworkSettings((32,), 400, 16, 5e-3),
            trees=TreeSettings(30, 7, least_rows=3),
        )
        made = Imitation(settings, str(tmp_path / policy)).run()
        assert made.parts["train"].agreement > 0.8
        model = tmp_path / policy / "model.onnx"
        assert passpilot("aot", model, "--point=evict", "-o", "a.so", cwd=tmp_path).code == 0
        objects = []
        for runner in (f"onnx:{model}", "aot:a.so"):
            done = passpilot("llc", pressed, "-filetype=obj", f"--evict={runner}", "-o", "a.o", cwd=tmp_path)
            assert (done.code, done.err) == (0, "")
            objects.append((tmp_path / "a.o").read_bytes())
        assert objects[0] == objects[1]


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
        runner = f"--priority=onnx:{tmp_path / policy / 'model.onnx'}"
        done = passpilot("llc", pressed, "-filetype=obj", runner, "-o", "a.o", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")


def test_a_wrong_export_is_refused(taught: Path, tmp_path: Path) -> None:
    training = Imitation(settings_of(taught / "careful", "linear"), str(tmp_path))
    training.run()
    model = onnx.load(tmp_path / "model.onnx")
    bias = next(each for each in model.graph.initializer if each.name.startswith("bias"))
    bias.CopyFrom(onnx.numpy_helper.from_array(np.array([3], np.float32), bias.name))
    parts = list(training._parts.values())
    with pytest.raises(ModelError, match="expected the decisions of the trained model, got others"):
        check_export(model.SerializeToString(), training._learner, training._scaling, parts, 0)


def test_wrong_data_is_refused(taught: Path, tmp_path: Path) -> None:
    settings = settings_of(taught / "llvm")
    both = replace(settings, data=replace(settings.data, validation=settings.data.train))
    with pytest.warns(PasspilotWarning, match="expected different ones, got .* in both"):
        Imitation(both, str(tmp_path))
    (tmp_path / "a.toml").write_text("[data]\ntrain = ['none']\n")
    assert "none: expected a shard" in refused("train", "imitate", "a.toml", "-o", "m", cwd=tmp_path)
    text = f'features = ["callee_user"]\n[data]\ntrain = ["{taught}/llvm/lua/train"]\n'
    (tmp_path / "a.toml").write_text(text)
    assert "got callee_user" in refused("train", "imitate", "a.toml", "-o", "m", cwd=tmp_path)
