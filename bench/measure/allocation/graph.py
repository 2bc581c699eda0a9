# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the interference graph at every question: the cost of updating it, and of building it anew.

It compiles generated functions of three sizes under random policies, which evict, split and spill a lot, and
a real program under LLVM's default, for its function with the most questions. "Update" is the mean time of
`interference_graph()` after the first call in a function; "anew" is the median time of building the same
graph, the core's and networkx's, from scratch at a sample of the questions.

Then it compiles lz4 with a small ONNX model that reads 153,300 floats of the graph at each of its decisions,
in the compiler and over `grpc:`, in turns; the least of three. On a virtual machine a bare exchange over TCP
at every decision, with the model in the compiler, takes 1.3 to 1.6 times the time already. So the bars are
1.75 for the time relative to that, and 3 for the time relative to no exchange.
"""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import networkx

from bench.lib import Bar, command, settle, show
from bench.measure.runners.compilations import graph_over_grpc
from passpilot import EvictAdvisor, Module, PriorityAdvisor, emit, interference_graph
from passpilot.runners.python import Observation
from tests.features.llvm.scarce import long_function
from tests.passes.allocation.allocated import optimized

SAMPLES: Final = 20  # at questions 1, 2, 4, 8, ...


@dataclass
class Row:
    """The figures of one function; times in seconds."""

    function: str
    ranges: int = 0
    edges: int = 0
    questions: int = 0
    first: float = 0
    update: float = 0
    anew: list[float] = field(default_factory=list)


def built(function: Any) -> networkx.Graph[int]:
    """Build the graph from scratch."""
    _, _, nodes, _, edges = function.interference_afresh(False)
    graph: networkx.Graph[int] = networkx.Graph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


class Stopwatch:
    """A policy that asks for the graph at every question and measures the time."""

    def __init__(self, seed: int | None) -> None:
        self.random = random.Random(seed)
        self.follows = seed is None
        self.rows: dict[str, Row] = {}

    def decide(self, obs: Observation) -> object:
        """Measure, then answer: LLVM's default, or a random legal column or number."""
        self.look(obs.site.function)  # type: ignore[attr-defined]
        if self.follows:
            return obs.default()
        if obs.point == "evict":
            return self.random.choice(obs["mask"][0].nonzero()[0].tolist())
        return self.random.randrange(2**32)

    def look(self, function: Any) -> None:
        """Measure one call, and for a sample of the questions a graph built anew."""
        start = time.perf_counter()
        graph = interference_graph(function)
        seconds = time.perf_counter() - start
        row = self.rows.setdefault(function.name, Row(function.name))
        row.questions += 1
        if row.questions == 1:
            row.first = seconds
        else:
            row.update += seconds
        row.ranges = max(row.ranges, len(graph))
        if len(row.anew) == SAMPLES or row.questions < 2 ** len(row.anew):
            return
        row.edges = max(row.edges, graph.number_of_edges())
        start = time.perf_counter()
        again = built(function)
        row.anew.append(time.perf_counter() - start)
        assert dict(again.nodes.items()) == dict(graph.nodes.items())
        assert dict(again.adj) == dict(graph.adj)

    def run(self, source: str | bytes | Path) -> Row:
        """Generate code; the figures of the function with the most questions."""
        emit(Module.read(source), "obj", advisors=[EvictAdvisor(self.decide), PriorityAdvisor(self.decide)])
        return max(self.rows.values(), key=lambda row: row.questions)


@command
def main(program: str = "libyaml") -> None:
    functions = {f"{groups} blocks": Stopwatch(1).run(long_function(groups)) for groups in (20, 80, 320)}
    real = Stopwatch(None).run(optimized(program))
    rows = {}
    for name, function in {**functions, real.function[:24]: real}.items():
        update, anew = function.update / (function.questions - 1), statistics.median(function.anew)
        rows[name] = {
            "ranges": function.ranges,
            "edges": function.edges,
            "questions": function.questions,
            "first, ms": function.first * 1e3,
            "update, µs": update * 1e6,
            "anew, ms": anew * 1e3,
            "ratio": anew / update,
        }
    show("the interference graph", "function", rows)
    seconds = graph_over_grpc()
    over = seconds["grpc:"]
    bare = "in process, and a bare TCP exchange per decision"
    slowest = min(row["ratio"] for row in rows.values())
    settle(
        Bar("an update of the graph, times as fast", slowest, 20, "building it anew", least=True),
        Bar("a model of the graph over `grpc:`", over / seconds["in process"], 3, "in process"),
        Bar("a model of the graph over `grpc:`", over / seconds["exchange"], 1.75, bare),
    )
