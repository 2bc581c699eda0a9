# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that are a formula: the priority of a live range, by its weight and its size."""

from __future__ import annotations

from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET: Final = 17
SPLIT: Final = 2
"""The stage of a live range that got no register, and waits to be split."""
AMONG_LOCAL: Final = float(1 << 31)
"""LLVM's least priority of live ranges that do not wait: of those within a block."""
RANGE: Final = float((1 << 24) - 1)
"""LLVM's priorities of such ranges are in this part above it."""

LEAST: Final = 2.0**-100
LARGEST: Final = 2.0**100
"""The bounds of weight * size**power; weights of ranges that must not be spilled are infinite."""


def split_priority(power: float, base: float) -> bytes:
    """An ONNX model of `priority`: of ranges that wait to be split by the logarithm of weight * size**power.

    LLVM lets them wait behind all others, the longest first. All other ranges keep LLVM's priority.

    Args:
        power: of the size, in slots.
        base: what is added: 0 lets them wait, `AMONG_LOCAL` does not.
    """
    constants = {
        "power": np.float32(power),
        "least": np.float32(LEAST),
        "largest": np.float32(LARGEST),
        "shift": np.float32(-np.log(LEAST)),
        "scale": np.float32(RANGE / (np.log(LARGEST) - np.log(LEAST))),
        "base": np.float64(base),
        "split": np.int64(SPLIT),
    }
    nodes = [
        helper.make_node("Cast", ["li_size"], ["size"], to=TensorProto.FLOAT),
        helper.make_node("Pow", ["size", "power"], ["grown"]),
        helper.make_node("Clip", ["weight", "least", "largest"], ["finite"]),
        helper.make_node("Mul", ["finite", "grown"], ["product"]),
        helper.make_node("Clip", ["product", "least", "largest"], ["value"]),
        helper.make_node("Log", ["value"], ["logarithm"]),
        helper.make_node("Add", ["logarithm", "shift"], ["positive"]),
        helper.make_node("Mul", ["positive", "scale"], ["scaled"]),
        helper.make_node("Cast", ["scaled"], ["wide"], to=TensorProto.DOUBLE),
        helper.make_node("Add", ["wide", "base"], ["ours"]),
        helper.make_node("Equal", ["stage", "split"], ["waits"]),
        helper.make_node("Where", ["waits", "ours", "priority_default"], ["priority"]),
    ]
    types = {
        "li_size": TensorProto.INT64,
        "stage": TensorProto.INT64,
        "weight": TensorProto.FLOAT,
        "priority_default": TensorProto.DOUBLE,
    }
    graph = helper.make_graph(
        nodes,
        "priority",
        [helper.make_tensor_value_info(name, kind, [1]) for name, kind in types.items()],
        [helper.make_tensor_value_info("priority", TensorProto.DOUBLE, [1])],
        [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
