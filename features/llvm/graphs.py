# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of the compiler's state in networkx: `call_graph`, `control_flow_graph` and `interference_graph`.

Every call of the first two builds a new graph of the present IR, which the caller may change. The third is
for policies of register allocation that need more than one live range's features. The core tracks LLVM's
changes to the live ranges; every call applies the changes since the last call to the same graph.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias, cast

import networkx

from passpilot.plugin import _core
from passpilot.plugin.errors import UsageError
from passpilot.plugin.ir import Function, ModuleIR

CallGraph: TypeAlias = "networkx.DiGraph[Function]"
ControlFlowGraph: TypeAlias = "networkx.DiGraph[int]"
InterferenceGraph: TypeAlias = "networkx.Graph[int]"


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


class _Kept:
    """A function's graph, and the version of the core's graph that it mirrors."""

    def __init__(self, function: _core.MachineFunction) -> None:
        self.graph: InterferenceGraph = networkx.Graph(function=function.name, triple=function.triple)
        self.version = 0

    def update(self, function: _core.MachineFunction) -> None:
        # Applying the same changes twice is harmless, so the next call repairs an interrupted one.
        version, removed, nodes, unlinked, linked = function.interference(self.version)
        graph = self.graph
        graph.remove_nodes_from(removed)
        graph.remove_edges_from(unlinked)
        graph.add_nodes_from(nodes)
        graph.add_edges_from(linked)
        self.version = version


def interference_graph(function: object) -> InterferenceGraph:
    """The present interference graph of the function whose registers are being allocated.

    A node is the number of a virtual register with a live range. Its attributes:

    - ``register``: ``"%12"``, as in LLVM's output; ``register_class``: ``"gr64"``
    - ``weight``: LLVM's spill weight, the spill cost divided by the size; infinite if it cannot be spilled
    - ``size``: present length of the segments, 16 per instruction
    - ``spill_cost``: ``weight * (size + 400)``, about LLVM's estimate of the cost (frequency of definitions
      and uses): LLVM divides that by ``size + 400`` to get the weight, and the size may change a little later
    - ``hint``: LLVM's first hint, ``"rdi"`` or another virtual register ``"%7"``, or None
    - ``assigned``: its physical register, ``"rax"``, or None
    - ``is_spillable``: False for the short ranges that spilling leaves behind

    An edge joins two live ranges that overlap and whose register classes share an allocatable register
    unit. ``graph.graph`` has ``function`` and ``triple``.

    All calls during one function's allocation, from any advisor, return the same graph object and update it
    in place, at the cost of what has changed and of the ranges beside it. You may add attributes, but must
    not change nodes or edges until the function's allocation has ended.

    Args:
        function: ``obs.site.function`` at a decision of ``evict`` or ``priority``.

    Raises:
        UsageError: `function` is something else.
        StaleViewError: the decision is over.
    """
    if not isinstance(function, _core.MachineFunction):
        raise UsageError(
            "interference_graph: expected obs.site.function of an evict or priority decision, "
            f"got {type(function).__name__}; the graph exists during register allocation only"
        )
    kept = cast("_Kept", function.kept(lambda: _Kept(function)))
    kept.update(function)
    return kept.graph
