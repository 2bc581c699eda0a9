# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names, places and shapes of what a compiled model offers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import helper

from passpilot.features.columns import name_columns
from passpilot.features.point import find_point
from passpilot.plugin.errors import InputError, ModelError, SpecMismatchError
from passpilot.runners.aot.build import file_kind, is_symbol, link
from passpilot.runners.aot.graph import Choices, Graph, read_graph
from tests.runners.aot.library import library
from tests.runners.aot.models import FLOAT, INT64, model

if TYPE_CHECKING:
    from pathlib import Path

    from tests.runners.aot.models import Value


@pytest.mark.parametrize(
    "name", ["aligned_alloc", "free", "memcpy", "memmove", "memset", "", "1a", "a b", "ä", "a\n"]
)
def test_names_that_no_symbol_has(name: str) -> None:
    assert not is_symbol(name)


@pytest.mark.parametrize("name", ["a", "_", "Policy_2", "memcpy2", "malloc"])
def test_symbols(name: str) -> None:
    assert is_symbol(name)


def test_kinds_of_files() -> None:
    assert [file_kind(f"a.b/c.so.{kind}") for kind in ("so", "o", "ll")] == ["so", "o", "ll"]
    for path in ("so", "a.so.1", "a.", ".so", "a.SO"):
        with pytest.raises(InputError, match=r"expected an output that ends in \.so, \.o or \.ll, got "):
            file_kind(path)


def test_code_that_no_linker_takes() -> None:
    with pytest.raises(InputError, match=r"aot: expected .* to link, got exit code \d+: .*policy\.o"):
        link(b"no object file")


def test_outputs_stand_at_multiples_of_eight_bytes(tmp_path: Path) -> None:
    sizes = (1, 3, 8, 2)
    nodes = [helper.make_node("Split", ["x", "sizes"], [f"y{at}" for at in range(4)], axis=0)]
    made = model(
        nodes,
        [("x", onnx.TensorProto.UINT8, [14])],
        [f"y{at}" for at in range(4)],
        {"sizes": np.array(sizes)},
    )
    compiled = library(made, tmp_path)
    assert [spec.offset for spec in compiled.outputs] == [0, 8, 16, 24]
    assert compiled.c.output_size == 32
    found = compiled.run({"x": np.arange(14, dtype=np.uint8)})
    assert [found[f"y{at}"].tolist() for at in range(4)] == [[0], [1, 2, 3], [*range(4, 12)], [12, 13]]
    compiled.close()


def test_outputs_that_are_inputs_or_constants(tmp_path: Path) -> None:
    nodes = [helper.make_node("Identity", ["x"], ["same"]), helper.make_node("Relu", ["x"], ["y"])]
    made = model(nodes, [("x", FLOAT, [2])], ["same", "x", "c", "y"], {"c": np.array([5, 6, 7])})
    compiled = library(made, tmp_path)
    found = compiled.run({"x": np.array([-1, 2], "f4")})
    assert [found[name].tolist() for name in ("same", "x", "c", "y")] == [[-1, 2], [-1, 2], [5, 6, 7], [0, 2]]
    compiled.close()


def read(folder: Path, made: onnx.ModelProto, choices: Choices | None = None) -> Graph:
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    return read_graph(str(folder / "m.onnx"), choices or Choices())


def doubled(name: str, shape: list[int | str], kind: int = FLOAT) -> onnx.ModelProto:
    inputs: list[Value] = [(name, kind, shape)]
    return model([helper.make_node("Add", [name, name], ["y"])], inputs, ["y"])


@pytest.mark.parametrize(
    ("shape", "fixed"),
    [
        ([], (1, 33)),
        (["a", "b"], (1, 33)),
        (["a", 11], (3, 11)),
        ([3, "a"], (3, 11)),
        (["a", 11, "b"], (1, 11, 3)),
        ([33, "a"], (33, 1)),
        ([2, 5], (2, 5)),
    ],
)
def test_open_dimensions_take_what_the_points_tensor_has(
    shape: list[int | str], fixed: tuple[int, ...], tmp_path: Path
) -> None:
    if not shape:
        shape, fixed = ["a"], (33,)
    graph = read(tmp_path, doubled("liverange_size", shape), Choices(point=find_point("evict")))
    assert graph.inputs[0].shape == fixed


def test_a_first_open_dimension_is_a_batch_of_one(tmp_path: Path) -> None:
    for point in (None, find_point("evict")):
        graph = read(tmp_path, doubled("x", ["batch", 7]), Choices(point=point))
        assert graph.inputs[0].shape == (1, 7)
    with pytest.raises(
        ModelError, match=r"expected no open dimension but the first, got \[7,\?\]; .*--shape x:1"
    ):
        read(tmp_path, doubled("x", [7, "n"]))
    graph = read(tmp_path, doubled("x", [7, "n"]), Choices(shapes={"x": (7, 2)}))
    assert graph.inputs[0].shape == (7, 2)
    with pytest.raises(ModelError, match=r"expected no open dimension but the first, got \[7,\?\]"):
        read(tmp_path, doubled("x", [7, "n"]), Choices(shapes={"x": (7, 2, 1)}))


def test_names_of_columns_are_those_of_the_point(tmp_path: Path) -> None:
    made = doubled("x", [1, 2])
    name_columns(made, ["node_count", "edge_count"])
    assert read(tmp_path, made, Choices(point=find_point("inline"))).inputs[0].columns == (
        "node_count",
        "edge_count",
    )
    with pytest.raises(SpecMismatchError, match="node_count"):
        read(tmp_path, made, Choices(point=find_point("evict")))


def test_only_what_the_outputs_need_and_what_moves_is_compiled(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", ["c", "c"], ["once"]),
        helper.make_node("Shape", ["x"], ["size"]),
        helper.make_node("Mul", ["x", "once"], ["y"]),
        helper.make_node("Neg", ["x"], ["unused"]),
    ]
    made = model(nodes, [("x", FLOAT, [1, 2])], ["y", "size"], {"c": np.array([3, 4], "f4")})
    graph = read(tmp_path, made)
    assert [node.op_type for node in graph.nodes] == ["Mul"]
    assert graph.known["once"].tolist() == [6, 8]
    assert graph.known["size"].tolist() == [1, 2]
    assert "unused" not in graph.specs
    assert [tensor.name for tensor in read(tmp_path, made, Choices(["unused", "y", "unused"])).outputs] == [
        "unused",
        "y",
    ]


def test_random_numbers_cannot_be_compiled(tmp_path: Path) -> None:
    for name in ("RandomNormal", "RandomUniform"):
        nodes = [helper.make_node(name, [], ["r"], shape=[2]), helper.make_node("Add", ["x", "r"], ["y"])]
        with pytest.raises(
            ModelError, match=f"expected an operator that can be compiled, got {name}; docs/aot"
        ):
            read(tmp_path, model(nodes, [("x", FLOAT, [2])], ["y"]))
    like = [helper.make_node("RandomNormalLike", ["c"], ["r"]), helper.make_node("Add", ["x", "r"], ["y"])]
    with pytest.raises(ModelError, match="got RandomNormalLike"):
        read(tmp_path, model(like, [("x", FLOAT, [2])], ["y"], {"c": np.ones(2, "f4")}))


def test_operators_of_other_domains_are_named_with_them(tmp_path: Path) -> None:
    made = model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, [2])], ["y"])
    made.graph.node[0].domain = "com.example"
    made.opset_import.append(helper.make_opsetid("com.example", 1))
    with pytest.raises(ModelError, match=r"got com\.example\.Relu; docs/aot\.md has the table"):
        read(tmp_path, made)


def test_a_shape_must_be_known_before_the_run(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["y"])]
    made = model(nodes, [("x", FLOAT, [2]), ("shape", INT64, [1])], ["y"])
    with pytest.raises(ModelError, match="expected the input 'shape' to be constant, as shapes depend on it"):
        read(tmp_path, made)


def test_an_initializer_may_be_declared_as_an_input(tmp_path: Path) -> None:
    """As in models of old versions of ONNX; nobody feeds it."""
    made = model(
        [helper.make_node("Add", ["x", "c"], ["y"])], [("x", FLOAT, [2])], ["y"], {"c": np.ones(2, "f4")}
    )
    made.graph.input.append(helper.make_tensor_value_info("c", FLOAT, [2]))
    graph = read(tmp_path, made)
    assert [tensor.name for tensor in graph.inputs] == ["x"]
    assert graph.known["c"].tolist() == [1, 1]


def test_halves_cannot_be_compiled(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["half"], to=onnx.TensorProto.FLOAT16),
        helper.make_node("Cast", ["half"], ["y"], to=FLOAT),
    ]
    with pytest.raises(
        ModelError, match="expected tensors of numbers of up to 64 bits, got 'half' of float16"
    ):
        read(tmp_path, model(nodes, [("x", FLOAT, [2])], ["y"]))


def test_functions_of_the_model_are_inlined(tmp_path: Path) -> None:
    made = model([helper.make_node("Relu", ["x"], ["y"])], [("x", FLOAT, [2])], ["y"])
    made.graph.node[0].op_type, made.graph.node[0].domain = "Twice", "mine"
    opsets = [helper.make_opsetid("", 17)]
    body = [helper.make_node("Add", ["a", "a"], ["b"])]
    made.functions.append(helper.make_function("mine", "Twice", ["a"], ["b"], body, opsets))
    made.opset_import.append(helper.make_opsetid("mine", 1))
    assert [node.op_type for node in read(tmp_path, made).nodes] == ["Add"]
