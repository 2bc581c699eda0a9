# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The graph tensors show what the whole interference graph has near the question; graph networks decide."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnxruntime
import pytest

import passpilot
from passpilot.features.llvm.native.graph import NODE_COLUMNS, POINTS
from passpilot.features.log.reader import read_log
from passpilot.plugin import _core
from passpilot.plugin.errors import FeatureError, UsageError
from tests.features.llvm import scarce
from tests.features.llvm.graph_network import graph_network
from tests.passes.allocation.pressure import allocated
from tests.passes.allocator.steps import advised, by_stock_llc, emitted_by
from tests.plugin.native.stock.tools import made

if TYPE_CHECKING:
    from pathlib import Path

    import networkx

pytestmark = pytest.mark.usefixtures("restored_registries")

STEPS: Final = ("ra-order", "ra-action", "ra-colour", "ra-split")


def test_the_twins_agree() -> None:
    assert tuple(NODE_COLUMNS) == tuple(_core.graph_node_columns())


def near(
    graph: networkx.Graph[int], roots: list[int], hops: int, most: int
) -> tuple[list[int], dict[int, int]]:
    """The rows that there should be, and the distance of every live range that is near enough."""
    rows, distances = list(roots), dict.fromkeys(roots, 0)
    for row in islice(rows, most):  # which grow
        if distances[row] == hops:
            break
        found = sorted(graph[row], key=lambda other: (graph.nodes[other]["assigned"] is None, other))
        for other in found:
            if other not in distances:
                distances[other] = distances[row] + 1
                rows.append(other)
    return rows[:most], distances


class Checker:
    """A policy that compares the tensors with the whole graph, and follows the default or draws."""

    def __init__(self, *, nodes: int, edges: int, hops: int, draws: bool = True) -> None:
        self.nodes, self.edges, self.hops, self.draws = nodes, edges, hops, draws
        self.asked = self.left_out = self.assigned = 0

    def decide(self, obs: Any) -> int:
        site, graph = obs.site, passpilot.interference_graph(obs.site.function)
        roots = [getattr(site, "candidate", None) or site.live_range]
        if obs.point == "ra-order":
            roots = site.live_ranges
        numbers = [each.number for each in roots]
        rows, reached = near(graph, numbers, self.hops, self.nodes)
        self.check_nodes(obs["graph_nodes"], graph, rows, reached)
        found = self.check_edges(obs["graph_edges"], graph, rows)
        kept = min(found, self.edges)
        assert obs["graph_counts"].tolist() == [len(rows), kept]
        if len(rows) < self.nodes:
            assert obs["graph_left_out"].tolist() == [0, found - kept]
        self.left_out += int(obs["graph_left_out"].sum())
        if obs.point != "ra-action":
            self.check_columns(obs, rows)
        self.asked += 1
        legal = obs["mask"][0].nonzero()[0]
        return int(legal[self.asked % len(legal)]) if self.draws else int(obs.default())

    def check_nodes(
        self, held: Any, graph: networkx.Graph[int], rows: list[int], reached: dict[int, int]
    ) -> None:
        assert held.shape == (self.nodes, len(NODE_COLUMNS))
        assert not held[len(rows) :].any()
        for number, values in zip(rows, held, strict=False):
            row, node = dict(zip(NODE_COLUMNS, values.tolist(), strict=True)), graph.nodes[number]
            spillable = node["is_spillable"]
            assert row["distance"] == reached[number]
            assert row["is_spillable"] == spillable
            assert row["weight"] == pytest.approx(node["weight"] if spillable else 0)
            assert row["spill_cost"] == pytest.approx(node["spill_cost"] if spillable else 0)
            assert row["size"] == node["size"]
            assert row["is_assigned"] == (node["assigned"] is not None)
            assert row["class_size"] > 0
            assert row["operands"] > 0
            self.assigned += node["assigned"] is not None

    def check_edges(self, held: Any, graph: networkx.Graph[int], rows: list[int]) -> int:
        place = {number: row for row, number in enumerate(rows)}
        expected = [
            (place[number], place[other])
            for number in rows
            for other in sorted(graph[number])
            if other in place
        ]
        assert list(zip(*held[:, : len(expected)].tolist(), strict=True)) == expected[: self.edges]
        assert not held[:, len(expected) :].any()
        return len(expected)

    def check_columns(self, obs: Any, rows: list[int]) -> None:
        columns = obs["graph_columns"]
        assert columns.shape == (POINTS[obs.point][0], self.nodes)
        assert not columns[:, len(rows) :].any()
        marked = [{rows[row] for row in np.flatnonzero(column)} for column in columns]
        if obs.point == "evict":
            for column, numbers in zip(obs.site.columns, marked, strict=False):
                assert numbers == {each.number for each in column.interferences} & set(rows)
            assert marked[32] == {rows[0]}
        elif obs.point == "ra-order":
            asked = [{each.number} & set(rows) for each in obs.site.live_ranges]
            assert marked == asked + [set()] * (len(marked) - len(asked))
        elif obs.point == "ra-colour":
            assert not any(numbers for numbers, free in zip(marked, obs["is_free"][0], strict=True) if free)
            assert rows[0] not in set().union(*marked)
        else:
            legal = obs["mask"][0] != 0
            assert [rows[0] in numbers for numbers in marked] == legal.tolist()


@pytest.mark.parametrize(("nodes", "edges", "hops"), [(256, 32768, 1), (5, 3, 1), (64, 8192, 2), (8, 40, 0)])
def test_at_evict_they_are_the_graph_near_the_candidate(nodes: int, edges: int, hops: int) -> None:
    passpilot.graph_features("evict", nodes=nodes, edges=edges, hops=hops)
    checker = Checker(nodes=nodes, edges=edges, hops=hops)
    source = passpilot.Module.read(scarce.long_function(3))
    passpilot.emit(source, "obj", advisors=[passpilot.EvictAdvisor(checker.decide)])
    assert checker.asked > 30
    assert checker.left_out or nodes > 5
    assert checker.assigned or hops == 0


@pytest.mark.parametrize("point", STEPS)
@pytest.mark.parametrize(("nodes", "edges", "hops"), [(96, 8192, 1), (33, 100, 2)])
def test_at_the_steps_they_are_the_graph_near_the_question(
    point: str, nodes: int, edges: int, hops: int
) -> None:
    passpilot.graph_features(point, nodes=nodes, edges=edges, hops=hops)
    checker = Checker(nodes=nodes, edges=edges, hops=hops)
    advised(scarce.long_function(2), {point: checker.decide})
    assert checker.asked > 3


def answers(log: Path, model: Path, advice: str) -> tuple[list[int], list[int]]:
    """What the log says was answered, and what the network answers in onnxruntime."""
    arrays = read_log(log).to_arrays()
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]
    expected = []
    for number, mask in enumerate(arrays["mask"][:, 0]):
        scores = session.run(None, {name: arrays[name][number] for name in names})[0][0]
        expected.append(int(np.where(mask != 0, scores, -np.inf).argmax()))
    return arrays[advice][:, 0].tolist(), expected


def test_a_graph_network_evicts_alike_here_and_in_stock_llc(pressed: Path, tmp_path: Path) -> None:
    passpilot.graph_features("evict")
    model = graph_network(tmp_path / "m.onnx", "evict")
    with passpilot.EvictAdvisor(f"onnx:{model}", log=str(tmp_path / "here.log")) as advisor:
        code = allocated(pressed, advisor)
    answered, expected = answers(tmp_path / "here.log", model, "index_to_evict")
    assert answered == expected
    assert len(set(answered)) > 3
    (tmp_path / "load.py").write_text('import passpilot\npasspilot.graph_features("evict")\n')
    common = ("-O2", "-filetype=obj", "-relocation-model=pic", "-passpilot-load=load.py")
    flags = (f"-passpilot-evict=onnx:{model}", "-passpilot-log=there.log")
    flags = (f"-passpilot-evict=onnx:{model}", f"-passpilot-log={tmp_path / 'there.log'}")
    common = ("-O2", "-filetype=obj", "-relocation-model=pic", f"-passpilot-load={tmp_path / 'load.py'}")
    assert made("llc", tmp_path / "there.o", *common, *flags, pressed) == code
    assert (tmp_path / "there.log").read_bytes() == (tmp_path / "here.log").read_bytes()


def test_four_graph_networks_allocate_alike_here_and_in_stock_llc(pressed: Path, tmp_path: Path) -> None:
    lines, runners = ["import passpilot"], {}
    for point in STEPS:
        passpilot.graph_features(point, nodes=48, edges=512)
        lines.append(f"passpilot.graph_features({point!r}, nodes=48, edges=512)")
        model = graph_network(tmp_path / f"{point}.onnx", point, nodes=48, edges=512)
        runners[point] = f"onnx:{model}"
    code = emitted_by(pressed, runners, tmp_path)
    advice = {point: passpilot.find_point(point).advice.name for point in STEPS}
    for point in STEPS:
        answered, expected = answers(tmp_path / f"{point}.log", tmp_path / f"{point}.onnx", advice[point])
        assert answered == expected
    (tmp_path / "load.py").write_text("\n".join(lines))
    flags = [f"-passpilot-{point}={runner}" for point, runner in runners.items()]
    assert by_stock_llc(pressed, tmp_path, f"-passpilot-load={tmp_path / 'load.py'}", *flags) == code


def test_they_cost_nothing_that_is_not_read(pressed: Path, pressed_by_llc: bytes) -> None:
    passpilot.graph_features("evict", nodes=3, edges=3)
    assert allocated(pressed, passpilot.EvictAdvisor(lambda obs: obs.default())) == pressed_by_llc


@pytest.mark.parametrize(
    ("point", "sizes", "told"),
    [
        (
            "inline",
            {},
            "expected a point among evict, ra-order, ra-action, ra-colour, ra-split, got 'inline'",
        ),
        ("evict", {"nodes": 0}, "expected nodes of 1 to 65536, got 0"),
        ("evict", {"edges": True}, "expected edges of 1 to 65536, got True"),
        ("evict", {"hops": -1}, "expected hops of 0 to 65536, got -1"),
    ],
)
def test_what_cannot_be_is_refused(point: str, sizes: dict[str, int], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        passpilot.graph_features(point, **sizes)


def test_they_are_registered_once_for_each_point() -> None:
    passpilot.graph_features("evict")
    passpilot.graph_features("ra-action")
    with pytest.raises(FeatureError, match="graph_nodes"):
        passpilot.graph_features("evict")
    assert passpilot.find_point("ra-action").find("graph_columns") is None
