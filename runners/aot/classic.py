# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ONNX's domain ai.onnx.ml, which scikit-learn's exporters write; trees.py has the trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.elementwise import convert, elementwise
from passpilot.runners.aot.emitter import Buffer, Emitter, Node, operator, refused
from passpilot.runners.aot.mathematics import Mathematics
from passpilot.runners.aot.matrix import product
from passpilot.runners.aot.reduce import Reduction, row_norms, softmax_rows

FLOAT: Final = np.dtype("float32")


@operator("Scaler")
def scaler(node: Node, emit: Emitter) -> None:
    """(x - offset) * scale, per column."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    math = Mathematics(emit.builder, FLOAT)
    offset, scale = (
        emit.constant(np.array(node.numbers(name) or [default], np.float32))
        for name, default in (("offset", 0.0), ("scale", 1.0))
    )

    def compute(values: list[ir.Value]) -> ir.Value:
        x = convert(emit, values[0], source.dtype, FLOAT)
        return math.mul(math.sub(x, values[1]), values[2])

    elementwise(emit, [source, offset, scale], output, compute)


@operator("Normalizer")
def normalizer(node: Node, emit: Emitter) -> None:
    """Divides rows by their norm; a row of norm zero stays as it is."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    if source.dtype.kind != "f":
        raise refused(node, "floats", str(source.dtype))
    norms = row_norms(emit, source, node.text("norm", "MAX"))
    math = Mathematics(emit.builder, output.dtype)

    def compute(values: list[ir.Value]) -> ir.Value:
        x, norm = (convert(emit, value, source.dtype, output.dtype) for value in values)
        return math.pick(math.compare("==", norm, 0), x, math.div(x, norm))

    elementwise(emit, [source, norms], output, compute)


@operator("LinearRegressor")
def linear_regressor(node: Node, emit: Emitter) -> None:
    """Rows times coefficients, plus intercepts."""
    output = emit.output(node.outputs[0])
    if node.text("post_transform", "NONE") != "NONE":
        raise refused(node, "post_transform=NONE", node.text("post_transform", "NONE"))
    _linear(node, emit, node.integer("targets", 1), output)


def _linear(node: Node, emit: Emitter, count: int, output: Buffer) -> None:
    source = _float_rows(emit, node.inputs[0])
    weights = np.array(node.numbers("coefficients"), np.float32).reshape(count, -1)
    if weights.shape[1] != source.shape[1]:
        raise refused(node, f"{weights.shape[1]} columns", str(source.shape[1]))
    product(emit, source, emit.constant(weights.T), output)
    if len(intercepts := node.numbers("intercepts")) == count:  # another number of them is ignored
        math, bias = Mathematics(emit.builder, FLOAT), emit.constant(np.array(intercepts, np.float32))
        elementwise(emit, [output, bias], output, lambda values: math.add(*values))


def _float_rows(emit: Emitter, name: str) -> Buffer:
    """A tensor as rows of float32."""
    source = emit.value(name)
    rows = replace(source, shape=source.shape if len(source.shape) == 2 else (1, source.size))
    if source.dtype == FLOAT:
        return rows
    floats = emit.scratch(FLOAT, rows.shape)
    elementwise(emit, [rows], floats, lambda values: convert(emit, values[0], source.dtype, FLOAT))
    return floats


@operator("LinearClassifier")
def linear_classifier(node: Node, emit: Emitter) -> None:
    """The classes' scores, and the label of the best class."""
    labels = node.integers("classlabels_ints")
    if labels is None:
        raise refused(node, "classes that are integers", "classes that are strings")
    scores = emit.output(node.outputs[1])
    count = len(node.numbers("intercepts")) or len(labels)
    raw = emit.scratch(FLOAT, (scores.shape[0], count))
    _linear(node, emit, count, raw)
    if count == 1 and len(labels) == 2:
        raise refused(node, "coefficients for each class", "one row of them for two classes")
    if node.outputs[0]:
        output, table = emit.output(node.outputs[0]), emit.constant(np.array(labels, np.int64))
        tensor = Reduction(emit, raw, [1])
        with tensor.rows() as (start, row):
            emit.store(output, row, emit.load(table, tensor.place_of_best(start, ">")))
    _transform(node, emit, raw, scores)


def _transform(node: Node, emit: Emitter, raw: Buffer, scores: Buffer) -> None:
    name, math = node.text("post_transform", "NONE"), Mathematics(emit.builder, FLOAT)
    if name == "SOFTMAX":
        softmax_rows(emit, raw, scores, [1])
    elif name in ("NONE", "LOGISTIC"):
        elementwise(emit, [raw], scores, lambda v: math.sigmoid(v[0]) if name == "LOGISTIC" else v[0])
    else:
        raise refused(node, "post_transform NONE, LOGISTIC or SOFTMAX", name)


_KEYS: Final = ("keys_int64s", "keys_floats", "keys_tensor")
_VALUES: Final = ("values_int64s", "values_floats", "values_tensor")


@operator("LabelEncoder")
def label_encoder(node: Node, emit: Emitter) -> None:
    """Replaces keys by the values of a table, and other elements by a default."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    keys, values = _table(node, _KEYS, source.dtype), _table(node, _VALUES, output.dtype)
    math, results = Mathematics(emit.builder, source.dtype), Mathematics(emit.builder, output.dtype)
    default = results.of(_default(node, output.dtype))

    def compute(elements: list[ir.Value]) -> ir.Value:
        value, (x,) = default, elements
        for key, result in zip(keys[::-1].tolist(), values[::-1].tolist(), strict=True):
            equal = math.compare("==", x, key) if key == key else math.is_nan(x)
            value = results.pick(equal, result, value)
        return value

    elementwise(emit, [source], output, compute)


def _table(node: Node, names: Sequence[str], dtype: np.dtype[np.generic]) -> np.ndarray:
    found = next((node.attributes[name] for name in names if name in node.attributes), None)
    if found is None:
        raise refused(node, f"a table among {', '.join(names)}", "another")
    return np.asarray(found).astype(dtype).ravel()


def _default(node: Node, dtype: np.dtype[np.generic]) -> float:
    tensor = node.attributes.get("default_tensor")
    if isinstance(tensor, np.ndarray):
        return tensor.item()  # type: ignore[no-any-return]
    return node.number("default_float", 0) if dtype.kind == "f" else node.integer("default_int64", -1)
