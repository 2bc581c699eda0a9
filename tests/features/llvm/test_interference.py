# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The interference graph that follows an allocation is, at every question, the one made afresh."""

from __future__ import annotations

import gc
import math
import random
import weakref
from collections import Counter
from typing import TYPE_CHECKING, Any

import networkx
import pytest

import passpilot
from passpilot.features.llvm.graphs import interference_graph
from passpilot.plugin.errors import CompilationError, PolicyError, StaleViewError, UsageError
from tests.features.llvm import scarce
from tests.passes.allocation.allocated import by_llc, emitted, for_target, optimized

if TYPE_CHECKING:
    from passpilot.plugin._core import MachineFunction
    from passpilot.runners.python import Observation

    Graph = networkx.Graph[int]
BOTH = ("evict", "priority")


def disagreement(graph: Graph, function: MachineFunction, *, by_pairs: bool = True) -> str:
    """What the graph has otherwise than one made afresh, by LLVM's own comparison of each two ranges."""
    _, _, nodes, _, edges = function.interference_afresh(by_pairs)
    mine, theirs = dict(graph.nodes.items()), dict(nodes)
    if mine != theirs:
        other = [number for number in mine | theirs if mine.get(number) != theirs.get(number)]
        return f"nodes {[(number, mine.get(number), theirs.get(number)) for number in other]}"
    missing = [edge for edge in edges if not graph.has_edge(*edge)]
    too_many = sum(map(len, graph.adj.values())) // 2 - (len(edges) - len(missing))
    return f"edges {missing} and {too_many} more" if missing or too_many else ""


class Policy:
    """Follows the default, or answers at random, and compares the graph at the questions that it draws."""

    def __init__(self, seed: int | None, *, largest: int = 10**6, share: float = 1) -> None:
        self.random = random.Random(seed)
        self.follows = seed is None
        self.largest, self.share = largest, share
        self.seen: Counter[str] = Counter()

    def look(self, obs: Observation) -> None:
        site: Any = obs.site
        if site.function.register_count > self.largest or self.random.random() >= self.share:
            return
        graph = interference_graph(site.function)
        wrong = disagreement(graph, site.function)
        assert not wrong, f"{site.function.name}, question {site.ordinal}: {wrong}"
        self.seen["compared"] += 1
        if obs.point == "priority" and site.live_range.assigned:
            self.seen["recoloured"] += 1

    def decide(self, obs: Observation) -> object:
        self.look(obs)
        self.seen[obs.point] += 1
        if self.follows and (obs.point == "priority" or obs["mask"][0][int(obs.default())]):
            return obs.default()
        if obs.point == "evict":
            return self.random.choice(obs["mask"][0].nonzero()[0].tolist())
        return self.random.randrange(2**32)


def advisors(policy: Policy, points: tuple[str, ...] = BOTH) -> list[Any]:
    return [passpilot.advisor(point, policy.decide) for point in points]


def allocate(source: bytes, *by: Any) -> None:
    passpilot.emit(passpilot.Module.read(source), "obj", advisors=by)


@pytest.mark.filterwarnings("ignore:.* was never asked")
@pytest.mark.parametrize("points", [BOTH, ("evict",)], ids="+".join)
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(
    ("name", "target", "largest"),
    [
        pytest.param("libyaml", "x86-64", 350, marks=pytest.mark.soak),
        ("libyaml", "aarch64", 350),
        ("lz4", "amdgcn", 300),
    ],
)
def test_it_is_the_fresh_one_in_real_programs(
    name: str, target: str, largest: int, seed: int | None, points: tuple[str, ...]
) -> None:
    policy = Policy(seed, largest=largest)
    try:
        source = for_target(name, target)
    except AssertionError as error:
        if "__float128" not in str(error):
            raise
        pytest.skip("the C library's headers are not for AMD GPUs")
    emitted(source, advisors(policy, points))
    assert policy.seen["compared"] > 3 or (target == "amdgcn" and points == ("evict",))


@pytest.mark.parametrize("share", [1, 0.2])
@pytest.mark.parametrize("target", ["i386", "amdgcn"])
def test_it_is_the_fresh_one_through_splits_spills_and_recolouring(target: str, share: float) -> None:
    """A share below 1 also makes the first call come late, and in the middle of an edit or a recolouring."""
    total: Counter[str] = Counter()
    problems: set[str] = set()
    source = {"i386": scarce.assembly_for_i386, "amdgcn": scarce.assembly_for_amdgcn}[target]
    for seed in range(24):
        policy = Policy(seed if seed % 3 else None, share=share)
        points = [BOTH, ("evict",), ("priority",), BOTH][seed % 4]
        try:
            allocate(source(seed), *advisors(policy, points))
        except CompilationError as error:
            problems.add(str(error))
        total += policy.seen
    assert all("inline assembly requires more registers than available" in each for each in problems)
    assert total["compared"] > (400 if share == 1 else 100)
    assert total["recoloured"] > 5 or target == "i386"


def test_a_live_range_s_view_says_the_same() -> None:
    """Nodes beside the views of the candidate and of what it would evict, which are its neighbours."""
    seen: Counter[str] = Counter()

    def decide(obs: Observation) -> object:
        site: Any = obs.site
        graph = interference_graph(site.function)
        for live_range in [
            site.candidate,
            *(each for column in site.columns for each in column.interferences),
        ]:
            node = graph.nodes[live_range.number]
            for name in ("register", "register_class", "weight", "size", "assigned", "is_spillable"):
                assert node[name] == getattr(live_range, name)
            assert node["spill_cost"] == pytest.approx(live_range.weight * (live_range.size + 400))
            assert math.isinf(node["spill_cost"]) != node["is_spillable"]
            seen[str(node["hint"])[:1]] += 1
        for column in site.columns:
            for each in column.interferences:
                assert graph.has_edge(site.candidate.number, each.number)
                seen["edges"] += 1
        return obs.default()

    emitted(optimized("libyaml"), [passpilot.EvictAdvisor(decide)])
    assert seen["edges"] > 1000
    assert seen["%"] > 0  # hinted at another virtual register
    assert seen["r"] > 0  # and at a physical one
    assert seen["N"] > 0


def test_ranges_are_assigned_evicted_split_and_spilled_in_it() -> None:
    seen: Counter[str] = Counter()
    before: dict[int, Any] = {}
    name = ""

    def look(obs: Observation) -> None:
        nonlocal before, name
        function: MachineFunction = obs.site.function  # type: ignore[attr-defined]
        if function.register_count > 400:
            return
        graph = interference_graph(function)
        now = {number: (node["assigned"], node["is_spillable"]) for number, node in graph.nodes.items()}
        if graph.graph["function"] == name:
            seen["assigned"] += sum(now[n][0] is not None is before[n][0] for n in now.keys() & before.keys())
            seen["evicted"] += sum(now[n][0] is None is not before[n][0] for n in now.keys() & before.keys())
            seen["new"] += len(now.keys() - before.keys())
            seen["gone"] += len(before.keys() - now.keys())
            seen["reloads"] += sum(not now[n][1] for n in now.keys() - before.keys())
        before, name = now, graph.graph["function"]

    class Looking(Policy):
        def look(self, obs: Observation) -> None:
            look(obs)

    emitted(optimized("libyaml"), advisors(Looking(7)))
    assert min(seen[what] for what in ("assigned", "evicted", "new", "gone", "reloads")) > 40


def test_one_graph_per_function_for_both_advisors_and_frozen_after_it() -> None:
    graphs: dict[str, Graph] = {}
    last: dict[str, tuple[int, int]] = {}
    points: dict[str, set[str]] = {}

    def decide(obs: Observation) -> object:
        graph = interference_graph(obs.site.function)  # type: ignore[attr-defined]
        name = graph.graph["function"]
        assert graphs.setdefault(name, graph) is graph
        assert graph.graph["triple"] == "x86_64-pc-linux-gnu"
        assert interference_graph(obs.site.function) is graph  # type: ignore[attr-defined]
        graph.graph["mine"] = len(graph)
        last[name] = (graph.number_of_nodes(), graph.number_of_edges())
        points.setdefault(name, set()).add(obs.point)
        return obs.default()

    objects = emitted(
        optimized("libyaml"), [passpilot.EvictAdvisor(decide), passpilot.PriorityAdvisor(decide)]
    )
    assert objects == by_llc(optimized("libyaml"))
    assert len(graphs) > 50
    assert {"evict", "priority"} in points.values()
    assert last == {name: (each.number_of_nodes(), each.number_of_edges()) for name, each in graphs.items()}
    assert all(type(each) is networkx.Graph and each.graph["mine"] == len(each) for each in graphs.values())


def test_a_graph_that_nobody_keeps_is_freed_with_its_function() -> None:
    alive: list[weakref.ref[Any]] = []

    def decide(obs: Observation) -> object:
        graph = interference_graph(obs.site.function)  # type: ignore[attr-defined]
        if not alive or alive[-1]() is not graph:
            assert not any(each() for each in alive)
            alive.append(weakref.ref(graph))
        del graph
        return obs.default()

    emitted(optimized("libyaml"), [passpilot.EvictAdvisor(decide)])
    assert len(alive) > 10
    assert not any(each() for each in alive)


def test_a_policy_that_fails_with_a_graph_in_hand_leaves_none_behind() -> None:
    alive: list[weakref.ref[Any]] = []

    def decide(obs: Observation) -> object:
        alive.append(weakref.ref(interference_graph(obs.site.function)))  # type: ignore[attr-defined]
        raise ValueError("enough")

    with pytest.raises(PolicyError, match="enough"):
        emitted(optimized("libyaml"), [passpilot.PriorityAdvisor(decide)])
    gc.collect()
    assert [each() for each in alive] == [None]


def test_an_update_that_was_interrupted_is_made_good_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = 0
    add = networkx.Graph.add_edges_from

    def fail_at_times(self: Graph, edges: Any) -> None:
        nonlocal failures
        if len(edges) % 3 == 1 and not failures % 2:
            failures += 1
            raise KeyError("interrupted")
        failures += failures % 2
        add(self, edges)

    class Insisting(Policy):
        def look(self, obs: Observation) -> None:
            try:
                super().look(obs)
            except KeyError:
                super().look(obs)

    monkeypatch.setattr(networkx.Graph, "add_edges_from", fail_at_times)
    allocate(scarce.assembly_for_i386(3), *advisors(Insisting(1)))
    assert failures > 10


def test_it_exists_during_allocation_only() -> None:
    kept: list[Any] = []

    def decide(obs: Observation) -> object:
        function = obs.site.function  # type: ignore[attr-defined]
        interference_graph(function)
        if kept:
            with pytest.raises(StaleViewError, match=r"view of decision \d+"):
                interference_graph(kept[-1])
        kept.append(function)
        return obs.default()

    emitted(optimized("libyaml"), [passpilot.EvictAdvisor(decide)])
    with pytest.raises(StaleViewError, match="expected to be read during that decision"):
        interference_graph(kept[-1])
    with pytest.raises(
        UsageError, match=r"expected obs\.site\.function of an evict or priority decision, got str"
    ):
        interference_graph("main")


@pytest.mark.parametrize("seed", [None, 1])
def test_following_costs_by_what_changes_not_by_the_size_of_the_function(seed: int | None) -> None:
    """Counted by the core: live ranges read and segments looked at; nodes and edges that changed."""
    questions = built = first = work = changes = 0

    class Counting(Policy):
        def look(self, obs: Observation) -> None:
            nonlocal questions, built, first, work, changes
            function: MachineFunction = obs.site.function  # type: ignore[attr-defined]
            graph = interference_graph(function)
            questions += 1
            work, changes = function.interference_work, function.interference(changes)[0]
            if questions == 1:
                assert len(graph) >= 5000
                built, first = work, changes
            if questions % 1500 == 1:
                assert not disagreement(graph, function, by_pairs=questions == 1)

    allocate(scarce.long_function(), *advisors(Counting(seed)))
    assert questions > 5000
    assert changes - first > 5000
    assert work - built < 60 * (changes - first + questions)
    assert work - built < 500 * questions  # a tenth of what it takes to read each live range once
