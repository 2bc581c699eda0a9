# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainers compile on a Ray cluster as on this machine."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from passpilot.plugin.errors import CompilationError, InputError
from passpilot.training.by_reward.evolve import EvolutionRun
from passpilot.training.by_reward.settings import EvolveSettings
from passpilot.training.corpus.layout import Corpus
from passpilot.training.data.flips import FlipSettings, gather_flips
from passpilot.training.data.gather import Taught
from passpilot.training.data.shards import DecisionShards
from passpilot.training.learning.imitate import Imitation
from passpilot.training.learning.settings import DataSettings, ImitateSettings
from passpilot.training.machines.local import Machines
from passpilot.training.machines.ray_cluster import RayCluster
from tests.command import passpilot
from tests.training.evaluation.small import corpus
from tests.training.shards import gathered


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with RayCluster(jobs=2) as made:
        yield made


def doubled(number: int) -> int:
    if number == 3:
        raise InputError("no 3")
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def test_calls_come_back_in_order_with_their_errors(cluster: RayCluster) -> None:
    done: list[int] = []
    calls = [partial(doubled, number) for number in range(7)]
    made = cluster.run("test", calls, 60, lambda index, _made: done.append(index))
    assert sorted(done) == list(range(7))
    assert [each for each in made if isinstance(each, int)] == [0, 2, 4, 8, 12]
    assert isinstance(made[3], InputError)
    assert isinstance(made[5], CompilationError)
    assert "Killed" in str(made[5])
    assert [str(each) for each in Machines(2).run("test", calls, 60)] == [str(each) for each in made]


def fails() -> int:
    raise ValueError("no error of passpilot")


def test_other_exceptions_are_raised(cluster: RayCluster) -> None:
    for machines in (Machines(2), cluster):
        with pytest.raises(ValueError, match="no error of passpilot"):
            machines.run("test", [fails], 60)


def test_flips_of_a_model_are_the_same_on_a_cluster(cluster: RayCluster, tmp_path: Path) -> None:
    read = Corpus.read(corpus(tmp_path))
    shards = gathered([read.units[each].bitcode for each in read.programs[0].modules], tmp_path / "data")
    settings = ImitateSettings(DataSettings((str(shards),)), "linear", label="default")
    Imitation(settings, str(tmp_path / "model")).run()
    teacher = f"onnx:{tmp_path}/model/model.onnx"
    found = []
    for machines in (Machines(2), cluster):
        flips = FlipSettings(3, teacher=teacher, machines=machines)
        taught = list(gather_flips(read, ["count"], flips))
        assert taught
        assert all(isinstance(each, Taught) for each in taught)
        found.append([each.rows.gains.tolist() for each in taught if isinstance(each, Taught)])
    assert found[0] == found[1]


@pytest.mark.parametrize(("address", "dead", "starts"), [("", 1, 2), ("", 9, 2), ("127.0.0.1:1", 9, 1)])
def test_a_start_on_this_machine_is_tried_twice(
    address: str, dead: int, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def init(*, address: str = "", **_: object) -> None:
        started.append(address)
        if len(started) <= dead:
            raise OSError("a process died")

    monkeypatch.setattr("ray.init", init)
    if dead < starts:
        assert RayCluster(jobs=3).jobs == 3
    else:
        where = address or "this machine"
        with pytest.raises(InputError, match=f"^ray at {where}: expected a cluster, got .*a process died"):
            RayCluster(address, jobs=3)
    assert started == [address] * starts


def test_an_address_needs_ray(tmp_path: Path) -> None:
    done = passpilot("train", "native-size", "a.bc", "--address=auto", "-o", "m", cwd=tmp_path)
    assert done.code == 2
    assert "--address has no effect without --engine=ray" in done.err


def test_a_cluster_is_opened_only_for_work(tmp_path: Path) -> None:
    nowhere = ("--engine=ray", "--address=127.0.0.1:1", "-o", "made")
    done = passpilot("train", "native-size", *nowhere, cwd=tmp_path)
    assert done.code == 2
    assert "give modules or --corpus=DIR" in done.err
    done = passpilot("train", "data", "in.bc", "--part=all", *nowhere, cwd=tmp_path)
    assert "expected one of train" in done.err


def test_evolution_is_the_same_on_a_cluster(cluster: RayCluster, program: Path, tmp_path: Path) -> None:
    settings = EvolveSettings((str(program),), iterations=2, population=4, sigma=1.0, learning_rate=0.5)
    for name, where in (("here", Machines(2)), ("there", cluster)):
        made = EvolutionRun(settings, "", str(tmp_path / name), machines=where).run()
        assert made.compilations > 8
    for name in ("network.json", "curve.csv"):
        assert (tmp_path / "there" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_the_command_gathers_on_a_cluster(program: Path, tmp_path: Path) -> None:
    here = DecisionShards(str(gathered([program], tmp_path / "here")))
    command = ("train", "data", program, "--engine=ray", "--jobs=2", "-o", "there")
    done = passpilot(*command, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    there = DecisionShards(str(tmp_path / "there" / "train"))
    names = [spec.name for spec in here.schema.tensors]
    one, other = here.arrays(names), there.arrays(names)
    assert len(one[names[0]])
    assert all((one[name] == other[name]).all() for name in names)
