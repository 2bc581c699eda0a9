# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models like MLGO's: z-scores, roots and squares of quantile buckets, then a small perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from passpilot.features.spec import TensorSpec


class Graph:
    """Collects nodes and constants under unique names."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, array: NDArray[np.generic] | np.generic) -> str:
        """A constant."""
        self.constants.append(numpy_helper.from_array(np.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def add(self, op_type: str, *inputs: str, **attributes: object) -> str:
        """A node; the name of its output."""
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [name], **attributes))  # type: ignore[arg-type]
        return name

    def dense(self, x: str, rows: int, columns: int, *, transposed: bool = False) -> str:
        """A layer, by Gemm or by MatMul and Add."""
        weights = self.rng.normal(0, rows**-0.5, (columns, rows) if transposed else (rows, columns))
        bias = self.constant(self.rng.normal(0, 0.1, columns).astype(np.float32))
        if transposed:
            return self.add("Gemm", x, self.constant(weights.astype(np.float32)), bias, transB=1)
        return self.add("Add", self.add("MatMul", x, self.constant(weights.astype(np.float32))), bias)

    def model(self, inputs: Sequence[onnx.ValueInfoProto], output: str) -> onnx.ModelProto:
        """The model; its decision is an arg-max, int64."""
        decision = helper.make_tensor_value_info(output, TensorProto.INT64, None)
        logits = helper.make_tensor_value_info(self.nodes[-1].input[0], TensorProto.FLOAT, None)
        self.nodes[-1].output[0] = output
        graph = helper.make_graph(self.nodes, "mlgo", inputs, [decision, logits], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def inliner_model(names: Sequence[str]) -> onnx.ModelProto:
    """A model of integers (MLGO has 38): z-score, root and square of their quantile buckets; four layers."""
    graph = Graph(1)
    last = graph.constant(np.array([-1]))
    parts: list[str] = []
    for name in names:
        quantiles = np.sort(graph.rng.integers(0, 2000, 99)).astype(np.float32)
        value = graph.add("Unsqueeze", graph.add("Cast", name, to=TensorProto.FLOAT), last)
        above = graph.add("GreaterOrEqual", value, graph.constant(quantiles))
        count = graph.add("ReduceSum", graph.add("Cast", above, to=TensorProto.FLOAT), last, keepdims=1)
        share = graph.add("Div", count, graph.constant(np.float32(99)))
        mean, deviation = (graph.constant(np.float32(each)) for each in (0.5, 0.3))
        score = graph.add("Div", graph.add("Sub", share, mean), deviation)
        parts += [score, graph.add("Sqrt", share), graph.add("Mul", share, share)]
    x = graph.add("Concat", *parts, axis=-1)
    for rows, columns in ((3 * len(names), 40), (40, 40), (40, 20)):
        x = graph.add("Relu", graph.dense(x, rows, columns))
    graph.add("ArgMax", graph.dense(x, 20, 2), axis=-1, keepdims=0)
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1]) for name in names]
    return graph.model(inputs, "inlining_decision")


def eviction_model(specs: Sequence[TensorSpec]) -> onnx.ModelProto:
    """A model of the 21 eviction tensors: the same layers score every column; masked columns score low."""
    graph = Graph(2)
    last, first = graph.constant(np.array([-1])), graph.constant(np.array([1, 33], np.int64))
    table = graph.constant(graph.rng.normal(size=(10, 3)).astype(np.float32))
    parts: list[str] = []
    for spec in specs:
        if spec.name == "mask":
            continue
        x = spec.name
        if spec.name == "is_hint":
            index = graph.add(
                "Cast",
                graph.add("Clip", x, graph.constant(np.int64(0)), graph.constant(np.int64(9))),
                to=TensorProto.INT32,
            )
            parts.append(graph.add("Gather", table, index, axis=0))
        if spec.numpy_dtype.kind != "f":
            x = graph.add("Cast", x, to=TensorProto.FLOAT)
        x = graph.add("Log", graph.add("Add", x, graph.constant(np.float32(1))))
        parts.append(graph.add("Unsqueeze", graph.add("Expand", x, first), last))
    x = graph.add("Concat", *parts, axis=-1)
    x = graph.add("Relu", graph.dense(x, len(specs) - 1 + 3, 16))
    x = graph.add("Squeeze", graph.dense(x, 16, 1), last)
    legal = graph.add("Cast", "mask", to=TensorProto.BOOL)
    low = graph.constant(np.float32(-1e30))
    graph.add("ArgMax", graph.add("Where", legal, x, low), axis=1, keepdims=0)
    inputs = [
        helper.make_tensor_value_info(
            spec.name, helper.np_dtype_to_tensor_dtype(spec.numpy_dtype), spec.shape
        )
        for spec in specs
    ]
    return graph.model(inputs, "index_to_evict")
