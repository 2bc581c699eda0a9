# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constants, pipes and models answer the advised allocator's questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from onnx import TensorProto, helper, save

from passpilot.features.log.reader import read_log
from passpilot.features.point import find_point
from tests.passes.allocator.steps import POINTS, emitted_by
from tests.runners.serving.serving import served

if TYPE_CHECKING:
    from pathlib import Path

SCORED = {"ra-order": "weight", "ra-colour": "max_weight", "ra-split": "gain"}
"""The float32 tensor of each point whose largest legal column the model takes."""


def largest(path: Path, tensor: str) -> Path:
    """A model whose logits are a tensor of the point."""
    specs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 32]) for name in (tensor, "logits")]
    nodes = [helper.make_node("Identity", [tensor], ["logits"])]
    graph = helper.make_graph(nodes, "largest", specs[:1], specs[1:])
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return path


@pytest.mark.parametrize("point", SCORED)
def test_a_model_takes_the_largest_legal_column(point: str, pressed: Path, tmp_path: Path) -> None:
    model = largest(tmp_path / "model.onnx", SCORED[point])
    emitted_by(pressed, {point: f"onnx:{model}"}, tmp_path)
    arrays = read_log(tmp_path / f"{point}.log").to_arrays()
    legal = np.where(arrays["mask"][:, 0] != 0, arrays[SCORED[point]][:, 0], -np.inf)
    assert (arrays[find_point(point).advice.name][:, 0] == legal.argmax(axis=1)).all()


def test_a_model_answers_ra_action(pressed: Path, tmp_path: Path) -> None:
    """Its logits prefer the last legal action: to wait, to spill, to split."""
    inputs = [helper.make_tensor_value_info("mask", TensorProto.INT64, [1, 5])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 5])]
    ranks = helper.make_tensor("ranks", TensorProto.FLOAT, [1, 5], [0, 1, 2, 3, 4])
    nodes = [
        helper.make_node("Cast", ["mask"], ["legal"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["legal", "ranks"], ["logits"]),
    ]
    graph = helper.make_graph(nodes, "last", inputs, outputs, [ranks])
    model = tmp_path / "last.onnx"
    save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(model))
    emitted_by(pressed, {"ra-action": f"onnx:{model}"}, tmp_path)
    arrays = read_log(tmp_path / "ra-action.log").to_arrays()
    assert (arrays["allocator_action"][:, 0] == 4 - arrays["mask"][:, 0, ::-1].argmax(axis=1)).all()


@pytest.mark.parametrize("point", POINTS)
def test_a_pipe_answers_as_a_runner_here(point: str, pressed: Path, tmp_path: Path) -> None:
    base = str(tmp_path / "server")
    with served("random:11", base, f"--point={point}"):
        there = emitted_by(pressed, {point: f"pipe:{base}"})
    assert there == emitted_by(pressed, {point: "random:11"})


@pytest.mark.parametrize("point", ["ra-order", "ra-split"])
def test_a_constant_is_the_first_column(point: str, pressed: Path) -> None:
    assert emitted_by(pressed, {point: "const:0"}) == emitted_by(pressed, {})
