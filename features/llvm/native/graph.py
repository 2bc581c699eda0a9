# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`graph_features`: the interference graph around a question of register allocation, as tensors.

A graph network gets the live ranges near the decision as rows of a matrix, the overlaps between them as an
edge list, and a matrix that leads from live ranges to the answers. The core fills the tensors from the graph
that `interference_graph` shows whole; it allocates no memory for them at a decision.
"""

from __future__ import annotations

from typing import Final

from passpilot.features.custom import register_native
from passpilot.features.llvm.allocator import COLUMNS
from passpilot.features.llvm.evict import COLUMNS as EVICT_COLUMNS
from passpilot.features.point import Feature, row
from passpilot.plugin import _core
from passpilot.plugin.errors import UsageError
from passpilot.plugin.origin import definition_origin

NODE_COLUMNS: Final = {
    "distance": "edges to the live ranges that the question is about; 0 for these",
    "weight": "its spill weight; 0 if it must not be spilled",
    "is_spillable": "0 if it must not be spilled",
    "size": "length of all its segments; 16 per instruction",
    "spill_cost": "about LLVM's estimate of the cost of a spill; 0 if it must not be spilled",
    "class_size": "registers of its class that can be allocated",
    "is_local": "1 if it is within one basic block",
    "is_hinted": "1 if a copy hints at a register for it",
    "is_assigned": "1 if it has a register",
    "operands": "operands that read or write it",
    "loop_depth": "depth of the deepest loop with such an operand",
}
"""What a row of ``graph_nodes`` says about a live range, in order."""

POINTS: Final = {
    "evict": (EVICT_COLUMNS, "is in the way in that register; 32: it is the candidate"),
    "ra-order": (COLUMNS, "is that column's"),
    "ra-action": (0, ""),
    "ra-colour": (COLUMNS, "has that register, or one that overlaps it"),
    "ra-split": (COLUMNS, "is live in that region"),
}
"""For each point the columns of its answer, and when a live range has to do with one."""

_LARGEST: Final = 1 << 16


def graph_features(point: str, *, nodes: int = 64, edges: int = 1024, hops: int = 1) -> None:
    """Give a point the interference graph around each question, as tensors for graph networks.

    - ``graph_nodes``, ``float32[nodes,11]``: a row for each live range, as in `NODE_COLUMNS`: first those
      that the question is about, then their neighbours. Of the neighbours of a row, those with a register
      come first, in the order of LLVM's numbers.
    - ``graph_edges``, ``int64[2,edges]``: the rows of two live ranges that overlap and could want the same
      register. Each edge is there in both directions.
    - ``graph_counts``, ``int64[2]``: how many rows and edges there are; behind them, all is 0
    - ``graph_left_out``, ``int64[2]``: how many live ranges, and edges between rows, found no place
    - ``graph_columns``, ``float32[columns,nodes]``: 1 where a live range has to do with a column of the
      answer: at ``evict`` and ``ra-colour`` it has that register, at ``ra-order`` it is the column's, at
      ``ra-split`` it is live in the region. ``ra-action`` has no such tensor: its question is about row 0.

    Args:
        point: ``evict``, ``ra-order``, ``ra-action``, ``ra-colour`` or ``ra-split``.
        nodes: the most live ranges.
        edges: the most edges, both directions counted.
        hops: how many edges from the question the graph reaches.

    Raises:
        UsageError: the point has no graph, or a number is out of range.
        FeatureError: the features are registered already.
    """
    if point not in POINTS:
        raise UsageError(f"graph features: expected a point among {', '.join(POINTS)}, got {point!r}")
    for name, value, least in (("nodes", nodes, 1), ("edges", edges, 1), ("hops", hops, 0)):
        if type(value) is not int or not least <= value <= _LARGEST:
            raise UsageError(f"graph features: expected {name} of {least} to {_LARGEST}, got {value!r}")
    columns, relation = POINTS[point]
    rows = [
        row("graph_nodes", "live ranges around the question", "float32", (nodes, len(NODE_COLUMNS))),
        row("graph_edges", "pairs of rows whose live ranges overlap, in both directions", shape=(2, edges)),
        row("graph_counts", "rows and edges that there are", shape=(2,)),
        row("graph_left_out", "live ranges and edges that found no place", shape=(2,)),
    ]
    if columns:
        doc = f"1 if the live range {relation}"
        rows.append(row("graph_columns", doc, "float32", (columns, nodes)))
    origin = definition_origin()
    features = _core.graph_features(nodes, edges, columns, hops)[: len(rows)]
    register_native(point, [Feature(each.spec, each.doc, origin) for each in rows], features)
