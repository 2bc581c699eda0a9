# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ill-formed and unsupported models are refused, with the name of the fault, before anything is written."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from passpilot.plugin.errors import ModelError
from passpilot.runners.aot.graph import Choices, read_graph
from tests.runners.aot.library import library
from tests.runners.aot.models import FLOAT, INT64, model
from tests.runners.onnx.reference import reference

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Change = Callable[[onnx.GraphProto], object]


def product() -> onnx.ModelProto:
    """y = LeakyRelu(x W), of x float[1,4]."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("LeakyRelu", ["h"], ["y"])]
    return model(nodes, [("x", FLOAT, [1, 4])], ["y"], {"w": np.ones((4, 2), "f4")})


def refusal(folder: Path, made: onnx.ModelProto) -> str:
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(ModelError) as caught:
        read_graph(str(folder / "m.onnx"), Choices())
    return str(caught.value)


@pytest.mark.parametrize("text", [b"Sigmoid", b"MatMul"])
def test_names_that_are_no_utf8(text: bytes, tmp_path: Path) -> None:
    """Of a node that is computed once, and of one that every run computes."""
    nodes = [helper.make_node("Sigmoid", ["w"], ["v"]), helper.make_node("MatMul", ["x", "v"], ["y"])]
    weights = {"w": np.ones((4, 2), "f4")}
    made = model(nodes, [("x", FLOAT, [1, 4])], ["y"], weights).SerializeToString()
    (tmp_path / "m.onnx").write_bytes(made.replace(text, b"\xff" + text[1:]))
    with pytest.raises(ModelError, match="op_type: expected a text in UTF-8, got b'"):
        read_graph(str(tmp_path / "m.onnx"), Choices())


def short(graph: onnx.GraphProto) -> None:
    tensor = numpy_helper.from_array(np.ones((4, 2), "f4"), "w")
    tensor.raw_data = tensor.raw_data[:10]
    graph.initializer[0].CopyFrom(tensor)


def sparse(graph: onnx.GraphProto) -> None:
    del graph.initializer[:]
    values = numpy_helper.from_array(np.ones(2, "f4"), "w")
    places = numpy_helper.from_array(np.array([0, 5]), "places")
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [4, 2]))


def cycle(graph: onnx.GraphProto) -> None:
    graph.node.extend([helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Neg", ["a"], ["b"])])
    graph.output[0].name = "b"


def external(graph: onnx.GraphProto) -> None:
    tensor = graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="none.bin")


def sequence(graph: onnx.GraphProto) -> None:
    graph.node.append(helper.make_node("SequenceConstruct", ["w", "w"], ["s"]))
    graph.output[0].CopyFrom(helper.make_tensor_sequence_value_info("s", FLOAT, None))


def dims(*shape: int) -> Change:
    return lambda graph: graph.input[0].CopyFrom(helper.make_tensor_value_info("x", FLOAT, shape))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (short, "initializer 'w': expected a tensor's data in its type and shape, got: buffer size"),
        (lambda g: setattr(g.initializer[0], "data_type", 999), "initializer 'w': expected a tensor's data"),
        (sparse, "initializer 'w': expected a dense tensor, got a sparse one"),
        (external, "none.bin"),
        (lambda g: g.initializer.pop(), "expected a graph that runs, got: "),
        (cycle, "expected a graph that runs, got: "),
        (
            lambda g: g.node[1].output.__setitem__(0, "h"),
            "expected a tensor of the graph, got a name without",
        ),
        (lambda g: setattr(g.output[0], "name", "z"), "output 'z': expected a tensor of the graph"),
        (lambda g: setattr(g.output[0], "name", ""), "output '': expected a tensor of the graph"),
        (lambda g: setattr(g.input[0].type.tensor_type, "elem_type", 0), "input 'x': expected a tensor of n"),
        (lambda g: setattr(g.input[0].type.tensor_type, "elem_type", 99), "input 'x': expected a tensor of"),
        (lambda g: g.input[0].type.tensor_type.ClearField("shape"), "input 'x': expected no open dimension"),
        (dims(1, -1), r"expected no open dimension but the first, got [1,?]; give them by --shape x:1"),
        (dims(1, 10**12), "input 'x': expected at most 268435456 elements, got shape [1, 1000000000000]"),
        (dims(1 << 40, 1 << 40), "input 'x': expected at most 268435456 elements"),
        (dims(1, 3), "expected a graph that runs, got: "),
        (sequence, "output 's': expected numbers of up to 64 bits, got object"),
        (
            lambda g: g.node[1].attribute.add(name="alpha"),
            "node 'y' (LeakyRelu): alpha: expected an attribute of numbers, texts or a tensor",
        ),
        (
            lambda g: g.node[1].attribute.add(name="alpha", type=onnx.AttributeProto.GRAPH),
            "node 'y' (LeakyRelu): alpha: expected an attribute of numbers, texts or a tensor",
        ),
        (
            lambda g: g.node[1].attribute.append(helper.make_attribute("alpha", "much")),
            "expected a graph that runs, got: ",
        ),
    ],
)
def test_ill_formed(tmp_path: Path, change: Change, told: str) -> None:
    made = product()
    change(made.graph)
    assert told in refusal(tmp_path, made)


def test_the_shape_of_an_input_that_has_none(tmp_path: Path) -> None:
    made = product()
    made.graph.input[0].type.tensor_type.ClearField("shape")
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    graph = read_graph(str(tmp_path / "m.onnx"), Choices(shapes={"x": (3, 4)}))
    assert [str(each) for each in (*graph.inputs, *graph.outputs)] == ["x float32[3,4]", "y float32[3,2]"]


def test_a_constant_sequence_of_tensors_that_differ(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("SequenceConstruct", ["two", "four"], ["s"]),
        helper.make_node("SequenceAt", ["s", "one"], ["t"]),
        helper.make_node("Add", ["x", "t"], ["y"]),
    ]
    known = {"two": np.ones(2, "f4"), "four": np.arange(4, dtype="f4"), "one": np.array(1)}
    compiled = library(model(nodes, [("x", FLOAT, [1, 4])], ["y"], known), tmp_path)
    assert compiled.run({"x": np.ones((1, 4), "f4")})["y"].tolist() == [[1, 2, 3, 4]]
    compiled.close()


def test_intercepts_of_another_number_do_not_count(tmp_path: Path) -> None:
    node = helper.make_node(
        "LinearRegressor",
        ["x"],
        ["y"],
        domain="ai.onnx.ml",
        coefficients=[1.0] * 8,
        intercepts=[1.0, 2.0, 3.0],
        targets=2,
    )
    made = model([node], [("x", FLOAT, [1, 4])], ["y"])
    compiled, fed = library(made, tmp_path), {"x": np.ones((1, 4), "f4")}
    assert compiled.run(fed)["y"].tolist() == reference(made)(fed)["y"].tolist() == [[4, 4]]
    compiled.close()


def test_a_default_label_of_64_bits(tmp_path: Path) -> None:
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml")
    for name, value in (("keys_tensor", 1), ("values_tensor", 2), ("default_tensor", (1 << 60) + 1)):
        node.attribute.append(helper.make_attribute(name, numpy_helper.from_array(np.array([value]))))
    made = model([node], [("x", INT64, [2])], ["y"])
    for each in made.opset_import:
        each.version = {"ai.onnx.ml": 4}.get(each.domain, each.version)
    compiled = library(made, tmp_path)
    assert compiled.run({"x": np.array([1, 7])})["y"].tolist() == [2, (1 << 60) + 1]
    compiled.close()


def swelling(count: int, doublings: int = 0) -> onnx.ModelProto:
    """A model of some hundred bytes that computes a constant of `count` elements and doubles it."""
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["c0"])]
    nodes += [
        helper.make_node("Concat", [f"c{step}"] * 2, [f"c{step + 1}"], axis=0) for step in range(doublings)
    ]
    nodes.append(helper.make_node("ReduceSum", [f"c{doublings}"], ["s"], keepdims=0))
    nodes.append(helper.make_node("Mul", ["x", "s"], ["y"]))
    return model(nodes, [("x", FLOAT, [1])], ["y"], {"n": np.array([count])})


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (swelling(20_000_000), "expected constants of at most 64 MiB to compute from others, got 76 MiB"),
        (swelling(1 << 30), "expected a graph that runs, got: "),
        (swelling(1 << 20, 20), "expected a graph that runs, got: "),
    ],
)
def test_constants_have_a_bound(made: onnx.ModelProto, told: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(made.SerializeToString())
    assert path.stat().st_size < 2000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ModelError, match=told):
        read_graph(str(path), Choices())
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 << 10
    path.write_bytes(swelling(1000).SerializeToString())
    assert read_graph(str(path), Choices()).known["c0"].shape == (1000,)
