# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies as ml-compiler-opt writes them become ONNX models. It needs passpilot[tensorflow].

pip install "passpilot[tensorflow]" && python -m pytest tests/runners/foreign/test_saved_model.py
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

pytest.importorskip("tensorflow", reason="needs TensorFlow: pip install 'passpilot[tensorflow]'")

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from passpilot.features.point import find_point
from passpilot.plugin.errors import ModelError
from passpilot.runners.foreign import saved_model
from tests.command import passpilot, program, refused

NAMES = ("callee_basic_block_count", "callsite_height", "node_count", "cost_estimate", "caller_users")
AGENT = [
    tf.TensorSpec([1], tf.int32, name="step_type"),
    tf.TensorSpec([1], tf.float32, name="reward"),
    tf.TensorSpec([1], tf.float32, name="discount"),
]


def saved(
    folder: Path,
    decide: Callable[[Any], Any],
    *,
    names: tuple[str, ...] = NAMES,
    shape: list[int],
    answer: str,
) -> Path:
    """A SavedModel with the signature of TF-Agents' policies."""
    module = tf.Module()
    observation = {name: tf.TensorSpec(shape, tf.int64, name=name) for name in names}

    def act(obs: Any, step_type: Any, reward: Any, discount: Any) -> Any:  # noqa: ARG001  (TF-Agents names)
        return {answer: decide(obs)}

    action = tf.function(act, input_signature=[observation, *AGENT])
    module.action = action
    tf.saved_model.save(module, str(folder), signatures={"action": action})
    return folder


def network(seed: int, columns: int, outputs: int) -> Callable[[Any], Any]:
    random = np.random.default_rng(seed)
    first = tf.constant(random.normal(size=(columns, 40)), tf.float32)
    second = tf.constant(random.normal(size=(40, outputs)), tf.float32)
    return lambda x: tf.nn.relu(x @ first) @ second


def quantiles(obs: Any, names: tuple[str, ...]) -> Any:
    """MLGO's preprocessing: the quantile of a feature, its root and its square."""
    random = np.random.default_rng(3)
    columns = []
    for name in names:
        boundaries = sorted(set(np.exp(random.normal(4, 3, 1000)).astype(np.float32).tolist()))
        x = tf.cast(tf.raw_ops.Bucketize(input=obs[name], boundaries=boundaries), tf.float32) / len(
            boundaries
        )
        columns += [x, tf.sqrt(x), x * x]
    return tf.stack(columns, -1)


@pytest.fixture(scope="module")
def inlining(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = network(1, 3 * len(NAMES), 2)
    return saved(
        tmp_path_factory.mktemp("policies") / "inlining",
        lambda obs: tf.argmax(net(quantiles(obs, NAMES)), -1, output_type=tf.int64),
        shape=[1],
        answer="inlining_decision",
    )


@pytest.fixture(scope="module")
def evicting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    net = network(2, 6, 1)
    names = ("mask", "is_hint")

    def decide(obs: Any) -> Any:
        scores = tf.squeeze(net(quantiles(obs, names)), -1)
        return tf.argmax(tf.where(obs["mask"] != 0, scores, -1e30), -1, output_type=tf.int64)

    folder = tmp_path_factory.mktemp("policies") / "evicting"
    return saved(folder, decide, names=names, shape=[1, 33], answer="index_to_evict")


def tflite(folder: Path, path: Path) -> Path:
    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder), signature_keys=["action"])
    path.write_bytes(converter.convert())
    return path


@pytest.mark.parametrize("light", [False, True], ids=["saved", "tflite"])
def test_an_inlining_policy_decides_in_every_runner(inlining: Path, tmp_path: Path, light: bool) -> None:
    policy = tflite(inlining, tmp_path / "policy.tflite") if light else inlining
    done = passpilot("import", policy, "-o", "model.onnx", cwd=tmp_path)
    assert done.code == 0, done
    assert "5 features of inline" in done.err
    assert "on 10000 of 10000 random observations" in done.err
    (tmp_path / "in.ll").write_text(program())
    assert passpilot("aot", "model.onnx", "-o", "policy.so", cwd=tmp_path).code == 0
    for runner in ("onnx:model.onnx", "aot:policy.so"):
        log = f"--log={runner[:3]}.log"
        done = passpilot("opt", "in.ll", "-O2", f"--inline={runner}", log, "-o", "o.bc", cwd=tmp_path)
        assert done.code == 0, done
    assert (tmp_path / "onn.log").read_bytes() == (tmp_path / "aot.log").read_bytes()


@pytest.mark.parametrize("light", [False, True], ids=["saved", "tflite"])
def test_an_eviction_policy(evicting: Path, tmp_path: Path, light: bool) -> None:
    policy = tflite(evicting, tmp_path / "policy.tflite") if light else evicting
    words = ("--point=evict", "--observations=500", "-o", "model.onnx")
    done = passpilot("import", policy, *words, cwd=tmp_path)
    assert done.code == 0, done
    assert "2 features of evict" in done.err
    assert "on 500 of 500" in done.err


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        (lambda: tf.raw_ops.WriteFile(filename="written", contents="x"), "WriteFile"),
        (lambda: tf.io.read_file("/etc/hostname"), "ReadFile"),
        (
            lambda: tf.raw_ops.SaveV2(prefix="p", tensor_names=["a"], shape_and_slices=[""], tensors=[[1.0]]),
            "SaveV2",
        ),
        (lambda: tf.print("x"), "PrintV2"),
    ],
)
def test_a_model_that_reaches_files_is_refused_before_it_is_loaded(
    tmp_path: Path, operation: Callable[[], Any], name: str
) -> None:
    def decide(obs: Any) -> Any:
        done = operation()
        with tf.control_dependencies([] if done is None else [done]):
            return tf.identity(obs["node_count"])

    saved(tmp_path / "policy", decide, shape=[1], answer="inlining_decision")
    error = refused("import", "policy", "-o", "model.onnx", cwd=tmp_path)
    assert f"expected operations that compute an answer, got {name}" in error


@pytest.mark.parametrize("old", [False, True], ids=["objects", "older"])
def test_a_saver_hides_no_operation(tmp_path: Path, old: bool) -> None:
    """What a model names as its saver is looked at, too, if the loader would run it."""

    def decide(obs: Any) -> Any:
        with tf.control_dependencies([tf.raw_ops.WriteFile(filename="written", contents="x")]):
            return tf.identity(obs["node_count"])

    folder = saved(tmp_path / "policy", decide, shape=[1], answer="inlining_decision")
    model = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    (graph,) = model.meta_graphs
    caller = next(each for each in graph.graph_def.node if each.name == "StatefulPartitionedCall")
    graph.saver_def.restore_op_name = caller.name
    functions = {each.signature.name: each.node_def for each in graph.graph_def.library.function}
    wrapper = functions.pop(caller.attr["f"].func.name)
    for nodes in functions.values():  # only what the saver calls has the operation
        for node in [node for node in nodes if node.op == "WriteFile"]:
            wrapper.append(node)
            nodes.remove(node)
    if old:
        graph.ClearField("object_graph_def")
    (folder / "saved_model.pb").write_bytes(model.SerializeToString())
    error = refused("import", "policy", "-o", "model.onnx", cwd=tmp_path)
    assert "WriteFile" in error


def test_what_does_not_fit_is_said(evicting: Path, tmp_path: Path) -> None:
    def error(model: Path | str) -> str:
        return refused("import", model, "-o", "model.onnx", cwd=tmp_path)

    (tmp_path / "empty").mkdir()
    (tmp_path / "text.tflite").write_text("text")
    saved(tmp_path / "other", lambda obs: obs["mine"], names=("mine",), shape=[1], answer="inlining_decision")
    assert "got no saved_model.pb in it" in error("empty")
    assert "expected a SavedModel's folder or a TFLite file" in error("text.tflite")
    assert "expected a SavedModel's folder or a TFLite file" in error("none")
    assert "expected the output inlining_decision of the point inline, got index_to_evict" in error(evicting)
    assert "expected features among those it offers, got mine" in error("other")


def test_an_answer_that_differs_is_found(inlining: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    convert = saved_model.__dict__["convert"]
    converted = convert.from_graph_def

    def shifted(*words: Any, **options: Any) -> Any:
        """Another conversion, whose numbers are all doubled."""
        model, rest = converted(*words, **options)
        for constant in model.graph.initializer:
            values = onnx.numpy_helper.to_array(constant)
            if values.dtype == np.float32:
                constant.CopyFrom(onnx.numpy_helper.from_array(values * 2, constant.name))
        return model, rest

    monkeypatch.setattr(convert, "from_graph_def", shifted)
    with pytest.raises(ModelError, match="expected the answers of its ONNX model to be the same"):
        saved_model.import_model(
            str(inlining), find_point("inline"), signature="action", observations=1000, step=lambda: None
        )
