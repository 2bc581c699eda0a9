# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The call graph and the control flow graph, against LLVM's text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import networkx
import pytest

from passpilot.features.llvm.graphs import call_graph, control_flow_graph
from passpilot.plugin.module import Module
from tests import ir_text, stock


def test_a_call_graph_against_the_text(tmp_path: Path) -> None:
    path = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc")
    text = ir_text.parse(stock.run("opt", "-S", path).decode())
    graph = call_graph(Module.read(path))
    names = {node: data["name"] for node, data in graph.nodes(data=True)}
    assert set(names.values()) == {name for name in text.functions if not name.startswith("llvm.")}
    calls = {(names[a], names[b]): data["calls"] for a, b, data in graph.edges(data=True)}
    assert calls == Counter(
        (name, each.callee)
        for name, function in text.functions.items()
        for each in function.instructions
        if each.callee and not each.callee.startswith("llvm.")
    )
    assert calls["recursive", "recursive"] == 1
    assert sum(calls.values()) > 15


@pytest.mark.parametrize("frequencies", [False, True])
def test_control_flow_against_the_text(tmp_path: Path, frequencies: bool) -> None:
    path = stock.clang(stock.MANY_CALLS, tmp_path / "in.bc", "-fno-discard-value-names")
    text = ir_text.parse(stock.run("opt", "-S", path).decode())
    for function in Module.read(path).functions:
        if function.is_declaration:
            continue
        graph = control_flow_graph(function, frequencies=frequencies)
        names = {node: data["name"] for node, data in graph.nodes(data=True)}
        blocks = text.functions[function.name].blocks
        assert list(names.values()) == [each.name for each in blocks]
        assert {(names[a], names[b]) for a, b in graph.edges} == {
            (each.name, to) for each in blocks for to in each.instructions[-1].successors
        }
        assert [data["instruction_count"] for _, data in graph.nodes(data=True)] == [
            len(each.instructions) for each in blocks
        ]
        assert graph.graph["function"] == function
        if frequencies:
            assert graph.nodes[0]["frequency"] == 1
            for node in graph:
                out = sum(data["probability"] for _, _, data in graph.out_edges(node, data=True))
                assert out == pytest.approx(1) or not graph.out_degree(node)


def test_graphs_are_of_the_ir_as_it_is(tmp_path: Path) -> None:
    module = Module.read(stock.clang(stock.MANY_CALLS, tmp_path / "in.bc"))
    call = next(each for f in module.functions for each in f.call_sites if each.callee and each.inline_cost)
    caller, callee = call.caller, call.callee
    assert callee is not None
    calls, blocks = call_graph(module).edges[caller, callee]["calls"], len(control_flow_graph(caller))
    caller.blocks[0].instructions[-1].split_before("tail")
    call.inline()
    assert call_graph(module).get_edge_data(caller, callee, {"calls": 0})["calls"] == calls - 1
    graph = control_flow_graph(caller)
    assert len(graph) > blocks
    assert list(graph.successors(0)) == [1]


def test_dominators_of_a_real_program(corpus: Callable[[str, str], Path]) -> None:
    """networkx and LLVM agree about who dominates whom."""
    module = Module.read(corpus("libyaml", "Oz"))
    checked = 0
    for function in [each for each in module.functions if len(each.blocks) > 8][:15]:
        graph = control_flow_graph(function)
        for node, parent in networkx.immediate_dominators(graph, 0).items():
            if node != 0:
                block = graph.nodes[node]["block"]
                assert block.immediate_dominator == graph.nodes[parent]["block"]
                checked += 1
    assert checked > 100
