# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operators of ONNX's domain ai.onnx.ml, which scikit-learn's exporters write; trees.py has the trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from llvmlite import ir

from passpilot.runners.aot.elementwise import compare, convert, elementwise
from passpilot.runners.aot.emitter import I64, Buffer, operator, refused
from passpilot.runners.aot.mathematics import Real
from passpilot.runners.aot.matrix import constant_matrix, product
from passpilot.runners.aot.reduce import row_norms, softmax_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from passpilot.runners.aot.emitter import Emitter, Node

FLOAT: Final = np.dtype("float32")


@operator("Scaler")
def scaler(node: Node, emit: Emitter) -> None:
    """(x - offset) * scale, per column."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    real = Real(emit.builder, FLOAT)
    offset, scale = (
        constant_matrix(np.array(node.numbers(name) or [default], np.float32), emit)
        for name, default in (("offset", 0.0), ("scale", 1.0))
    )

    def compute(values: list[ir.Value]) -> ir.Value:
        x = convert(emit, values[0], source.dtype, FLOAT)
        return real.mul(real.sub(x, values[1]), values[2])

    elementwise(emit, [source, offset, scale], output, compute)


@operator("Binarizer")
def binarizer(node: Node, emit: Emitter) -> None:
    """One where x is above the threshold, else zero."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    if source.dtype != output.dtype or source.dtype.kind != "f":
        raise refused(node, "floats", str(source.dtype))
    real = Real(emit.builder, source.dtype)
    limit = real.of(node.number("threshold", 0))
    elementwise(emit, [source], output, lambda v: real.pick(real.below(limit, v[0]), real.of(1), real.of(0)))


@operator("Normalizer")
def normalizer(node: Node, emit: Emitter) -> None:
    """Divides rows by their norm; a row of norm zero stays as it is."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    if source.dtype.kind != "f":
        raise refused(node, "floats", str(source.dtype))
    norms = row_norms(emit, source, node.text("norm", "MAX"))
    real = Real(emit.builder, output.dtype)

    def compute(values: list[ir.Value]) -> ir.Value:
        x = convert(emit, values[0], source.dtype, output.dtype)
        norm = convert(emit, values[1], source.dtype, output.dtype)
        zero = emit.builder.fcmp_ordered("==", norm, real.of(0))
        return real.pick(zero, x, real.div(x, norm))

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
    product(emit, source, constant_matrix(np.ascontiguousarray(weights.T), emit), output)
    if len(intercepts := node.numbers("intercepts")) == count:  # another number of them is ignored
        real = Real(emit.builder, FLOAT)
        bias = constant_matrix(np.array(intercepts, np.float32), emit)
        elementwise(emit, [output, bias], output, lambda v: real.add(v[0], v[1]))


def _float_rows(emit: Emitter, name: str) -> Buffer:
    """A tensor as rows of float32."""
    source = emit.value(name)
    shape = source.shape if len(source.shape) == 2 else (1, source.size)
    flat = Buffer(source.pointer, source.dtype, shape)
    if source.dtype == FLOAT:
        return flat
    made = emit.scratch(FLOAT, shape)
    elementwise(emit, [flat], made, lambda v: convert(emit, v[0], source.dtype, FLOAT))
    return made


@operator("LinearClassifier")
def linear_classifier(node: Node, emit: Emitter) -> None:
    """The classes' scores, and the label of the best class."""
    labels = node.integers("classlabels_ints")
    if labels is None:
        raise refused(node, "classes that are integers", "classes that are strings")
    scores = emit.output(node.outputs[1])
    count = len(node.numbers("intercepts")) or len(labels)
    transform = node.text("post_transform", "NONE")
    raw = emit.scratch(FLOAT, (scores.shape[0], count))
    _linear(node, emit, count, raw)
    if count == 1 and len(labels) == 2:
        raise refused(node, "coefficients for each class", "one row of them for two classes")
    if node.outputs[0]:
        label_rows(emit, raw, emit.output(node.outputs[0]), labels)
    _transform(node, emit, transform, raw, scores)


def label_rows(emit: Emitter, scores: Buffer, output: Buffer, labels: Sequence[int]) -> None:
    """The label of the largest score in every row, the first of equal ones."""
    table = constant_matrix(np.array(labels, np.int64), emit)
    build, kind = emit.builder, scores.element
    rows, columns = scores.shape
    with emit.loop(rows) as row:
        start = build.mul(row, emit.int64(columns))
        best, where = emit.cell(kind, emit.load(scores, start)), emit.cell(I64, emit.int64(0))
        with emit.loop(columns) as column:
            value = emit.load(scores, build.add(start, column))
            better = build.fcmp_ordered(">", value, emit.get(best, kind))
            build.store(build.select(better, value, emit.get(best, kind)), best)
            build.store(build.select(better, column, emit.get(where, I64)), where)
        emit.store(output, row, emit.load(table, emit.get(where, I64)))


def _transform(node: Node, emit: Emitter, name: str, raw: Buffer, scores: Buffer) -> None:
    if name == "SOFTMAX":
        softmax_rows(emit, raw, scores)
        return
    real = Real(emit.builder, FLOAT)
    functions: dict[str, Callable[[ir.Value], ir.Value]] = {"NONE": lambda x: x, "LOGISTIC": real.sigmoid}
    if name not in functions:
        raise refused(node, "post_transform NONE, LOGISTIC or SOFTMAX", name)
    elementwise(emit, [raw], scores, lambda v: functions[name](v[0]))


_KEYS: Final = ("keys_int64s", "keys_floats", "keys_tensor")
_VALUES: Final = ("values_int64s", "values_floats", "values_tensor")


@operator("LabelEncoder")
def label_encoder(node: Node, emit: Emitter) -> None:
    """Replaces keys by the values of a table, and other elements by a default."""
    source, output = emit.value(node.inputs[0]), emit.output(node.outputs[0])
    keys, values = _table(node, _KEYS, source.dtype), _table(node, _VALUES, output.dtype)
    default = emit.literal(_default(node, output.dtype), output.dtype)
    build = emit.builder

    def compute(found: list[ir.Value]) -> ir.Value:
        chosen: ir.Value = default
        for key, value in zip(keys[::-1], values[::-1], strict=True):
            if source.dtype.kind == "f" and np.isnan(key):
                equal = build.fcmp_unordered("uno", found[0], found[0])
            else:
                equal = compare(build, "==", source.dtype, found[0], emit.literal(key.item(), source.dtype))
            chosen = build.select(equal, emit.literal(value.item(), output.dtype), chosen)
        return chosen

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
