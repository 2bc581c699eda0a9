# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runners of the core, asked from Python, at every decision point."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from passpilot.features.domain import Number
from passpilot.features.point import find_point
from passpilot.plugin.errors import ModelError, PasspilotWarning, RunnerSpecError, SpecMismatchError
from passpilot.runners.base import allocate
from passpilot.runners.native import onnx_library
from passpilot.runners.spec import make_runner

if TYPE_CHECKING:
    from passpilot.runners.base import Runner

ALL_BITS = (1 << 64) - 1


def made(spec: str, point: str) -> Runner:
    return allocate(make_runner(spec, find_point(point)))


@pytest.mark.parametrize(
    ("point", "target", "answer"),
    [
        ("inline", "1", 1),
        ("evict", "0", 0),
        ("evict", "32", 32),
        ("priority", "0", 0.0),
        ("priority", "4294967295", 4294967295.0),
        ("priority", "2147483649", 2147483649.0),
        ("priority", "0.5", 0.5),
        ("priority", "1e9", 1e9),
    ],
)
def test_constants(point: str, target: str, answer: float) -> None:
    found = made(f"const:{target}", point).evaluate()
    assert (type(found), found) == (type(answer), answer)


@pytest.mark.parametrize(
    ("point", "target", "expected"),
    [
        ("inline", "2", "const:0 or const:1"),
        ("evict", "33", "const:N with an integer of 0 to 32"),
        ("evict", "-1", "const:N with an integer of 0 to 32"),
        ("evict", "1.0", "const:N with an integer of 0 to 32"),
        ("evict", "", "const:N with an integer of 0 to 32"),
        ("priority", "-1", "const:N with a number of 0 to 4294967295"),
        ("priority", "4294967296", "const:N with a number of 0 to 4294967295"),
        ("priority", "1e999", "const:N with a number of 0 to 4294967295"),
        ("priority", "nan", "const:N with a number of 0 to 4294967295"),
        ("priority", "1_0", "const:N with a number of 0 to 4294967295"),
        ("priority", "x", "const:N with a number of 0 to 4294967295"),
    ],
)
def test_constants_outside_the_domain(point: str, target: str, expected: str) -> None:
    with pytest.raises(RunnerSpecError) as caught:
        made(f"const:{target}", point)
    assert str(caught.value) == f"runner const:{target}: expected {expected}, got {target!r}"


@pytest.mark.parametrize(
    ("point", "tensor", "value"),
    [
        ("inline", "inlining_default", 1),
        ("evict", "evict_default", 32),
        ("priority", "priority_default", 0.1),
    ],
)
def test_default_is_the_tensor(point: str, tensor: str, value: float) -> None:
    runner = made("default", point)
    assert [spec.name for spec in runner.inputs] == [tensor]
    runner.tensors[tensor][...] = value
    found = runner.evaluate()
    assert (type(found), found) == (type(value), value)


def splitmix64(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & ALL_BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & ALL_BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & ALL_BITS
    return x ^ (x >> 31)


def drawn(seed: int, context: str, ordinal: int) -> int:
    """The documented hash."""
    key = 0xCBF29CE484222325
    for byte in context.encode():
        key = ((key ^ byte) * 0x100000001B3) & ALL_BITS
    return splitmix64((splitmix64(seed ^ key) + ordinal) & ALL_BITS)


def test_random_priorities_are_integers_of_32_bits() -> None:
    runner = made("random:7", "priority")
    runner.switch_context("main")
    assert [runner.evaluate() for _ in range(50)] == [drawn(7, "main", n) >> 32 for n in range(50)]


def test_random_columns_are_legal_and_evenly_drawn() -> None:
    runner = made("random:7", "evict")
    assert [spec.name for spec in runner.inputs] == ["mask"]
    legal = [0, 3, 31, 32]
    runner.tensors["mask"][0, legal] = 1
    answers = [runner.evaluate() for _ in range(2000)]
    assert answers == [legal[(drawn(7, "", n) >> 32) * 4 >> 32] for n in range(2000)]
    assert all(440 < answers.count(column) < 560 for column in legal)
    runner.tensors["mask"][...] = 0
    runner.tensors["mask"][0, 17] = 1
    assert {runner.evaluate() for _ in range(50)} == {17}


def model(
    path: Path, nodes: list[onnx.NodeProto], output: int, shape: list[int], *inputs: onnx.ValueInfoProto
) -> str:
    out = helper.make_tensor_value_info("y", output, shape)
    graph = helper.make_graph(nodes, "m", inputs, [out])
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)]), str(path))
    return f"onnx:{path}"


def columns(name: str = "liverange_size") -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 33])


def identity(path: Path) -> str:
    """Write a model whose 33 logits are the live ranges' sizes."""
    node = helper.make_node("Identity", ["liverange_size"], ["y"])
    return model(path, [node], TensorProto.FLOAT, [1, 33], columns())


def test_logits_are_those_of_the_legal_columns(tmp_path: Path) -> None:
    runner = made(identity(tmp_path / "m.onnx"), "evict")
    assert {spec.name for spec in runner.inputs} == {"liverange_size", "mask"}
    sizes = runner.tensors["liverange_size"]
    sizes[0, [4, 5, 9, 32]] = [7, 9, 9, 3]
    runner.tensors["mask"][...] = 1
    assert runner.evaluate() == 5, "the first of the largest"
    runner.tensors["mask"][0, 5] = 0
    assert runner.evaluate() == 9
    runner.tensors["mask"][0, 9] = 0
    assert runner.evaluate() == 4
    runner.tensors["mask"][0, :32] = 0
    assert runner.evaluate() == 32
    runner.tensors["mask"][0, 6] = 1
    sizes[...] = -np.inf
    assert runner.evaluate() == 6, "infinite logits are logits"


def test_nan_among_the_logits_is_an_error(tmp_path: Path) -> None:
    runner = made(identity(tmp_path / "m.onnx"), "evict")
    runner.tensors["mask"][...] = 1
    runner.tensors["liverange_size"][0, 7] = np.nan
    with pytest.raises(ModelError, match="expected numbers, got NaN"):
        runner.evaluate()


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.INT64])
def test_a_column_as_the_decision(tmp_path: Path, dtype: int) -> None:
    nodes = [
        helper.make_node("ArgMax", ["liverange_size"], ["column"], axis=1, keepdims=0),
        helper.make_node("Cast", ["column"], ["y"], to=dtype),
    ]
    for options in ("", "?as=decision"):
        runner = made(model(tmp_path / "m.onnx", nodes, dtype, [1], columns()) + options, "evict")
        runner.tensors["liverange_size"][0, 21] = 1
        answer = runner.evaluate()
        assert (type(answer), answer) == (int, 21)


@pytest.mark.parametrize("dtype", [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64])
def test_a_number_of_any_type(tmp_path: Path, dtype: int) -> None:
    size = helper.make_tensor_value_info("li_size", TensorProto.INT64, [1])
    spec = model(
        tmp_path / "m.onnx", [helper.make_node("Cast", ["li_size"], ["y"], to=dtype)], dtype, [1], size
    )
    for options in ("", "?as=decision"):
        runner = made(spec + options, "priority")
        for value in (0, 48, 1 << 31, (1 << 31) + 256):
            runner.tensors["li_size"][...] = value
            answer = runner.evaluate()
            assert (type(answer), answer) == (float, value)


@pytest.mark.parametrize(
    ("point", "meaning", "expected"),
    [
        ("evict", "probability", "decision|logits|score for evict"),
        ("priority", "logits", "decision for priority"),
        ("priority", "probability", "decision for priority"),
        ("inline", "number", "decision|logits|probability for inline"),
    ],
)
def test_meanings_that_do_not_fit_the_point(tmp_path: Path, point: str, meaning: str, expected: str) -> None:
    with pytest.raises(RunnerSpecError) as caught:
        made(f"{identity(tmp_path / 'm.onnx')}?as={meaning}", point)
    assert str(caught.value).endswith(f"expected as={expected}, got {meaning!r}")


@pytest.mark.parametrize(("point", "shape"), [("evict", 2), ("evict", 32), ("priority", 2)])
def test_outputs_of_another_size(tmp_path: Path, point: str, shape: int) -> None:
    node = helper.make_node("Constant", [], ["y"], value_floats=[0.0] * shape)
    spec = model(tmp_path / "m.onnx", [node], TensorProto.FLOAT, [shape])
    expected = "33 elements, one per choice" if point == "evict" else "1 element"
    with pytest.raises(SpecMismatchError, match=rf"expected {expected}, got \[{shape}\]"):
        made(spec, point)


def test_all_columns_in_one_input(tmp_path: Path) -> None:
    """`map=x:*` concatenates all of the point's own features, in their order, and warns once."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 20 * 33 + 1])
    nodes = [
        helper.make_node("Constant", [], ["from"], value_ints=[33]),
        helper.make_node("Constant", [], ["to"], value_ints=[66]),
        helper.make_node("Constant", [], ["axis"], value_ints=[1]),
        helper.make_node("Slice", ["x", "from", "to", "axis"], ["y"]),
    ]
    spec = model(tmp_path / "m.onnx", nodes, TensorProto.FLOAT, [1, 33], x) + "?map=x:*"
    with pytest.warns(PasspilotWarning, match=r"m\.onnx: input 'x': expected the names of its columns"):
        made(spec, "evict")
    runner = made(spec, "evict")
    runner.tensors["mask"][...] = 1
    runner.tensors["is_free"][0, 11] = 1
    assert runner.evaluate() == 11


@pytest.mark.parametrize(
    ("spec", "point", "told"),
    [
        ("default:x", "inline", "runner default:x: expected default alone, got a target"),
        ("random", "inline", "a 64-bit unsigned seed, such as random:7, got ''"),
        ("random:-1", "inline", "a 64-bit unsigned seed, such as random:7, got '-1'"),
        ("random:0x1", "inline", "a 64-bit unsigned seed, such as random:7, got '0x1'"),
        ("random:\u0663", "inline", "a 64-bit unsigned seed, such as random:7, got '\u0663'"),
        (f"random:{1 << 64}", "evict", f"a 64-bit unsigned seed, such as random:7, got '{1 << 64}'"),
        ("decisions:f", "evict", "runner decisions:f: expected the point inline, got evict"),
        ("const:1.0", "inline", "runner const:1.0: expected const:0 or const:1, got '1.0'"),
        ("aot:m.so?threshold=nan", "inline", "expected a threshold from 0 to 1, got 'nan'"),
        (
            "aot:m.so?threshold=-inf",
            "inline",
            "expected a threshold from 0 to 1, got '-inf'",
        ),
        ("aot:m.so?map=x", "inline", "runner aot:m.so: expected map=INPUT:feature,feature, got 'x'"),
        ("aot:m.so?map=:a", "inline", "expected map=INPUT:feature,feature, got ':a'"),
        ("aot:m.so?map=x:", "inline", "expected map=INPUT:feature,feature, got 'x:'"),
        ("aot:m.so?map=y:a;x:a,%20,b", "inline", "expected map=INPUT:feature,feature, got 'x:a, ,b'"),
    ],
)
def test_specs_that_are_refused(spec: str, point: str, told: str) -> None:
    with pytest.raises(RunnerSpecError) as caught:
        make_runner(spec, find_point(point))
    assert told in str(caught.value)


def test_the_largest_seed() -> None:
    runner = made(f"random:{ALL_BITS}", "evict")
    runner.tensors["mask"][...] = 1
    assert runner.evaluate() == drawn(ALL_BITS, "", 0) * 33 >> 64


def test_numbers_without_bounds_are_not_drawn() -> None:
    for low, high in ((-np.inf, np.inf), (0.0, np.inf), (-np.inf, 1.0)):
        point = replace(find_point("priority"), domain=Number(low, high))
        with pytest.raises(
            RunnerSpecError, match=r"got any for priority; declare it with domain=Number\(low,"
        ):
            make_runner("random:1", point)


def test_without_onnxruntime_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ModelError, match="the package onnxruntime is missing; run: pip install onnx"):
        onnx_library()


def test_maps_may_be_spaced_and_several(tmp_path: Path) -> None:
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 2]) for name in ("x", "z")]
    node = helper.make_node("Sub", ["x", "z"], ["y"])
    spec = model(tmp_path / "m.onnx", [node], TensorProto.FLOAT, [1, 2], *inputs)
    maps = "x:node_count,%20edge_count;;z:edge_count%20,node_count;"
    runner = made(f"{spec}?map={maps}", "inline")
    for nodes, edges, answer in ((5, 3, 0), (3, 5, 1), (4, 4, 0)):
        runner.tensors["node_count"][...] = nodes
        runner.tensors["edge_count"][...] = edges
        assert runner.evaluate() == answer, "the first of the largest"
