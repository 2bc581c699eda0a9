# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A cluster of eight nodes, of which some die and others come: nothing is lost, and nothing changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from passpilot.plugin.errors import Error
from passpilot.training.machines.local import Machines
from passpilot.training.machines.ray_cluster import RayCluster
from passpilot.training.tuning.engine import Engine
from passpilot.training.tuning.search import Search
from passpilot.training.tuning.sizes import object_sizes
from passpilot.training.tuning.study import Budget
from passpilot.training.tuning.unit import LLVMS_OWN, Unit, UnitChoice
from tests.command import GENEROUS
from tests.training.tuning.units import modules, searched, units

pytestmark = pytest.mark.soak

NODES: Final = 8
KILLED: Final = 4
"""Nodes that die in one run of compilations; others come for them."""


@pytest.fixture
def cluster() -> Iterator[Any]:
    """A simulated cluster: every node has its own scheduler, store and workers on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    for _ in range(NODES):
        made.add_node(num_cpus=1, object_store_memory=80_000_000)
    made.wait_for_nodes()
    yield made
    made.shutdown()  # type: ignore[no-untyped-call]


def test_nodes_die_and_nothing_is_lost(cluster: Any, tmp_path: Path) -> None:
    whole = units(modules(tmp_path))
    choices = [UnitChoice(), UnitChoice(tail="mergefunc"), UnitChoice(tail="globaldce")]
    work = [(number % 2, choices[number % 3]) for number in range(120)]
    here = Engine(whole, Machines(2)).compile(work[:6])
    with RayCluster(cluster.address) as machines:
        ray = Engine(whole, machines)
        assert ray.jobs == NODES
        assert not any(isinstance(each, Error) for each in ray.compile([(0, LLVMS_OWN)] * NODES))
        done: list[int] = []
        nodes = [each for each in cluster.worker_nodes if each is not cluster.head_node]

        def change(index: int, _made: object) -> None:
            """Kill a node, and add another, a few times while the work goes on."""
            done.append(index)
            if len(done) % 20 == 0 and len(done) // 20 <= KILLED:
                cluster.remove_node(nodes.pop(), allow_graceful=False)
                cluster.add_node(num_cpus=1, object_store_memory=80_000_000)

        shared = [machines.share(unit) for unit in whole]
        calls = [partial(Unit.compile, shared[number], choice) for number, choice in work]
        made = machines.run("tune", calls, GENEROUS, change)
        assert sorted(done) == list(range(len(work)))
        for index, each in enumerate(made):
            assert not isinstance(each, Error), str(each)
            assert each.code == here[index % 6].code  # type: ignore[union-attr]
        found = Search(whole, ray, object_sizes, Budget(20)).run()
    assert [each.code for each in found.best.units] == [
        each.code for each in searched(whole, compiles=20, jobs=NODES).best.units
    ]
