# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`import_model`: a policy of MLGO, a SavedModel or a TFLite file, becomes ONNX with the same answers.

tf2onnx converts; what it lacks is the operation of MLGO's preprocessing by quantiles, `Bucketize`. A
SavedModel is a program for TensorFlow: its operations are looked at before it is loaded, and those that reach
files are refused.
"""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import onnx

from passpilot.features.point import Point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ModelError
from passpilot.runners.onnx_session import onnx_session

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow reads these when it is imported
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the same sums in every run
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2
from tf2onnx import convert, handler, onnx_opset  # noqa: F401  (the last fills the handlers' table)

for name in ("tensorflow", "tf2onnx"):
    logging.getLogger(name).setLevel(logging.CRITICAL)  # what they cannot convert is an error of ours

AGENT: Final = ("step_type", "reward", "discount")
"""The inputs that TF-Agents adds to every policy; LLVM leaves them zero."""

_VARIABLES: Final = ("VarHandleOp", "ReadVariableOp", "StatefulPartitionedCall", "PartitionedCall", "NoOp")
_SEED: Final = 1
_CLOSE: Final = 1e-4
"""How far apart, relative to the larger, numbers of two libraries may be."""

Compute = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Imported(NamedTuple):
    """What `import_model` returns."""

    model: onnx.ModelProto
    inputs: tuple[str, ...]
    different: int
    """For how many of the observations the two models' answers differ."""


def import_model(
    path: str, point: Point, *, signature: str, observations: int, step: Callable[[], None]
) -> Imported:
    """Convert the model at `path` and compare the two on random observations.

    Args:
        path: a SavedModel's folder, or a TFLite file.
        point: the decision point; its features' names are those of the model's inputs.
        signature: which function of a SavedModel to take.
        observations: how many random ones to compare on.
        step: called after every observation.

    Raises:
        ModelError: the file is no such model, has operations that ONNX lacks or that reach files, or does not
            fit the point.
    """
    who = f"model {path}"
    try:
        original, model = (_saved_model if Path(path).is_dir() else _tflite)(path, signature)
    except ModelError:
        raise
    except Exception as error:  # TensorFlow and tf2onnx raise errors of every kind
        text = " ".join(str(error).split())[:300]
        raise ModelError(f"{who}: expected a SavedModel's folder or a TFLite file, got: {text}") from error
    _fit(model, point, who)
    different = _count_different(original, model, point, observations, step)
    if different * 1000 > observations:
        raise ModelError(
            f"{who}: expected the answers of its ONNX model to be the same, got {different} others "
            f"on {observations} random observations"
        )
    return Imported(model, tuple(tensor.name for tensor in model.graph.input), different)


def _saved_model(folder: str, signature: str) -> tuple[Compute, onnx.ModelProto]:
    written = saved_model_pb2.SavedModel.FromString(Path(folder, "saved_model.pb").read_bytes())
    foreign = sorted(_unknown(written))
    if foreign:
        raise ModelError(
            f"model {folder}: expected operations that compute an answer, got {', '.join(foreign)}; "
            "a model may not reach files or run code"
        )
    loaded = tf.saved_model.load(folder)  # owns the variables of its functions
    signature = _choose(folder, signature, loaded.signatures)
    function = loaded.signatures[signature]
    frozen = convert_variables_to_constants_v2(function)  # what the function captures, too
    outputs = [tensor.name for tensor in frozen.outputs]
    model, _ = convert.from_graph_def(
        frozen.graph.as_graph_def(),
        input_names=[tensor.name for tensor in frozen.inputs],
        output_names=outputs,
        custom_op_handlers={"Bucketize": (_bucketize, [])},
    )
    types = {name: spec.dtype for name, spec in function.structured_input_signature[1].items()}
    _rename(model, {f"{name}:0": name for name in types})
    _rename(model, dict(zip(outputs, sorted(function.structured_outputs), strict=True)))

    def compute(values: Mapping[str, Any]) -> Mapping[str, Any]:
        given = {name: tf.constant(value, types[name]) for name, value in values.items()}
        return {name: value.numpy() for name, value in loaded.signatures[signature](**given).items()}

    return compute, model


def _tflite(path: str, signature: str) -> tuple[Compute, onnx.ModelProto]:
    plain = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    with warnings.catch_warnings(action="ignore"):  # of the interpreter's move to another package
        interpreter = tf.lite.Interpreter(path, experimental_op_resolver_type=plain)
        model, _ = convert.from_tflite(path, custom_op_handlers={"TFL_BUCKETIZE": (_bucketize, [])})
    signature = _choose(path, signature, interpreter.get_signature_list())
    compute = interpreter.get_signature_runner(signature)
    inputs, outputs = compute.get_input_details(), compute.get_output_details()
    _rename(model, {tensor["name"]: name for name, tensor in (inputs | outputs).items()})
    return lambda values: compute(**values), model


def _choose(path: str, signature: str, names: Iterable[str]) -> str:
    """The signature that is asked for, or the only one."""
    names = sorted(names)
    if signature in names or len(names) == 1:
        return signature if signature in names else names[0]
    got = ", ".join(names) or "none"
    raise ModelError(
        f"model {path}: expected the signature {signature}, got {got}; choose by --signature=NAME"
    )


def _rename(model: onnx.ModelProto, names: Mapping[str, str]) -> None:
    graph = model.graph
    for tensor in (*graph.input, *graph.output):
        tensor.name = names.get(tensor.name, tensor.name)
    for node in graph.node:
        for places in (node.input, node.output):
            places[:] = [names.get(name, name) for name in places]


def _fit(model: onnx.ModelProto, point: Point, who: str) -> None:
    """Leave the features of the point as inputs, and its advice as the only output."""
    graph = model.graph
    lacking = sorted({node.op_type for node in graph.node if node.domain not in ("", "ai.onnx.ml")})
    if lacking:
        raise ModelError(f"{who}: expected operations that ONNX has, got {', '.join(lacking)}")
    outputs = [tensor for tensor in graph.output if tensor.name == point.advice.name]
    if not outputs:
        got = ", ".join(tensor.name for tensor in graph.output)
        raise ModelError(
            f"{who}: expected the output {point.advice.name} of the point {point.name}, got {got}; "
            "--point=NAME is another"
        )
    del graph.output[:]
    graph.output.extend(outputs)
    for tensor in [tensor for tensor in graph.input if tensor.name in AGENT]:
        graph.input.remove(tensor)
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.type.tensor_type.elem_type)
        shape = [place.dim_value for place in tensor.type.tensor_type.shape.dim]
        graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(shape, kind), tensor.name))
    point.select(tensor.name for tensor in graph.input)


def _count_different(
    original: Compute, model: onnx.ModelProto, point: Point, observations: int, step: Callable[[], None]
) -> int:
    answer = point.advice.name
    scores = _scores(model, answer)
    checked = onnx.ModelProto()
    checked.CopyFrom(model)
    checked.graph.output.extend(onnx.ValueInfoProto(name=name) for name in scores)
    session = onnx_session(checked.SerializeToString())
    random = np.random.default_rng(_SEED)
    inputs = {spec.name: spec for spec in point.select(tensor.name for tensor in model.graph.input)}
    agent = {
        one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer if one.name in AGENT
    }
    different = 0
    for _ in range(observations):
        values = {name: _random(spec, random) for name, spec in inputs.items()}
        ours, *rated = session.run([answer, *scores], values)
        theirs = original(values | agent)[answer]
        if not np.allclose(ours, theirs, rtol=_CLOSE, atol=0):
            different += not any(_tie(each.ravel(), ours.item(), theirs.item()) for each in rated)
        step()
    return different


def _scores(model: onnx.ModelProto, answer: str) -> list[str]:
    """The tensor of which the answer is the place of the largest element; none if the answer is no such."""
    makers = {name: node for node in model.graph.node for name in node.output}
    node = makers.get(answer)
    while node is not None and node.op_type in ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"):
        node = makers.get(node.input[0])
    return [node.input[0]] if node is not None and node.op_type == "ArgMax" else []


def _tie(scores: Any, ours: int, theirs: int) -> bool:
    """Whether two columns differ by rounding alone, which is not the same on all processors."""
    inside = ours < scores.size and theirs < scores.size
    return inside and bool(np.isclose(scores[ours], scores[theirs], rtol=_CLOSE, atol=0))


def _random(spec: TensorSpec, random: np.random.Generator) -> Any:
    """A tensor with the sizes that features have: none, a few, or thousands."""
    if spec.name == "mask":
        values = random.integers(0, 2, spec.shape)
        values.flat[-1] = 1
    else:
        values = np.exp(random.uniform(0, 12, spec.shape)) * random.choice((-1, 0, 1, 1, 1, 1), spec.shape)
    return values.astype(spec.dtype)


def _bucketize(ctx: Any, node: Any, name: str, _args: object) -> None:
    """How many of the boundaries are not above the input: the sum over a comparison with all of them."""
    boundaries = np.array(node.get_attr("boundaries").floats, np.float32)
    cast = ctx.make_node("Cast", node.input[:1], attr={"to": onnx.TensorProto.FLOAT}).output[0]
    last = ctx.make_const(f"{name}_last", np.array([-1], np.int64)).output[0]
    column = ctx.make_node("Unsqueeze", [cast, last]).output[0]
    limits = ctx.make_const(f"{name}_boundaries", boundaries).output[0]
    above = ctx.make_node("GreaterOrEqual", [column, limits]).output[0]
    ones = ctx.make_node("Cast", [above], attr={"to": onnx.TensorProto.INT32}).output[0]
    shapes, dtypes = node.output_shapes, node.output_dtypes
    ctx.remove_node(node.name)
    ctx.make_node(
        "ReduceSum",
        [ones, last],
        {"keepdims": 0},
        outputs=node.output,
        name=name,
        shapes=shapes,
        dtypes=dtypes,
    )


def _unknown(model: Any) -> set[str]:
    """The operations of a SavedModel that tf2onnx does not know, but those of functions that nothing runs.

    TensorFlow 2 writes functions that save and restore. They are for other programs: its loader neither runs
    the nodes that call them nor takes a function that is not in the graph of objects. A model without such a
    graph, or with several graphs, is loaded in an older way, which runs these nodes.
    """
    known = {name for rows in handler.tf_op.get_opsets().values() for names in rows for name in names}
    known.update(_VARIABLES, ("Bucketize",))
    is_new = len(model.meta_graphs) == 1 and model.meta_graphs[0].HasField("object_graph_def")
    found: set[str] = set()
    for graph in model.meta_graphs:
        saver = (graph.saver_def.save_tensor_name.partition(":")[0], graph.saver_def.restore_op_name)
        unused = [node for node in graph.graph_def.node if node.name in saver] if is_new else []
        skipped = {name for node in unused for name in _callees(node)}
        skipped -= set(graph.object_graph_def.concrete_functions)
        functions = {each.signature.name: each.node_def for each in graph.graph_def.library.function}
        waiting = [node for node in graph.graph_def.node if node not in unused]
        waiting += [node for name, nodes in functions.items() if name not in skipped for node in nodes]
        while waiting:
            node = waiting.pop()
            if node.op not in known:
                found.add(node.op)
            for name in skipped.intersection(_callees(node)):
                skipped.remove(name)  # something else calls it, too
                waiting += functions.get(name, [])
    return found


def _callees(node: Any) -> Iterator[str]:
    for value in node.attr.values():
        for function in (value.func, *value.list.func):
            if function.name:
                yield function.name
