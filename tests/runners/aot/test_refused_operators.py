# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What onnxruntime runs and `passpilot aot` cannot compile is refused by the node's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onnx import TensorProto

from passpilot.plugin.errors import ModelError
from tests.runners.aot.library import library
from tests.runners.onnx.graphs import BOOL, F32, I32, I64, U8, Case, Input, constant, graph_of

if TYPE_CHECKING:
    from pathlib import Path

ML = "ai.onnx.ml"
FLAT = [1.0, 2.0, 3.0, -1.0, 0.5, 0.25]
CLASSES = {"coefficients": FLAT, "intercepts": [0.0, 1.0]}


def floats(*shape: int) -> Input:
    return Input(F32, shape)


CASES = [
    (Case("Abs", [Input(U8, (3,))], [U8]), "floats or signed integers, got uint8"),
    (Case("Pow", [Input(I64, (3,)), constant(2)], [I64]), "a base of floats, got int64"),
    (Case("Mod", [floats(3), floats(3)], [F32], {"fmod": 1}), "integers and fmod=0, got float32 and fmod=1"),
    (
        Case("Mod", [Input(I64, (3,)), Input(I64, (3,))], [I64], {"fmod": 1}),
        "integers and fmod=0, got int64 and fmod=1",
    ),
    (Case("ReduceL2", [Input(I32, (3,))], [I32]), "tensors of numbers, got int32"),
    (Case("ReduceLogSum", [Input(I32, (3,))], [I32]), "tensors of numbers, got int32"),
    (Case("ReduceSum", [floats(0, 3)], [F32]), "a tensor with elements, got one of shape [0, 3]"),
    (
        Case("Dropout", [floats(3)], [F32, BOOL]),
        "inference, got training or a mask; export the model in evaluation mode",
    ),
    (
        Case("Dropout", [floats(3), constant(0.5, F32), constant(True, BOOL)], [F32]),
        "inference, got training or a mask",
    ),
    (
        Case("LayerNormalization", [floats(2, 3), floats(1)], [F32]),
        "scale and bias of shape [3], got [1]",
    ),
    (
        Case("LayerNormalization", [floats(2, 3), floats(3), floats(1)], [F32]),
        "scale and bias of shape [3], got [1]",
    ),
    (Case("Normalizer", [Input(I64, (2, 3))], [F32], {}, ML), "floats, got int64"),
    (
        Case(
            "LinearRegressor",
            [floats(2, 3)],
            [F32],
            {"coefficients": FLAT, "targets": 2, "post_transform": "SOFTMAX"},
            ML,
        ),
        "post_transform=NONE, got SOFTMAX",
    ),
    (
        Case(
            "LinearClassifier",
            [floats(2, 3)],
            [I64, F32],
            {"coefficients": FLAT[:3], "intercepts": [0.0], "classlabels_ints": [3, 4]},
            ML,
        ),
        "coefficients for each class, got one row of them for two classes",
    ),
    (
        Case(
            "LinearClassifier",
            [floats(2, 3)],
            [I64, F32],
            CLASSES | {"classlabels_ints": [3, 4], "post_transform": "SOFTMAX_ZERO"},
            ML,
        ),
        "post_transform NONE, LOGISTIC or SOFTMAX, got SOFTMAX_ZERO",
    ),
    (
        Case("ArgMax", [Input(I32, (0, 3))], [I64], {"axis": 1}),
        "numbers, at least one, got int32 of shape [0, 3]",
    ),
    (
        Case("BatchNormalization", [floats(2, 2), *[floats(2)] * 4], [F32] * 3, {"training_mode": 1}),
        "inference, got training; export the model in evaluation mode",
    ),
]


@pytest.mark.parametrize(("case", "told"), CASES, ids=[case.op_type for case, _ in CASES])
def test_refusals(case: Case, told: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        library(graph_of([case], 17), tmp_path)
    assert f"({case.op_type}): expected {told}" in str(caught.value)


def test_classes_that_are_strings(tmp_path: Path) -> None:
    """Not even the scores of a LinearClassifier can be compiled."""
    named = CLASSES | {"classlabels_strings": ["a", "b"]}
    made = graph_of([Case("LinearClassifier", [floats(2, 3)], [I64, F32], named, ML)], 17)
    made.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
    told = "expected classes that are integers, got classes that are strings"
    with pytest.raises(ModelError, match=told):
        library(made, tmp_path, outputs=["y0_1"])
