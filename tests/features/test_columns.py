# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`name_columns`: what it writes into a model, and what it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from passpilot.features.columns import columns_of, name_columns
from passpilot.plugin.errors import InputError, ModelError
from tests.runners.aot.models import FLOAT, INT64, model


def adder(*inputs: tuple[str, int, list[int | str]]) -> onnx.ModelProto:
    """A model with these inputs."""
    nodes = [helper.make_node("Identity", [name], [f"y{name}"]) for name, _, _ in inputs]
    return model(nodes, inputs, [f"y{name}" for name, _, _ in inputs])


def test_the_names_of_the_only_input_of_floats() -> None:
    made = adder(("count", INT64, [1]), ("x", FLOAT, ["n", 3]))
    made.metadata_props.add(key="author", value="somebody")
    for names in (["c", "b"], ["b", "a", "c"]):
        name_columns(made, iter(names))
        assert columns_of(made) == {"x": tuple(names)}
    assert {entry.key: entry.value for entry in made.metadata_props} == {
        "author": "somebody",
        "passpilot/columns/x": "b,a,c",
    }


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path, other = tmp_path / "m.onnx", tmp_path / "link.onnx"
    path.write_bytes(adder(("x", FLOAT, [1, 2]), ("z", FLOAT, [1, 2])).SerializeToString())
    os.link(path, other)
    before = path.read_bytes()
    name_columns(path, ["a", "b"], input_name="z")
    name_columns(str(path), ["a"], input_name="x")
    assert columns_of(onnx.load(path)) == {"x": ("a",), "z": ("a", "b")}
    assert other.read_bytes() == before, "the old file has not been written to"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.onnx", "m.onnx"]


@pytest.mark.parametrize(
    ("names", "input_name", "told"),
    [
        ("a,b", "", "expected a list of the features' names, got 'a,b'"),
        ([], "", r"expected a list of the features' names, got \[\]"),
        (["a", ""], "", "expected the names of features without commas, got ''"),
        (["a,b"], "", "expected the names of features without commas, got 'a,b'"),
        (["a", 1], "", "expected the names of features without commas, got 1"),
        (["a", "b", "a"], "", "expected each feature once, got 'a' 2 times"),
        (["a", "b", "c"], "", "input 'x': expected names for 2 elements, got 3"),
        (["a"], "count", "expected an input 'count' of floats, got x"),
        (["a"], "y", "expected an input 'y' of floats, got x"),
    ],
)
def test_names_that_do_not_fit(names: list[str], input_name: str, told: str) -> None:
    made = adder(("count", INT64, [1]), ("x", FLOAT, ["n", 2]))
    with pytest.raises(ModelError, match=f"^model: {told}"):
        name_columns(made, names, input_name=input_name)
    assert not made.metadata_props


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["cost_estimate"], "expected names for 2 elements, got 1; give the columns of the table"),
        (
            ["progress"],
            "expected names for 2 elements, got 1; give the columns of the table",
        ),
        (
            ["cost_estimate", "callee_basic_block_cout"],
            "expected features, got 'callee_basic_block_cout'; did you mean",
        ),
    ],
)
def test_features_that_do_not_fill_the_input(names: list[str], told: str) -> None:
    made = adder(("x", FLOAT, ["n", 2]))
    with pytest.raises(ModelError, match=f"^model: input 'x': {told}"):
        name_columns(made, names)
    assert not made.metadata_props


def test_several_inputs_of_floats() -> None:
    made = adder(("x", FLOAT, [1, 2]), ("z", FLOAT, [1, 2]))
    with pytest.raises(ModelError, match="expected one input of floats, or input_name=, got x, z"):
        name_columns(made, ["a"])


def test_an_open_width_takes_any_number_of_names() -> None:
    made = adder(("x", FLOAT, [1, "columns"]))
    name_columns(made, [f"c{number}" for number in range(99)])
    assert len(columns_of(made)["x"]) == 99


def test_files_that_are_no_models(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with pytest.raises(ModelError, match=r"m\.onnx: expected an ONNX file, got: No such file"):
        name_columns(path, ["a"])
    path.write_bytes(b"not a model\n")
    with pytest.raises(ModelError, match=r"m\.onnx: expected an ONNX file, got: Error parsing message"):
        name_columns(path, ["a"])
    assert path.read_bytes() == b"not a model\n"
    path.write_bytes(adder(("x", FLOAT, [1, 2])).SerializeToString())
    path.with_name("dangling").symlink_to("none/m.onnx")
    with pytest.raises((InputError, ModelError)):
        name_columns(path.with_name("dangling"), ["a"])


def test_doubles_are_floats_and_initializers_no_inputs() -> None:
    made = adder(("count", INT64, [1]), ("weights", FLOAT, [2]), ("x", TensorProto.DOUBLE, ["n", 2]))
    made.graph.initializer.append(helper.make_tensor("weights", FLOAT, [2], [1.0, 2.0]))
    name_columns(made, ["a", "b"])
    assert columns_of(made) == {"x": ("a", "b")}
    with pytest.raises(ModelError, match="expected an input 'weights' of floats, got x"):
        name_columns(made, ["a"], input_name="weights")


def test_a_model_without_inputs_of_floats() -> None:
    with pytest.raises(ModelError, match="expected one input of floats, or input_name=, got none"):
        name_columns(adder(("count", INT64, [1])), ["a"])


@pytest.mark.parametrize("shape", [[2, 3], [1, 2, 3], ["n", 2, 3]])
def test_all_elements_of_a_question_have_names(shape: list[int | str]) -> None:
    made = adder(("x", FLOAT, shape))
    name_columns(made, list("abcdef"))
    assert columns_of(made)["x"] == tuple("abcdef")
    with pytest.raises(ModelError, match="input 'x': expected names for 6 elements, got 7; give the columns"):
        name_columns(made, list("abcdefg"))


def test_an_input_without_a_shape_takes_any_number_of_names() -> None:
    made = adder(("x", FLOAT, [1, 2]))
    made.graph.input[0].type.tensor_type.ClearField("shape")
    name_columns(made, list("abc"))
    assert columns_of(made) == {"x": ("a", "b", "c")}


def test_what_else_a_model_says_names_no_columns() -> None:
    made = adder(("x", FLOAT, [1, 2]))
    for key, value in (("passpilot/columns/x", ""), ("author", "a,b"), ("x/passpilot/columns/", "a")):
        made.metadata_props.add(key=key, value=value)
    assert columns_of(made) == {}
