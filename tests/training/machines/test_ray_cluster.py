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
from passpilot.training.by_reward.evolve import EvolutionRun, EvolveSettings
from passpilot.training.data.shards import DecisionShards
from passpilot.training.machines.local import ThisMachine
from passpilot.training.machines.ray_cluster import RayCluster
from tests.command import passpilot
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
    assert [str(each) for each in ThisMachine(2).run("test", calls, 60)] == [str(each) for each in made]


def test_evolution_is_the_same_on_a_cluster(cluster: RayCluster, program: Path, tmp_path: Path) -> None:
    settings = EvolveSettings((str(program),), iterations=2, population=4, sigma=1.0, learning_rate=0.5)
    for name, where in (("here", ThisMachine(2)), ("there", cluster)):
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
