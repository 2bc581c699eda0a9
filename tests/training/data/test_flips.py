# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Flips tell what decisions are worth, in bytes that the linker sees, and a model can learn them."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from passpilot.features.point import find_point
from passpilot.plugin.errors import Error
from passpilot.training.corpus.layout import Corpus
from passpilot.training.data.flips import FlipSettings, gather_flips
from passpilot.training.data.gather import Taught
from passpilot.training.data.matrix import Arrangement, Examples, ExampleWeights
from passpilot.training.data.shards import DecisionShards
from passpilot.training.machines.local import Machines
from passpilot.training.tuning.decision_file import CallKey
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.reward import RewardText
from passpilot.training.tuning.tuned_program import linked_program
from passpilot.training.tuning.unit import LLVMS_OWN, UnitChoice
from passpilot.training.tuning.whole_program import merged_program
from tests.command import passpilot, refused
from tests.training.evaluation.small import change, corpus


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize("lto", [False, True])
def test_a_gain_is_what_the_linker_sees(small: Path, lto: bool) -> None:
    read = Corpus.read(small)
    found = list(gather_flips(read, ["count"], FlipSettings(8, lto=lto, machines=Machines(2))))
    assert found
    (program,) = (each for each in read.programs if each.name == "count")
    reward = RewardText.parse("allocated")
    if lto:
        made = merged_program(read, program, reward, 2)
    else:
        made = linked_program(read, program, "default<Oz>", reward)
    engine = Engine(made.units, Machines(2))
    plain = engine.compile([(number, LLVMS_OWN) for number in range(len(made.units))])
    base = made.measure([each for each in plain if not isinstance(each, Error)]).total
    checked = 0
    for number, taught in enumerate(found):
        assert isinstance(taught, Taught)
        for flips, gain in groups(taught).values():
            (other,) = engine.compile([(number, UnitChoice(flips))])
            assert not isinstance(other, Error)
            whole = [other if place == number else each for place, each in enumerate(plain)]
            after = made.measure([each for each in whole if not isinstance(each, Error)]).total
            assert abs(base - after - gain) <= 16  # functions are aligned in the program
            checked += 1
    assert checked


def groups(taught: Taught) -> dict[tuple[str, bool], tuple[dict[CallKey, bool], float]]:
    """The flips of a module by callee and LLVM's decision, and by how much they make the program smaller."""
    rows = taught.rows
    own, best = (rows.tensors[name].ravel() for name in ("inlining_default", "inlining_decision"))
    counts: Counter[tuple[str, str]] = Counter()
    found: dict[tuple[str, bool], tuple[dict[CallKey, bool], float]] = {}
    callers, callees = (rows.texts[name] for name in ("caller", "callee"))
    for row, default in enumerate(own):
        pair = callers.words[callers.codes[row]], callees.words[callees.codes[row]]
        counts[pair] += 1
        flips, gain = found.get((pair[1], bool(default)), ({}, 0.0))
        sign = 1 if best[row] != default else -1
        flipped = {**flips, CallKey(*pair, counts[pair]): not default}
        found[pair[1], bool(default)] = flipped, gain + sign * float(rows.gains[row])
    return found


def test_the_command_writes_flips(small: Path, tmp_path: Path) -> None:
    done = passpilot(
        "train", "data", f"--corpus={small}", "--program=count", "--flips=4", "-o", "data", cwd=tmp_path
    )
    assert done.code == 0, done.err
    arrays = DecisionShards(tmp_path / "data" / "train").arrays()
    assert arrays["gain"].astype(float).min() >= 0
    assert arrays["gain"].any()
    assert set(np.unique(arrays["inlining_decision"])) <= {0, 1}
    assert '"flips": 2' in (tmp_path / "data" / "data.json").read_text()
    (tmp_path / "a.toml").write_text('[data]\ntrain = ["data/train"]\n[weights]\nbase = 0.0\ngain = 1.0\n')
    assert passpilot("train", "imitate", "a.toml", "-o", "model", cwd=tmp_path).code == 0
    (tmp_path / "b.toml").write_text('[data]\ntrain = ["data/train"]\n[weights]\nbase = 0.0\n')
    assert "expected one above 0, got none" in refused(
        "train", "imitate", "b.toml", "-o", "other", cwd=tmp_path
    )


def test_a_decision_counts_at_most_so_many_bytes(small: Path, tmp_path: Path) -> None:
    """`most` limits the weight of a large gain; smaller gains keep theirs."""
    data = ("train", "data", f"--corpus={small}", "--flips=4", "-o", "data")
    assert passpilot(*data, cwd=tmp_path).code == 0
    shards, point = DecisionShards(tmp_path / "data" / "train"), find_point("inline")
    gains = shards.arrays()["gain"].astype(float)
    most = float(gains.max() - 1)
    assert gains[gains < most].max() > 0, "a gain is below the limit, and one above"
    weights = ExampleWeights(gain=1, most=most)
    arrangement = Arrangement.of(point, ["cost_estimate"])
    found = Examples.load(shards, arrangement, point.default.name, weights=weights).weights
    expected = 1 + np.minimum(gains, most)
    assert found == pytest.approx(expected / expected.mean())


def test_flips_need_a_corpus(program: Path, tmp_path: Path) -> None:
    line = refused("train", "data", program, "--flips=4", "-o", "data", cwd=tmp_path, code=2)
    assert "--flips works with --corpus" in line


def test_a_model_is_flipped_too(small: Path, tmp_path: Path) -> None:
    data = ("train", "data", f"--corpus={small}", "--program=count")
    assert passpilot(*data, "--flips=4", "-o", "first", cwd=tmp_path).code == 0
    (tmp_path / "a.toml").write_text(
        'label = "worth"\nfeatures = ["*", "inlining_default"]\n[data]\ntrain = ["first/train"]\n'
        "[weights]\nmost = 50.0\nmargin = 0.5\n[trees]\nrounds = 20\nleast_rows = 1\n"
    )
    done = passpilot("train", "imitate", "a.toml", "-o", "model", cwd=tmp_path)
    assert done.code == 0, done.err
    done = passpilot(*data, "--flips=4", "--teacher=onnx:model/model.onnx", "-o", "second", cwd=tmp_path)
    assert done.code == 0, done.err
    first, second = (DecisionShards(tmp_path / name / "train").arrays() for name in ("first", "second"))
    assert len(first["gain"]) == len(second["gain"]) == 3
    # The model does what the first flips have found better; to flip that back is worse.
    better = first["gain"][first["inlining_decision"].ravel() != first["inlining_default"].ravel()]
    assert better.sum() > 0
    assert (second["inlining_decision"] == first["inlining_decision"]).all()
    assert "expected the teacher default or onnx:FILE" in refused(
        *data, "--flips=4", "--teacher=const:0", "-o", "third", cwd=tmp_path
    )


def test_without_time_or_rounds_nothing_is_flipped(small: Path) -> None:
    read = Corpus.read(small)
    for settings in (FlipSettings(0), FlipSettings(8, seconds=0.0)):
        found = list(gather_flips(read, ["shout"], settings))
        assert [len(each.rows) for each in found if isinstance(each, Taught)] == [0]


def test_a_program_that_does_not_link_is_named(small: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(small, tmp_path / "corpus"))
    change(copy, "count", foreign=["none.o"])
    (broken,) = gather_flips(Corpus.read(copy), ["count"], FlipSettings(1))
    assert isinstance(broken, Error)
    assert str(broken).startswith("count: ")
