# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`interference_graph`: the interference graph of a function during register allocation, as networkx has it.

For policies that want the whole picture rather than one live range's features. The core follows what LLVM
does to the live ranges; each call applies to the same graph what has changed since the call before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import networkx

from passpilot.plugin import _core
from passpilot.plugin.errors import UsageError

if TYPE_CHECKING:
    from typing import TypeAlias

    Graph: TypeAlias = "networkx.Graph[int]"


class _Kept:
    """A function's graph, and the version of the core's that it has reached."""

    def __init__(self, function: _core.MachineFunction) -> None:
        self.graph: Graph = networkx.Graph(function=function.name, triple=function.triple)
        self.version = 0

    def update(self, function: _core.MachineFunction) -> None:
        # Applying the same changes twice does no harm: if a call is interrupted, the next makes it good.
        version, removed, nodes, unlinked, linked = function.interference(self.version)
        graph = self.graph
        if removed:
            graph.remove_nodes_from(removed)
        if unlinked:
            graph.remove_edges_from(unlinked)
        if nodes:
            graph.add_nodes_from(nodes)
        if linked:
            graph.add_edges_from(linked)
        self.version = version


def interference_graph(function: object) -> Graph:
    """The interference graph of the function whose registers are being allocated, as it is now.

    A node is the number of a virtual register with a live range. Its attributes:

    - ``register``: ``"%12"``, as in LLVM's output; ``register_class``: ``"gr64"``
    - ``weight``: LLVM's spill weight, the cost of a spill by size; infinite if it cannot be spilled
    - ``size``: length of the segments, 16 per instruction, as LLVM counts it at this moment
    - ``spill_cost``: ``weight * (size + 400)``. LLVM divides its estimate of the cost (frequency of
      definitions and uses) by that when it computes the weight; the size may change a little afterwards
    - ``hint``: LLVM's first hint, ``"rdi"`` or another virtual register ``"%7"``, or None
    - ``assigned``: the physical register that it has, ``"rax"``, or None
    - ``is_spillable``: False for the short ranges that spilling leaves behind

    An edge joins two live ranges that overlap and whose classes have a register unit in common that may be
    allocated. ``graph.graph`` has ``function`` and ``triple``.

    All calls in one function's allocation, from whichever advisor, give the same graph object and update it
    in place, at a cost that follows what has changed. Attributes of your own may be added to it; its nodes
    and edges are not to be changed. After the function it changes no more, and is yours.

    Args:
        function: ``obs.site.function`` at a decision of ``evict`` or ``priority``.

    Raises:
        UsageError: it is something else.
        StaleViewError: the decision is over.
    """
    if not isinstance(function, _core.MachineFunction):
        msg = (
            "interference_graph: expected obs.site.function of an evict or priority decision, "
            f"got {type(function).__name__}; the graph exists during register allocation only"
        )
        raise UsageError(msg)
    kept = cast("_Kept", function.kept(lambda: _Kept(function)))
    kept.update(function)
    return kept.graph
