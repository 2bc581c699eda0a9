# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`call_graph` and `control_flow_graph`: the IR's graphs, as networkx has them.

Each call makes a new graph of the IR as it is then; it is yours.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import networkx

if TYPE_CHECKING:
    from typing import TypeAlias

    from passpilot.plugin.ir import Function, ModuleIR

    CallGraph: TypeAlias = "networkx.DiGraph[Function]"
    ControlFlowGraph: TypeAlias = "networkx.DiGraph[int]"


def call_graph(module: ModuleIR) -> CallGraph:
    """Who calls whom directly in a module; calls through pointers are not in it.

    A node is a `Function`, intrinsics apart, with the attributes ``name``, ``is_declaration`` and
    ``instruction_count``. An edge's ``calls`` says how many call sites there are.
    """
    graph: CallGraph = networkx.DiGraph(module=module)
    functions = [each for each in module.functions if not each.is_intrinsic]
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
        function: one with a body.
        frequencies: give each node a ``frequency``, executions per call, and each edge a ``probability``,
            both as LLVM estimates them.
    """
    graph: ControlFlowGraph = networkx.DiGraph(function=function)
    numbers = {block: number for number, block in enumerate(function.blocks)}
    for block, number in numbers.items():
        graph.add_node(number, block=block, name=block.name, instruction_count=len(block.instructions))
    for block, number in numbers.items():
        graph.add_edges_from((number, numbers[each]) for each in block.successors)
    if frequencies:
        for block, number in numbers.items():
            graph.nodes[number]["frequency"] = block.frequency
            for each in block.successors:
                graph.edges[number, numbers[each]]["probability"] = block.probability_to(each)
    return graph
