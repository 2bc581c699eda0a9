# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`interference_graph`: the interference graph of a function during register allocation, in networkx.

For policies that need more than one live range's features. The core tracks LLVM's changes to the live
ranges; every call applies the changes since the last call to the same graph.
"""

from __future__ import annotations

from typing import TypeAlias, cast

import networkx

from passpilot.plugin import _core
from passpilot.plugin.errors import UsageError

Graph: TypeAlias = "networkx.Graph[int]"


class _Kept:
    """A function's graph, and the version of the core's graph that it mirrors."""

    def __init__(self, function: _core.MachineFunction) -> None:
        self.graph: Graph = networkx.Graph(function=function.name, triple=function.triple)
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


def interference_graph(function: object) -> Graph:
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
