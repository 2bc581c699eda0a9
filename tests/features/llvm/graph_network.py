# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small graph networks with seeded weights, as ONNX models of what `graph_features` offers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

from passpilot.features.llvm.native.graph import NODE_COLUMNS, POINTS
from passpilot.features.point import find_point

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

HIDDEN: Final = 8


def graph_network(path: Path, point: str, *, nodes: int = 64, edges: int = 1024) -> Path:
    """Two rounds of messages between live ranges that overlap; then a score for each column of the answer.

    At `ra-action` the first row gives the scores. Edges behind the count are 0 to 0 and send nothing.
    """
    columns, advice = POINTS[point][0], find_point(point).domain.count  # type: ignore[union-attr]
    rng = np.random.default_rng(4)
    shapes = {"w0": (len(NODE_COLUMNS), HIDDEN), "out": (HIDDEN, 1 if columns else advice)}
    shapes |= dict.fromkeys(("own1", "got1", "own2", "got2"), (HIDDEN, HIDDEN))
    weights = {name: rng.normal(0, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    constants: dict[str, NDArray[np.generic]] = {
        **weights,
        "range": np.arange(edges, dtype=np.int64)[:, None],
        "nothing": np.zeros((nodes, HIDDEN), np.float32),
        "unit": np.array(1, np.float32),
        "shape": np.array([1, advice], np.int64),
        "first": np.array(0, np.int64),
        "second": np.array(1, np.int64),
        "axis": np.array([1], np.int64),
        "row": np.array([0], np.int64),
    }
    make = helper.make_node
    operations = [
        make("Abs", ["graph_nodes"], ["positive"]),
        make("Add", ["positive", "unit"], ["one_more"]),
        make("Log", ["one_more"], ["scaled"]),
        make("MatMul", ["scaled", "w0"], ["mixed"]),
        make("Tanh", ["mixed"], ["h0"]),
        make("Gather", ["graph_edges", "first"], ["from"], axis=0),
        make("Gather", ["graph_edges", "second"], ["to_flat"], axis=0),
        make("Unsqueeze", ["to_flat", "axis"], ["to"]),
        make("Gather", ["graph_counts", "second"], ["count"], axis=0),
        make("Less", ["range", "count"], ["is_there"]),
        make("Cast", ["is_there"], ["weight"], to=TensorProto.FLOAT),
    ]
    for step in (1, 2):
        operations += [
            make("Gather", [f"h{step - 1}", "from"], [f"sent{step}"], axis=0),
            make("Mul", [f"sent{step}", "weight"], [f"real{step}"]),
            make("ScatterND", ["nothing", "to", f"real{step}"], [f"sum{step}"], reduction="add"),
            make("MatMul", [f"sum{step}", f"got{step}"], [f"a{step}"]),
            make("MatMul", [f"h{step - 1}", f"own{step}"], [f"b{step}"]),
            make("Add", [f"a{step}", f"b{step}"], [f"c{step}"]),
            make("Tanh", [f"c{step}"], [f"h{step}"]),
        ]
    last = "seen" if columns else "first_row"
    operations += [
        make("MatMul", ["graph_columns", "h2"], ["seen"])
        if columns
        else make("Gather", ["h2", "row"], [last]),
        make("MatMul", [last, "out"], ["scores"]),
        make("Reshape", ["scores", "shape"], ["logits"]),
    ]
    kinds = {"graph_nodes": TensorProto.FLOAT, "graph_columns": TensorProto.FLOAT}
    inputs = [
        helper.make_tensor_value_info(name, kinds.get(name, TensorProto.INT64), shape)
        for name, shape in {
            "graph_nodes": [nodes, len(NODE_COLUMNS)],
            "graph_edges": [2, edges],
            "graph_counts": [2],
            **({"graph_columns": [columns, nodes]} if columns else {}),
        }.items()
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, advice])]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(operations, "graph-network", inputs, outputs, held)
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)]), str(path))
    return path
