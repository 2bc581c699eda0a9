# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`call_graph` and `control_flow_graph`: graphs of LLVM IR as networkx graphs.

Every call builds a new graph of the present IR, which the caller may change.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias

import networkx

from passpilot.plugin.ir import Function, ModuleIR

CallGraph: TypeAlias = "networkx.DiGraph[Function]"
ControlFlowGraph: TypeAlias = "networkx.DiGraph[int]"


def call_graph(module: ModuleIR) -> CallGraph:
    """The direct calls between the functions of a module; calls through pointers are left out.

    A node is a `Function` that is no intrinsic, with the attributes ``name``, ``is_declaration`` and
    ``instruction_count``. An edge's ``calls`` is the number of call sites.
    """
    graph: CallGraph = networkx.DiGraph(module=module)
    functions = [function for function in module.functions if not function.is_intrinsic]
    for function in functions:
        graph.add_node(
            function,
            name=function.name,
            is_declaration=function.is_declaration,
            instruction_count=function.instruction_count,
        )
    for function in functions:
        callees = Counter(callee for site in function.call_sites if (callee := site.callee))
        for callee, calls in callees.items():
            if callee in graph:
                graph.add_edge(function, callee, calls=calls)
    return graph


def control_flow_graph(function: Function, *, frequencies: bool = False) -> ControlFlowGraph:
    """The blocks of a function and the edges between them.

    A node is a block's position in the function, 0 being the entry, with the attributes ``block`` (the
    `BasicBlock`), ``name`` and ``instruction_count``.

    Args:
        function: a function with a body.
        frequencies: add LLVM's estimates: a ``frequency``, in executions per call, to each node, and a
            ``probability`` to each edge.
    """
    graph: ControlFlowGraph = networkx.DiGraph(function=function)
    numbers = {block: number for number, block in enumerate(function.blocks)}
    for block, number in numbers.items():
        graph.add_node(number, block=block, name=block.name, instruction_count=len(block.instructions))
    for block, number in numbers.items():
        graph.add_edges_from((number, numbers[successor]) for successor in block.successors)
    if frequencies:
        for block, number in numbers.items():
            graph.nodes[number]["frequency"] = block.frequency
            for successor in block.successors:
                edge = graph.edges[number, numbers[successor]]
                edge["probability"] = block.probability_to(successor)
    return graph
