# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`GraphBuilder`: writes a policy as an ONNX graph; `policy_model` makes the whole model.

The model has one input, ``features`` of float32[N, elements], whose columns are named in the metadata, so
that ``onnx:model.onnx`` binds it without ``map=``. What it answers fits the domain: a probability for
`inline`, the decision for other flags, a score for every choice, the number itself. Everything between is in
operators that `passpilot aot` compiles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from passpilot.features.columns import name_columns
from passpilot.features.domain import Choice, Flag, Number
from passpilot.plugin.extras import needs
from passpilot.training.data.matrix import LARGEST
from passpilot.training.data.normalization import LIMIT

with needs("train", "export to ONNX"):
    import onnx
    from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from passpilot.training.data.matrix import Arrangement
    from passpilot.training.data.normalization import FeatureStatistics
    from passpilot.training.learning.learner import RatingModel, Scaling

OPSET: Final = 17
ML_OPSET: Final = 3
IR_VERSION: Final = 8
"""Versions that onnxruntime 1.20 and `passpilot aot` read."""

INPUT: Final = "features"
NAME: Final = "passpilot policy"


class GraphBuilder:
    """The nodes and constants of a graph; methods return the name of what they add."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: NDArray[np.generic], hint: str = "constant") -> str:
        """A constant."""
        name = f"{hint}_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """A node of one output; the attribute ``domain`` is that of the operator."""
        output = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

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


def policy_model(
    learner: RatingModel, arrangement: Arrangement, scaling: Scaling, facts: Mapping[str, str]
) -> onnx.ModelProto:
    """The policy as a model; `facts` come into its metadata."""
    graph = GraphBuilder()
    rows = graph.finite(INPUT) if arrangement.has_floats else INPUT
    if arrangement.by_column:
        rows = graph.extended(rows, arrangement)
        places = graph.constant(arrangement.places().reshape(-1), "places")
        shape = graph.constant(np.array([-1, len(arrangement.names)], np.int64), "shape")
        rows = graph.add("Reshape", graph.add("Gather", rows, places, axis=1), shape)
    scores = learner.build(graph, rows)
    name, kind, columns = _answer(graph, scores, arrangement, scaling)
    elements: list[int | str | None] = ["N", arrangement.elements]
    made = helper.make_graph(
        graph.nodes,
        NAME,
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, elements)],
        [helper.make_tensor_value_info(name, kind, ["N", columns])],
        graph.constants,
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    model = helper.make_model(made, opset_imports=opsets, producer_name="passpilot", ir_version=IR_VERSION)
    for key, value in facts.items():
        model.metadata_props.add(key=key, value=value)
    name_columns(model, [spec.name for spec in arrangement.features])
    onnx.checker.check_model(model)
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
    low, high = (graph.constant(np.array(each, np.float32), "limit") for each in _float_limits(domain))
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


def tree_attributes(trees: Sequence[Mapping[str, object]], targets: Sequence[int]) -> dict[str, Any]:
    """The attributes of a TreeEnsembleRegressor for trees of LightGBM, each with its target."""
    nodes = _TreeNodes()
    for number, (tree, target) in enumerate(zip(trees, targets, strict=True)):
        nodes.add_tree(number, target, tree)
    return nodes.attributes()


class _TreeNodes:
    """Collects the nodes of trees."""

    def __init__(self) -> None:
        self._nodes: list[tuple[int, int, int, str, float, int, int]] = []
        self._leaves: list[tuple[int, int, int, float]] = []
        self._next = 0

    def add_tree(self, tree: int, target: int, root: Mapping[str, object]) -> None:
        """Add a tree in the order of depth."""
        self._next = 0
        self._add(tree, target, root)

    def _add(self, tree: int, target: int, node: Mapping[str, object]) -> int:
        number, self._next = self._next, self._next + 1
        place = len(self._nodes)
        self._nodes.append((tree, number, 0, "LEAF", 0.0, 0, 0))
        if "split_feature" not in node:
            self._leaves.append((tree, number, target, _number(node["leaf_value"])))
            return number
        left, right = node["left_child"], node["right_child"]
        assert isinstance(left, dict), "LightGBM's own"
        assert isinstance(right, dict), "LightGBM's own"
        true = self._add(tree, target, left)
        false = self._add(tree, target, right)
        feature, limit = int(_number(node["split_feature"])), _below(_number(node["threshold"]))
        self._nodes[place] = tree, number, feature, "BRANCH_LEQ", limit, true, false
        return number

    def attributes(self) -> dict[str, object]:
        """As ONNX has them."""
        tree, number, feature, mode, value, true, false = zip(*self._nodes, strict=True)
        leaf_tree, leaf_number, target, weight = zip(*self._leaves, strict=True)
        return {
            "nodes_treeids": tree,
            "nodes_nodeids": number,
            "nodes_featureids": feature,
            "nodes_modes": mode,
            "nodes_values": value,
            "nodes_truenodeids": true,
            "nodes_falsenodeids": false,
            "nodes_hitrates": [1.0] * len(self._nodes),
            "nodes_missing_value_tracks_true": [0] * len(self._nodes),
            "target_treeids": leaf_tree,
            "target_nodeids": leaf_number,
            "target_ids": target,
            "target_weights": weight,
        }


def _number(value: object) -> float:
    assert isinstance(value, (int, float)), "LightGBM's own"
    return float(value)


def _below(value: float) -> float:
    """The largest float32 that is not above `value`: float32 features are on the same side of it."""
    with np.errstate(over="ignore"):
        rounded = np.float32(value)
    if float(rounded) > value:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return float(rounded)
