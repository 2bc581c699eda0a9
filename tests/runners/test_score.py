# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several questions at once: batches of an ONNX model, and choices by the scores of columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.passes.llvm_advisors import EvictAdvisor
from passpilot.plugin.errors import ModelError, SpecMismatchError, UsageError
from passpilot.runners.base import allocate, tensor_views
from passpilot.runners.conformance import check_runner
from passpilot.runners.spec import make_runner
from tests.passes.allocation.pressure import allocated, compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from passpilot.runners.base import Runner

    Arrays = dict[str, NDArray[np.generic]]

NAMES = ("liverange_size", "weighed_reads_by_max", "progress")
MAP = f"map=x:{','.join(NAMES)}"


def save(path: Path, nodes: list[onnx.NodeProto], shape: list[int | str], *weights: onnx.TensorProto) -> str:
    """A model from x to y; both have the first dimension of `shape`."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [shape[0], 1])
    graph = helper.make_graph(nodes, "m", [x], [y], weights)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, str(path))
    return f"onnx:{path}"


def perceptron(path: Path, batch: int | str, inputs: int = 3) -> str:
    random = np.random.default_rng(3)
    shapes = {"w1": (inputs, 8), "b1": (8,), "w2": (8, 1)}
    weights = [
        numpy_helper.from_array(random.normal(0, 1, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["hidden"]),
        helper.make_node("Tanh", ["hidden"], ["active"]),
        helper.make_node("MatMul", ["active", "w2"], ["y"]),
    ]
    return save(path, nodes, [batch, inputs], *weights)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", params=["n", 1])
def scorer(request: pytest.FixtureRequest, folder: Path) -> str:
    """The same scorer, for several columns at once or for one."""
    return perceptron(folder / f"{request.param}.onnx", request.param)


def made(spec: str, point: str = "evict") -> Runner:
    return allocate(make_runner(spec, find_point(point)))


def scores(model: str, runner: Runner) -> NDArray[np.float32]:
    """onnxruntime's scores of all columns."""
    session = onnxruntime.InferenceSession(model.removeprefix("onnx:"), providers=["CPUExecutionProvider"])
    rows = np.stack([np.broadcast_to(runner.tensors[name].reshape(-1), 33) for name in NAMES], axis=1)
    each = [session.run(None, {"x": row[None]})[0] for row in rows]
    return np.concatenate(each).reshape(33)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 1 << 32), legal=st.sets(st.integers(0, 32), min_size=1))
def test_the_choice_is_the_legal_column_of_the_largest_score(scorer: str, seed: int, legal: set[int]) -> None:
    runner = made(f"{scorer}?as=score&{MAP}")
    assert {spec.name: spec.shape for spec in runner.inputs}["liverange_size"] == (1, 33)
    random = np.random.default_rng(seed)
    for name in NAMES:
        runner.tensors[name][...] = random.normal(0, 1, runner.tensors[name].shape)
    runner.tensors["mask"][0, list(legal)] = 1
    masked = np.where(runner.tensors["mask"][0] != 0, scores(scorer, runner), -np.inf)
    answer = runner.evaluate()
    assert isinstance(answer, int)
    assert answer in legal
    assert masked[answer] == pytest.approx(masked.max(), rel=1e-5)


def test_a_scorer_is_asked_about_legal_columns_only_and_the_first_of_equals_wins(tmp_path: Path) -> None:
    identity = save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], ["n", 1])
    runner = made(f"{identity}?as=score&map=x:liverange_size")
    sizes, mask = runner.tensors["liverange_size"], runner.tensors["mask"]
    sizes[0, 3] = np.nan
    mask[0, [5, 9, 32]] = 1
    sizes[0, [5, 9]] = 4
    assert runner.evaluate() == 5
    sizes[0, 32] = np.inf
    assert runner.evaluate() == 32
    sizes[0, :] = -np.inf
    assert runner.evaluate() == 5
    sizes[0, 9] = np.nan
    with pytest.raises(ModelError, match="output 'y': expected numbers, got NaN"):
        runner.evaluate()
    mask[...] = 0
    with pytest.raises(ModelError, match="mask: expected a column that may be chosen, got none"):
        runner.evaluate()


def test_inputs_bound_by_name_are_those_of_one_column(tmp_path: Path) -> None:
    info = helper.make_tensor_value_info
    nodes = [
        helper.make_node("Cast", ["is_free"], ["free"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["free", "progress"], ["y"]),
    ]
    inputs = [info("is_free", TensorProto.INT64, ["n"]), info("progress", TensorProto.FLOAT, ["n"])]
    graph = helper.make_graph(nodes, "m", inputs, [info("y", TensorProto.FLOAT, ["n"])])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, str(tmp_path / "m.onnx"))
    runner = made(f"onnx:{tmp_path / 'm.onnx'}?as=score")
    runner.tensors["mask"][...] = 1
    runner.tensors["is_free"][0, 17] = 1
    assert runner.evaluate() == 17


def test_a_model_of_all_columns_is_no_scorer(tmp_path: Path) -> None:
    with pytest.raises(SpecMismatchError, match=r"input 'x': expected \[1,33\] as the model has, got 1 el"):
        made(f"{perceptron(tmp_path / 'm.onnx', 1, 33)}?as=score&map=x:liverange_size")


def test_a_point_without_columns_has_none_to_score() -> None:
    with pytest.raises(UsageError, match="inline: expected a choice among columns to score"):
        find_point("inline").column()


def test_a_model_that_mixes_its_questions_is_refused(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "all"], ["flat"]),
        helper.make_node("Cast", ["flat"], ["positive"], to=TensorProto.BOOL),
        helper.make_node("Compress", ["x", "positive"], ["y"], axis=0),
    ]
    row = numpy_helper.from_array(np.array([-1]), "all")
    runner = made(f"{save(tmp_path / 'm.onnx', nodes, ['n', 1], row)}?as=score&map=x:liverange_size")
    runner.tensors["mask"][0, :2] = 1
    runner.tensors["liverange_size"][0, 1] = 1
    with pytest.raises(ModelError, match=r"output 'y': expected 1 element, for each of 2, got 1"):
        runner.evaluate()


def test_a_model_that_is_known_to_take_one_question_gets_one(tmp_path: Path) -> None:
    node = helper.make_node("ReduceSum", ["x"], ["y"])
    runner = made(f"{save(tmp_path / 'm.onnx', [node], ['n', 1])}?as=score&map=x:liverange_size")
    runner.tensors["mask"][...] = 1
    runner.tensors["liverange_size"][0, 11] = 1
    assert runner.evaluate() == 11


def test_scorers_keep_the_contract(scorer: str) -> None:
    check_runner(f"{scorer}?as=score&{MAP}", "evict")


@pytest.mark.parametrize("batch", ["n", 1])
@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 150])
def test_a_batch_is_answered_as_one_by_one(folder: Path, batch: int | str, count: int) -> None:
    """Also a batch that is larger than the model's largest call."""
    model = perceptron(folder / f"inline-{batch}.onnx", batch, 2)
    runner = made(f"{model}?as=probability&map=x:callee_users,node_count", "inline")
    random = np.random.default_rng(count)
    frames = random.integers(-2, 3, (count, 2)).astype(np.int64).view(np.uint8)
    expected = []
    for row in frames:
        runner.frame[:] = row
        expected.append(runner.evaluate())
    assert runner.evaluate_batch(frames) == expected
    assert runner.evaluate_batch(frames[:1]) == expected[:1], "after a larger one"
    if count > 60:
        assert set(expected) == {0, 1}


def test_an_empty_batch_and_one_of_another_size(folder: Path) -> None:
    runner = made(f"{perceptron(folder / 'm.onnx', 'n', 1)}?as=probability&map=x:node_count", "inline")
    assert runner.evaluate_batch(np.zeros((0, 8), np.uint8)) == []
    with pytest.raises(ValueError, match="expected the size of the runner's inputs"):
        runner.evaluate_batch(np.zeros((1, 16), np.uint8))


def test_one_answer_in_a_batch_that_is_none(tmp_path: Path) -> None:
    identity = save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], ["n", 1])
    runner = made(f"{identity}?as=decision&map=x:node_count", "inline")
    frames = np.array([[1], [0], [2]], np.int64).view(np.uint8)
    with pytest.raises(ModelError, match="expected 0 or 1, got 2"):
        runner.evaluate_batch(frames)
    assert runner.evaluate_batch(frames[:2]) == [1, 0]


def test_a_compilation_does_not_see_whether_columns_are_asked_at_once(folder: Path, tmp_path: Path) -> None:
    source, objects = compiled(tmp_path), []
    for batch in ("n", 1):
        with EvictAdvisor(f"{perceptron(folder / f'{batch}.onnx', batch)}?as=score&{MAP}") as advisor:
            objects.append(allocated(source, advisor))
            assert advisor.stats.decisions > 20
    assert objects[0] == objects[1] != allocated(source)


def test_large_tensors_are_read_where_they_are_bound_last(tmp_path: Path) -> None:
    """Before and after batches, whose tensors are in other memory."""
    info = helper.make_tensor_value_info
    node = helper.make_node("ReduceMax", ["v"], ["y"], axes=[1])
    inputs, outputs = [info("v", TensorProto.FLOAT, ["n", 2000])], [info("y", TensorProto.FLOAT, ["n", 1])]
    graph = helper.make_graph([node], "m", inputs, outputs)
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, str(tmp_path / "m.onnx"))
    spec = TensorSpec("v", "float32", (2000,))
    point = replace(find_point("inline"), features=(spec,))
    runner = make_runner(f"onnx:{tmp_path / 'm.onnx'}?as=probability", point)
    frames = [np.zeros(spec.nbytes, np.uint8) for _ in range(3)]
    frames[1].view(np.float32)[1999] = 1
    for _ in range(2):
        for frame, answer in zip(frames, (0, 1, 0), strict=True):
            runner.bind(tensor_views(runner.inputs, frame), frame)
            assert runner.evaluate() == runner.evaluate() == answer
            frame.view(np.float32)[7] = 1 - answer
            assert runner.evaluate() == 1
            frame.view(np.float32)[7] = 0
            assert runner.evaluate_batch(np.stack(frames)) == [0, 1, 0]
            assert runner.evaluate() == answer
