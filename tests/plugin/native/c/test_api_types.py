# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""passpilot.h: models whose tensors have any type, shape and meaning, in onnxruntime and compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import onnx
import pytest
from onnx import helper

from passpilot.cli.aot import main
from tests.plugin.native.c.client import TYPES, CApiError, choice, flag, number, runner

if TYPE_CHECKING:
    from pathlib import Path

    from tests.plugin.native.c.client import CDomain

ONE: Final = {"a": ("int64", (1,))}
ANY: Final = number(-1e20, 1e20)
LARGE: Final = {"float32": 1.5, "float64": 2**53 - 1, "uint64": 2**63 + 2**12, "int64": -(2**53)}
"""What a conversion to another type would change."""

Shape = list[int | str]


def large(dtype: str) -> float:
    """The largest unsigned or the least signed value, or one that needs the type's precision."""
    if dtype in LARGE:
        return LARGE[dtype]
    info = np.iinfo(dtype)
    return float(info.min or info.max)


@pytest.fixture(params=["onnx", "aot"])
def scheme(request: pytest.FixtureRequest) -> str:
    """Both ways to run a model."""
    return str(request.param)


def model(
    folder: Path,
    scheme: str,
    nodes: list[onnx.NodeProto],
    x: tuple[str, Shape],
    y: tuple[str, Shape],
) -> str:
    """The spec of a model from x to y, each of a type and a shape."""
    info = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (dtype, shape) in (("a", x), ("y", y))
    ]
    graph = helper.make_graph(nodes, "m", info[:1], info[1:])
    made = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(made, str(folder / "m.onnx"))
    if scheme == "aot":
        assert main([str(folder / "m.onnx"), "-o", str(folder / "m.so")]) == 0
    return f"{scheme}:{folder / ('m.so' if scheme == 'aot' else 'm.onnx')}"


def identity(folder: Path, scheme: str, dtype: str = "float32", shape: tuple[int | str, ...] = (1,)) -> str:
    """A model that answers what it is given."""
    node = helper.make_node("Identity", ["a"], ["y"])
    return model(folder, scheme, [node], (dtype, list(shape)), (dtype, list(shape)))


@pytest.mark.parametrize("dtype", TYPES)
def test_an_output_of_each_type(dtype: str, tmp_path: Path) -> None:
    with runner(identity(tmp_path, "onnx", dtype), {"a": (dtype, (1,))}, ANY) as made:
        for value in (large(dtype), 0, 3):
            assert made.ask(a=np.array(value, dtype)) == value


@pytest.mark.parametrize("dtype", TYPES)
def test_a_column_of_each_type(dtype: str, tmp_path: Path) -> None:
    """`map=` converts it to the type of the input."""
    features = {"first": ("int64", (1,)), "b": (dtype, (2,))}
    nodes = [
        helper.make_node("Constant", [], ["last"], value_ints=[2]),
        helper.make_node("Gather", ["a", "last"], ["y"]),
    ]
    spec = model(tmp_path, "onnx", nodes, ("float64", [3]), ("float64", [1]))
    with runner(f"{spec}?map=a:first,b", features, ANY) as made:
        for value in (large(dtype), 0, 3):
            assert made.ask(first=7, b=np.array((9, value), dtype)) == value


def test_columns_of_an_input_of_less_precision(tmp_path: Path) -> None:
    with runner(f"{identity(tmp_path, 'onnx')}?map=a:b", {"b": ("float64", (1,))}, ANY) as made:
        assert made.ask(b=2**24 + 1) == 2**24


@pytest.mark.parametrize("shape", [("n",), ("n", "m"), ("n", 3), (1, "m"), ("n", 1, "m"), (3,), ()])
def test_open_dimensions_of_an_input_take_what_there_is(shape: tuple[int | str, ...], tmp_path: Path) -> None:
    node = helper.make_node("ReduceMax", ["a"], ["y"], keepdims=0)
    spec = model(tmp_path, "onnx", [node], ("float32", list(shape)), ("float32", []))
    size = 3 if shape else 1
    with runner(spec, {"a": ("float32", (size,))}, number(0, 9)) as made:
        assert made.ask(a=[*range(5, 8)][:size]) == 4 + size


@pytest.mark.parametrize(
    ("shape", "shown"), [((2, "m"), "[2,?]"), (("n", 2), "[?,2]"), ((0, "m"), "[0,?]"), ((2,), "[2]")]
)
def test_open_dimensions_of_an_input_that_cannot_fit(
    shape: tuple[int | str, ...], shown: str, tmp_path: Path
) -> None:
    spec = identity(tmp_path, "onnx", shape=shape)
    with pytest.raises(CApiError) as error, runner(spec, {"a": ("float32", (3,))}, ANY):
        pass
    assert f"input 'a': expected float32[3] as the compiler offers, got float32{shown} in the" in str(
        error.value
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_float_for_a_flag_is_a_probability(dtype: str, scheme: str, tmp_path: Path) -> None:
    spec = identity(tmp_path, scheme, dtype)
    features = {"a": (dtype, (1,))}
    with runner(spec, features) as made:
        assert [made.ask(a=chance) for chance in (0.25, 0.5, 0.75)] == [0, 1, 1]
    with runner(f"{spec}?threshold=0.75", features) as made:
        assert [made.ask(a=chance) for chance in (0.5, 0.75, 1)] == [0, 1, 1]
    with runner(f"{spec}?as=decision", features) as made:
        assert [made.ask(a=answer) for answer in (0, 1)] == [0, 1]
        with pytest.raises(CApiError, match=r"output 'y': expected 0 or 1, got 0\.5; as=probability&thresh"):
            made.ask(a=0.5)


def test_two_floats_for_a_flag_are_logits(scheme: str, tmp_path: Path) -> None:
    with runner(identity(tmp_path, scheme, shape=(2,)), {"a": ("float32", (2,))}) as made:
        assert [made.ask(a=logits) for logits in ((1, 2), (2, 1), (1, 1))] == [1, 0, 0]


def test_integers_are_the_decision(scheme: str, tmp_path: Path) -> None:
    with runner(identity(tmp_path, scheme, "int64"), ONE, choice(4)) as made:
        assert [made.ask(a=column) for column in (0, 3)] == [0, 3]
        for column in (-1, 4):
            with pytest.raises(CApiError) as error:
                made.ask(a=column)
            assert str(error.value).endswith(f"output 'y': expected an integer of 0 to 3, got {column}")


@pytest.mark.parametrize(
    ("options", "domain", "told"),
    [
        ("threshold=0.5", choice(4), "remove threshold="),
        ("threshold=0.5", flag(), "remove threshold=, or add as=probability"),
        ("output=z", flag(), "output: expected 'z', got y; name one by output="),
    ],
)
def test_options_that_do_not_fit(options: str, domain: CDomain, told: str, tmp_path: Path) -> None:
    spec = identity(tmp_path, "onnx", "int64")
    with pytest.raises(CApiError) as error, runner(f"{spec}?{options}", ONE, domain):
        pass
    assert str(error.value).endswith(told)


def test_one_input_of_a_fixed_size_takes_one_question_at_a_time(tmp_path: Path) -> None:
    node = helper.make_node("Mul", ["a", "bias"], ["y"])
    shapes: dict[str, Shape] = {"a": ["n"], "bias": [1], "y": ["n"]}
    info = [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]
    graph = helper.make_graph([node], "m", info[:2], info[2:])
    model = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, str(tmp_path / "m.onnx"))
    features = {"a": ("float32", (1, 3)), "bias": ("float32", (1,))}
    with runner(f"onnx:{tmp_path / 'm.onnx'}?as=score", features, choice(3)) as made:
        assert made.ask(a=(1, 3, 2), bias=2) == 1
        assert made.ask(a=(1, 3, 2), bias=-1) == 0


def test_the_outputs_are_listed(tmp_path: Path) -> None:
    node = helper.make_node("Split", ["a"], ["y", "z"], axis=0)
    info = [helper.make_tensor_value_info(name, 1, [size]) for name, size in (("a", 2), ("y", 1), ("z", 1))]
    graph = helper.make_graph([node], "m", info[:1], info[1:])
    made = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(made, str(tmp_path / "m.onnx"))
    features = {"a": ("float32", (2,))}
    with pytest.raises(CApiError) as error, runner(f"onnx:{tmp_path / 'm.onnx'}", features):
        pass
    assert str(error.value).endswith("output: expected 'advice', got y, z; name one by output=")
    with runner(f"onnx:{tmp_path / 'm.onnx'}?output=z", features) as chosen:
        assert [chosen.ask(a=pair) for pair in ((0, 1), (1, 0))] == [1, 0]


def test_a_model_that_is_too_large(tmp_path: Path) -> None:
    """A file of 2 GiB, all of it a hole, is not read."""
    with (tmp_path / "m.onnx").open("wb") as file:
        file.truncate(1 << 31)
    told = "m.onnx: expected an ONNX file, got: File too large"
    with pytest.raises(CApiError, match=told), runner(f"onnx:{tmp_path / 'm.onnx'}", ONE):
        pass
