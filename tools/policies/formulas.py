# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are a formula: the priority of a live range, by its weight and its size."""

from __future__ import annotations

from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LARGEST: Final = 4e9
"""The largest priority is 4294967295."""
OPSET: Final = 17


def priority_model(power: float, scale: float) -> bytes:
    """An ONNX model of the decision point `priority`: scale * weight * size**power.

    LLVM's weight of a live range is what it costs to spill, by its length; its size is in slots.
    """
    constants = {"power": power, "scale": scale, "least": 0.0, "largest": LARGEST}
    nodes = [
        helper.make_node("Cast", ["li_size"], ["size"], to=TensorProto.FLOAT),
        helper.make_node("Pow", ["size", "power"], ["grown"]),
        helper.make_node("Clip", ["weight", "least", "largest"], ["finite"]),
        helper.make_node("Mul", ["finite", "scale"], ["scaled"]),
        helper.make_node("Mul", ["scaled", "grown"], ["product"]),
        helper.make_node("Clip", ["product", "least", "largest"], ["priority"]),
    ]
    graph = helper.make_graph(
        nodes,
        "priority",
        [
            helper.make_tensor_value_info("li_size", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("weight", TensorProto.FLOAT, [1]),
        ],
        [helper.make_tensor_value_info("priority", TensorProto.FLOAT, [1])],
        [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
