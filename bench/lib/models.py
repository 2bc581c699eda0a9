# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models: perceptrons, policies that follow the default, and one of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from passpilot.cli.aot import main as aot
from passpilot.features.domain import Choice
from passpilot.features.llvm.evict import FEATURES
from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec
from tests.runners.aot.models import small_mlp


class Graph:
    """Builds an ONNX graph, from inputs to the output `logits`."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self._random = np.random.default_rng(1)

    def input(self, name: str, dtype: int, shape: tuple[int, ...]) -> None:
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> None:
        self.nodes.append(helper.make_node(operator, inputs, [output], **attributes))

    def constant(self, name: str, value: np.typing.NDArray[np.generic]) -> str:
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def perceptron(self, source: str, sizes: tuple[int, ...], output: str) -> None:
        """Add layers with ReLU between them and seeded random weights."""
        for layer, (rows, columns) in enumerate(pairwise(sizes)):
            weight = self._random.normal(0, rows**-0.5, (rows, columns)).astype(np.float32)
            names = [
                self.constant(f"w{layer}", weight),
                self.constant(f"b{layer}", np.zeros(columns, np.float32)),
            ]
            last = layer == len(sizes) - 2
            target = output if last else f"g{layer}"
            self.node("Gemm", [source, *names], target)
            if not last:
                self.node("Relu", [target], source := f"h{layer}")

    def save(self, path: Path, choices: int) -> None:
        """Write the model, whose output is one logit per choice."""
        output = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, choices])
        graph = helper.make_graph(self.nodes, "model", self.inputs, [output], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, str(path))


def _choices(point: Point) -> int:
    return point.domain.count if isinstance(point.domain, Choice) else 2


def mapped(specs: Sequence[TensorSpec]) -> str:
    """The key of a runner that joins tensors into the input `x`."""
    return f"map=x:{','.join(spec.name for spec in specs)}"


def perceptron(path: Path, point: Point) -> str:
    """Write a perceptron over all tensors of the point, 38-64-64-2 for 38 scalars; the spec's options."""
    graph, count = Graph(), sum(spec.size for spec in point.features)
    graph.input("x", TensorProto.FLOAT, (1, count))
    sizes = (64, 64) if count < 1000 else (8,)
    graph.perceptron("x", (count, *sizes, _choices(point)), "logits")
    graph.save(path, _choices(point))
    return mapped(point.features)


def ahead_of_time(model: Path, *flags: str) -> Path:
    """Compile a model, for this machine unless `flags` say more."""
    target = model.with_suffix(".so")
    assert aot([str(model), "-o", str(target), *(flags or ["-mcpu=native"])]) == 0
    return target


def refusing(model: onnx.ModelProto) -> onnx.ModelProto:
    """A perceptron of tests.runners.aot.models that always says no: the last layer's bias decides."""
    bias = [weights for weights in model.graph.initializer if weights.name.startswith("b")][-1]
    bias.raw_data = np.array([1e9, 0], "f4").tobytes()
    return model


def follower(path: Path, point: Point) -> str:
    """Write a perceptron over the point's own features that answers LLVM's default; the spec's options.

    The perceptron's part of the logits is too small to change the answer, but too large to be optimized away.
    """
    left_out = (point.default.name, "use_def_density")  # which may be NaN
    features = [spec for spec in point.features if spec.name not in left_out]
    count, choices = sum(spec.size for spec in features), _choices(point)
    graph = Graph()
    graph.input("x", TensorProto.FLOAT, (1, count))
    graph.input(point.default.name, TensorProto.INT64, (1,))
    graph.node("Cast", [point.default.name], "default", to=TensorProto.FLOAT)
    graph.constant("columns", np.arange(choices, dtype=np.float32)[None])
    graph.node("Equal", ["columns", "default"], "same")
    graph.node("Cast", ["same"], "one", to=TensorProto.FLOAT)
    clipped = graph.constant("low", np.array(-1, np.float32)), graph.constant("high", np.array(1, np.float32))
    graph.node("Clip", ["x", *clipped], "small")
    graph.perceptron("small", (count, 64, 64, choices), "scores")
    graph.constant("scale", np.array(1e-4, np.float32))
    graph.node("Mul", ["scores", "scale"], "little")
    graph.node("Add", ["little", "one"], "logits")
    graph.save(path, choices)
    return f"as=logits&{mapped(features)}"


def scorer(path: Path, batch: int | str) -> str:
    """Write a scorer of columns of an eviction, 19-64-64-1, for `batch` columns; the spec's options."""
    features = [row.spec for row in FEATURES if row.spec.name not in ("mask", "use_def_density")]
    graph = Graph()
    info = helper.make_tensor_value_info
    graph.inputs.append(info("x", TensorProto.FLOAT, [batch, len(features)]))
    graph.perceptron("x", (len(features), 64, 64, 1), "score")
    output = info("score", TensorProto.FLOAT, [batch, 1])
    scorer = helper.make_graph(graph.nodes, "scorer", graph.inputs, [output], graph.weights)
    onnx.save(helper.make_model(scorer, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return f"as=score&{mapped(features)}"


def graph_policy(path: Path) -> list[str]:
    """Write a policy of the pooled graph and two eviction tensors; the names of its inputs."""
    from bench.measure.runners.graph_features import EDGES, NODES, WIDTH

    graph = Graph()
    graph.input("graph_vectors", TensorProto.FLOAT, (NODES, WIDTH))
    graph.input("graph_edges", TensorProto.FLOAT, (EDGES, 2))
    graph.input("graph_weights", TensorProto.FLOAT, (EDGES,))
    graph.input("liverange_size", TensorProto.FLOAT, (1, 33))
    graph.input("nr_defs_and_uses", TensorProto.FLOAT, (1, 33))
    one = graph.constant("one", np.array([1, 1]))
    graph.node("ReduceMean", ["graph_vectors"], "vector", axes=[0], keepdims=1)
    for name in ("graph_edges", "graph_weights"):
        graph.node("ReduceMean", [name], f"{name}_mean", keepdims=1)
        graph.node("Reshape", [f"{name}_mean", one], f"{name}_one")
    names = ["vector", "graph_edges_one", "graph_weights_one", "liverange_size", "nr_defs_and_uses"]
    graph.node("Concat", names, "x", axis=1)
    graph.perceptron("x", (WIDTH + 2 + 66, 64, 33), "logits")
    graph.save(path, 33)
    return [tensor.name for tensor in graph.inputs]


def refusing_mlp(folder: Path, *flags: str) -> None:
    """Write model.onnx, a small perceptron that always says no, and model.so, compiled with `flags`."""
    model = folder / "model.onnx"
    model.write_bytes(refusing(small_mlp()).SerializeToString())
    ahead_of_time(model, *(flags or ["-mcpu=generic"]))
