# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`GraphBuilder`: writes a model as an ONNX graph; `onnx_model` makes the whole file.

The model has one input, ``features`` of float32[N, elements], whose columns are named in the metadata, so
that ``onnx:model.onnx`` binds it without ``map=``. What it answers fits the domain: a probability for
`inline`, the decision for other flags, a score for every choice, the number itself. Everything between is in
operators that `passpilot aot` compiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from passpilot.features.columns import name_columns
from passpilot.features.domain import Choice, Flag, Number
from passpilot.plugin.extras import needs
from passpilot.training.data.matrix import LARGEST, Arrangement
from passpilot.training.data.normalization import LIMIT, FeatureStatistics
from passpilot.training.learning.learner import RatingModel, Scaling

with needs("train", "export to ONNX"):
    import onnx
    from onnx import TensorProto, helper, numpy_helper


OPSET: Final = 17
ML_OPSET: Final = 3
IR_VERSION: Final = 8
"""Versions that onnxruntime 1.20 and `passpilot aot` read."""

INPUT: Final = "features"
NAME: Final = "passpilot policy"

_NODES: Final = (
    *(f"nodes_{name}" for name in ("treeids", "nodeids", "featureids", "modes", "values")),
    *("nodes_truenodeids", "nodes_falsenodeids", "nodes_hitrates", "nodes_missing_value_tracks_true"),
)
_LEAVES: Final = ("target_treeids", "target_nodeids", "target_ids", "target_weights")


class GraphBuilder:
    """The nodes and constants of a graph; methods return the name of what they add."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[np.generic], hint: str = "constant") -> str:
        name = f"{hint}_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """A node of one output; the attribute ``domain`` is that of the operator."""
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def model(
        self, name: str, rows: str, width: int, output: str, kind: int, columns: int
    ) -> onnx.ModelProto:
        """The graph as a model of one input, float32[N, width], and one output, `kind`[N, columns]."""
        graph = helper.make_graph(
            self.nodes,
            name,
            [helper.make_tensor_value_info(rows, TensorProto.FLOAT, ["N", width])],
            [helper.make_tensor_value_info(output, kind, ["N", columns])],
            self.constants,
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
        model = helper.make_model(
            graph, opset_imports=opsets, producer_name="passpilot", ir_version=IR_VERSION
        )
        onnx.checker.check_model(model)
        return model

    def normalized(self, rows: str, statistics: FeatureStatistics) -> str:
        """`FeatureStatistics.normalize`."""
        one, limit = np.float32(1), np.float32(LIMIT)
        size = self.add("Log", self.add("Add", self.add("Abs", rows), self.constant(np.array(one), "one")))
        compressed = self.add("Mul", self.add("Sign", rows), size)
        centred = self.add("Sub", compressed, self.constant(statistics.mean, "mean"))
        scaled = self.add("Mul", centred, self.constant(one / statistics.deviation, "scale"))
        low, high = self.constant(np.array(-limit), "low"), self.constant(np.array(limit), "high")
        return self.add("Clip", scaled, low, high)

    def extended(self, rows: str, arrangement: Arrangement) -> str:
        """`Arrangement.extended`."""
        if arrangement.own_choice is None:
            return rows
        place = self.constant(np.array([arrangement.own_choice], np.int64), "own")
        columns = self.constant(np.arange(arrangement.columns, dtype=np.float32), "columns")
        same = self.add("Equal", self.add("Gather", rows, place, axis=1), columns)
        return self.add("Concat", rows, self.add("Cast", same, to=TensorProto.FLOAT), axis=1)

    def finite(self, rows: str) -> str:
        """`Arrangement.flat` for features that may be infinite, or no numbers."""
        zero, largest = np.array(0, np.float32), np.array(LARGEST, np.float32)
        known = self.add("Where", self.add("IsNaN", rows), self.constant(zero, "zero"), rows)
        return self.add("Clip", known, self.constant(-largest, "low"), self.constant(largest, "high"))


def onnx_model(
    learner: RatingModel, arrangement: Arrangement, scaling: Scaling, facts: Mapping[str, str]
) -> onnx.ModelProto:
    """What decides in a compiler; `facts` come into its metadata."""
    graph = GraphBuilder()
    rows = graph.finite(INPUT) if arrangement.has_floats else INPUT
    if arrangement.by_column:
        rows = graph.extended(rows, arrangement)
        places = graph.constant(arrangement.places().reshape(-1), "places")
        shape = graph.constant(np.array([-1, len(arrangement.names)], np.int64), "shape")
        rows = graph.add("Reshape", graph.add("Gather", rows, places, axis=1), shape)
    scores = learner.build(graph, rows)
    model = graph.model(NAME, INPUT, arrangement.elements, *_answer(graph, scores, arrangement, scaling))
    for key, value in facts.items():
        model.metadata_props.add(key=key, value=value)
    name_columns(model, [spec.name for spec in arrangement.features])
    return model


def _answer(
    graph: GraphBuilder, scores: str, arrangement: Arrangement, scaling: Scaling
) -> tuple[str, int, int]:
    """Add what makes an answer of scores; its name, type and columns."""
    domain = arrangement.domain
    if isinstance(domain, Flag) and arrangement.point == "inline":
        return graph.add("Sigmoid", scores, output="probability"), TensorProto.FLOAT, 1
    if isinstance(domain, Flag):
        yes = graph.add("GreaterOrEqual", scores, graph.constant(np.array(0, np.float32), "zero"))
        return graph.add("Cast", yes, to=TensorProto.INT64, output="decision"), TensorProto.INT64, 1
    if isinstance(domain, Choice):
        shape = graph.constant(np.array([-1, domain.count], np.int64), "shape")
        return graph.add("Reshape", scores, shape, output="logits"), TensorProto.FLOAT, domain.count
    factor = graph.constant(np.array(scaling.factor, np.float32), "factor")
    offset = graph.constant(np.array(scaling.offset, np.float32), "offset")
    number = graph.add("Add", graph.add("Mul", scores, factor), offset)
    low, high = (graph.constant(np.array(limit, np.float32), "limit") for limit in _float_limits(domain))
    return graph.add("Clip", number, low, high, output="decision"), TensorProto.FLOAT, 1


def _float_limits(domain: Number) -> tuple[float, float]:
    """The domain's limits as floats that are within it."""
    with np.errstate(over="ignore"):
        low, high = np.float32(domain.low), np.float32(domain.high)
        if float(low) < domain.low:  # numpy would compare as float32
            low = np.nextafter(low, np.float32(np.inf))
        if float(high) > domain.high:
            high = np.nextafter(high, np.float32(-np.inf))
    return float(low), float(high)


def tree_attributes(trees: Sequence[Mapping[str, Any]], targets: Sequence[int]) -> dict[str, Any]:
    """The attributes of a TreeEnsembleRegressor for trees of LightGBM, each with its target."""
    nodes, leaves = [], []
    for tree, (root, target) in enumerate(zip(trees, targets, strict=True)):
        for number, (feature, limit, children, weight) in enumerate(_tree_rows(root)):
            true, false = (number + child for child in children) if children else (0, 0)
            mode = "BRANCH_LEQ" if children else "LEAF"
            nodes.append((tree, number, feature, mode, limit, true, false, 1.0, 0))
            if not children:
                leaves.append((tree, number, target, weight))
    return {
        **dict(zip(_NODES, zip(*nodes, strict=True), strict=True)),
        **dict(zip(_LEAVES, zip(*leaves, strict=True), strict=True)),
    }


def _tree_rows(node: Mapping[str, Any]) -> list[tuple[int, float, tuple[int, ...], float]]:
    """The nodes of a tree from the root on: feature, limit, how far behind it its children are, value."""
    if "split_feature" not in node:
        return [(0, 0.0, (), float(node["leaf_value"]))]
    left, right = _tree_rows(node["left_child"]), _tree_rows(node["right_child"])
    limit = _below(float(node["threshold"]))
    return [(int(node["split_feature"]), limit, (1, 1 + len(left)), 0.0), *left, *right]


def _below(value: float) -> float:
    """The largest float32 that is not above `value`: float32 features are on the same side of it."""
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if float(rounded) > value:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return float(rounded)
