# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models as PyTorch and others export policies, with pseudo-random weights."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from passpilot.features.columns import name_columns
from passpilot.features.llvm.inline import FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Value = tuple[str, int, Sequence[int | str]]

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[Value],
    outputs: Sequence[str],
    constants: Mapping[str, NDArray[np.generic]] | None = None,
    *,
    opset: int = 17,
) -> onnx.ModelProto:
    """A model; the types of its outputs are left to inference."""
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info(*each) for each in inputs],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=9))


def mlp(widths: Sequence[int] = (38, 64, 64, 2), activation: str = "Relu", seed: int = 1) -> onnx.ModelProto:
    """A perceptron of one input x, as torch exports nn.Linear: Gemm with transposed weights."""
    random = np.random.default_rng(seed)
    nodes, constants, last = [], {}, "x"
    for layer, (columns, rows) in enumerate(pairwise(widths)):
        end = layer == len(widths) - 2
        constants[f"w{layer}"] = random.normal(0, columns**-0.5, (rows, columns)).astype("f4")
        constants[f"b{layer}"] = random.normal(0, 0.5, rows).astype("f4")
        out = "logits" if end else f"g{layer}"
        nodes.append(helper.make_node("Gemm", [last, f"w{layer}", f"b{layer}"], [out], transB=1))
        if not end:
            nodes.append(helper.make_node(activation, [out], [f"h{layer}"]))
        last = f"h{layer}"
    return model(nodes, [("x", FLOAT, ["batch", widths[0]])], ["logits"], constants)


def small_mlp(activation: str = "Tanh", *, named: bool = True) -> onnx.ModelProto:
    """A perceptron of LLVM's features of `inline` that first scales them; `named`: it names its columns."""
    made = mlp((38, 16, 2), activation)
    if named:
        name_columns(made, [row.spec.name for row in FEATURES])
    scale = numpy_helper.from_array(np.array(0.02, "f4"), "scale")
    made.graph.initializer.append(scale)
    made.graph.node.insert(0, helper.make_node("Mul", ["x", "scale"], ["scaled"]))
    made.graph.node[1].input[0] = "scaled"
    return made


def column_scorer() -> onnx.ModelProto:
    """Logits of the 33 columns of an eviction, from three of its tensors."""
    node = helper.make_node
    nodes = [
        node("Cast", ["is_hint"], ["hint"], to=FLOAT),
        node("Unsqueeze", ["hint", "last"], ["hint3"]),
        node("Unsqueeze", ["weighed_reads_by_max", "last"], ["reads3"]),
        node("Log", ["size1"], ["size_log"]),
        node("Add", ["liverange_size", "one"], ["size1"]),
        node("Unsqueeze", ["size_log", "last"], ["size3"]),
        node("Concat", ["hint3", "reads3", "size3"], ["each"], axis=-1),
        node("Mul", ["each", "small"], ["scaled"]),
        node("MatMul", ["scaled", "w0"], ["g0"]),
        node("Tanh", ["g0"], ["h0"]),
        node("MatMul", ["h0", "w1"], ["scores"]),
        node("Squeeze", ["scores", "last"], ["logits"]),
    ]
    nodes[3], nodes[4] = nodes[4], nodes[3]
    random = np.random.default_rng(3)
    constants = {
        "last": np.array([-1]),
        "one": np.float32(1),
        "small": np.float32(0.05),
        "w0": random.normal(0, 1, (3, 8)).astype("f4"),
        "w1": random.normal(0, 1, (8, 1)).astype("f4"),
    }
    inputs: list[Value] = [
        ("is_hint", INT64, [1, 33]),
        ("weighed_reads_by_max", FLOAT, [1, 33]),
        ("liverange_size", FLOAT, [1, 33]),
    ]
    return model(nodes, inputs, ["logits"], {k: np.asarray(v) for k, v in constants.items()})
