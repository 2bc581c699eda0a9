# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models that cannot be used, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import CALLS, passpilot, program, refused, stock

onnx = pytest.importorskip("onnx")

FLOAT, INT64, STRING = 1, 7, 8

Value = tuple[str, int, list[int | str]]


def model(
    path: Path, inputs: list[Value], nodes: list[object], outputs: list[Value], **constants: object
) -> None:
    """Write a model; constants are float arrays by name."""
    make = onnx.helper
    tensors = [make.make_tensor(name, FLOAT, [len(values)], values) for name, values in constants.items()]  # type: ignore[arg-type]
    graph = make.make_graph(
        nodes,
        "m",
        [make.make_tensor_value_info(*each) for each in inputs],
        [make.make_tensor_value_info(*each) for each in outputs],
        tensors,
    )
    opset = [make.make_opsetid("", 17)]
    path.write_bytes(make.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString())


def echo(path: Path, name: str = "cost_estimate", dtype: int = INT64, shape: tuple[int, ...] = (1,)) -> None:
    """A model that answers with its input, as floats."""
    node = onnx.helper.make_node("Cast", [name], ["y"], to=FLOAT)
    model(path, [(name, dtype, list(shape))], [node], [("y", FLOAT, list(shape))])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.ll").write_text(program())
    return tmp_path


def refusal(folder: Path, options: str = "") -> str:
    """A model that cannot be used causes no fallback, under both error policies."""
    flags = ("opt", "in.ll", "-O2", f"--inline=onnx:m.onnx{options}", "--log=l", "-o", "out.bc")
    line = refused(*flags, cwd=folder)
    assert refused(*flags, "--on-error=default", cwd=folder) == line
    assert "m.onnx" in line
    return line


def test_missing(folder: Path) -> None:
    assert "No such file" in refusal(folder)


def test_a_folder(folder: Path) -> None:
    (folder / "m.onnx").mkdir()
    assert "Is a directory" in refusal(folder)


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 100, b"not a model\n", b"\x7fELF\x02\x01\x01", b"\xff" * 1000]
)
def test_not_onnx(folder: Path, content: bytes) -> None:
    (folder / "m.onnx").write_bytes(content)
    assert "model m.onnx: expected an ONNX model that onnxruntime loads, got: " in refusal(folder)


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_truncated(folder: Path, quarters: int) -> None:
    echo(folder / "m.onnx")
    whole = (folder / "m.onnx").read_bytes()
    (folder / "m.onnx").write_bytes(whole[: len(whole) * quarters // 4])
    refusal(folder)


def test_an_unknown_operator(folder: Path) -> None:
    node = onnx.helper.make_node("Divine", ["cost_estimate"], ["y"])
    model(folder / "m.onnx", [("cost_estimate", INT64, [1])], [node], [("y", FLOAT, [1])])
    assert "Divine" in refusal(folder)


def test_an_input_that_nobody_offers(folder: Path) -> None:
    echo(folder / "m.onnx", "weight")
    assert "'weight'" in refusal(folder)


@pytest.mark.parametrize(
    ("dtype", "text"), [(FLOAT, "float32[1]"), (6, "int32[1]"), (STRING, "another type")]
)
def test_an_input_of_another_type(folder: Path, dtype: int, text: str) -> None:
    echo(folder / "m.onnx", dtype=dtype)
    line = refusal(folder)
    assert "'cost_estimate'" in line
    assert "int64[1]" in line
    assert text in line


@pytest.mark.parametrize("shape", [(2,), (1, 3), (0,)])
def test_an_input_of_another_shape(folder: Path, shape: tuple[int, ...]) -> None:
    echo(folder / "m.onnx", shape=shape)
    assert f"int64{list(shape)}".replace(" ", "") in refusal(folder)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("?output=z", "'z'"),
        ("?as=number", "as="),
        ("?threshold=high", "threshold"),
        ("?map=x", "map="),
        ("?map=x:cost_estimate", "map=x"),
        ("?map=cost_estimate:cost_estimate,node_count", "'cost_estimate'"),
        ("?input=x", "input"),
    ],
)
def test_options_that_do_not_fit_the_model(folder: Path, options: str, told: str) -> None:
    echo(folder / "m.onnx")
    assert told in refusal(folder, options)


def test_a_map_that_names_what_nobody_offers(folder: Path) -> None:
    echo(folder / "m.onnx", "x", FLOAT)
    assert "'weight'" in refusal(folder, "?map=x:weight")


def test_an_output_of_strings(folder: Path) -> None:
    node = onnx.helper.make_node("Cast", ["cost_estimate"], ["y"], to=STRING)
    model(folder / "m.onnx", [("cost_estimate", INT64, [1])], [node], [("y", STRING, [1])])
    assert "'y'" in refusal(folder)


def at_a_decision(folder: Path, options: str = "") -> str:
    """The error of a model with wrong answers; with a fallback, the output equals opt's."""
    flags = ("opt", "in.ll", "-O2", f"--inline=onnx:m.onnx{options}", "-o", "out.bc")
    line = refused(*flags, cwd=folder)
    assert "decision 0 (caller0 -> callee)" in line
    done = passpilot(*flags, "--on-error=default", cwd=folder)
    assert done.code == 0
    assert f"{CALLS} of {CALLS} decisions fell back" in done.err
    assert (folder / "out.bc").read_bytes() == stock(Path("in.ll"), "-O2", cwd=folder)
    return line


@pytest.mark.parametrize(
    ("values", "options", "told"),
    [
        ([float("nan")], "", "NaN"),
        ([float("nan"), 1.0], "?as=logits", "NaN"),
        ([0.5], "?as=decision", "expected 0 or 1"),
        ([2.0], "?as=decision", "expected 0 or 1, got 2"),
        ([-1.0], "?as=decision", "expected 0 or 1, got -1"),
        ([float("inf")], "?as=decision", "expected 0 or 1"),
    ],
)
def test_an_answer_that_is_none(folder: Path, values: list[float], options: str, told: str) -> None:
    node = onnx.helper.make_node("Identity", ["c"], ["y"])
    model(folder / "m.onnx", [], [node], [("y", FLOAT, [len(values)])], c=values)
    assert told in at_a_decision(folder, options)


@pytest.mark.parametrize(
    ("count", "options", "told"),
    [
        (3, "", "expected 2 elements, one per choice, got [3]"),
        (2, "?as=probability", "expected 1 element, got [2]"),
        (1, "?as=logits", "expected 2 elements, one per choice, got [1]"),
    ],
)
def test_an_output_of_another_size(folder: Path, count: int, options: str, told: str) -> None:
    node = onnx.helper.make_node("Identity", ["c"], ["y"])
    model(folder / "m.onnx", [], [node], [("y", FLOAT, [count])], c=[1.0] * count)
    assert told in refusal(folder, options)


def test_a_model_that_fails_while_it_runs(folder: Path) -> None:
    make = onnx.helper.make_node
    nodes = [make("Cast", ["node_count"], ["n"], to=INT64), make("Gather", ["c", "n"], ["y"])]
    model(folder / "m.onnx", [("node_count", INT64, [1])], nodes, [("y", FLOAT, [1])], c=[1.0, 2.0])
    at_a_decision(folder)
