# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each compiled operator, with and without its attributes, on the same inputs in each run.

`test_operators.py` draws operators at random, and leaves some of them out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pytest
from onnx import TensorProto

from tests.runners.aot.library import library
from tests.runners.onnx.graphs import BOOL, F32, F64, I32, I64, U8, Case, Input, constant, graph_of
from tests.runners.onnx.reference import assert_close, reference

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[np.generic]
    Row = tuple[Case, tuple[Array | Input | None, ...]]

ODD: Final = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -3.5, 88.0, -104.0)
REALS: Final = np.array([*ODD, *np.linspace(-4.2, 4.3, 20), 1e30, -3e38], F32)
WHOLE: Final = np.array([-9, -2, -1, 0, 1, 2, 7, 100], I64)
LOW, HIGH = np.iinfo(I64).min, np.iinfo(I64).max


def row(
    op_type: str,
    *given: Array | Input | None,
    to: Sequence[np.dtype[np.generic]] = (F32,),
    domain: str = "",
    more: Mapping[str, object] | None = None,
    **attributes: object,
) -> Row:
    """A case: arrays are fed, inputs made by `constant` are in the model, None is left out."""
    inputs = [Input(each.dtype, each.shape) if isinstance(each, np.ndarray) else each for each in given]
    return Case(op_type, inputs, to, {**(more or {}), **attributes}, domain), given


def compare(rows: Sequence[Row], opset: int, folder: Path) -> None:
    model = graph_of([case for case, _ in rows], opset)
    feeds = {
        f"x{at}_{place}": each
        for at, (_, given) in enumerate(rows)
        for place, each in enumerate(given)
        if isinstance(each, np.ndarray)
    }
    wanted, compiled = reference(model)(feeds), library(model, folder)
    made = compiled.run(feeds)
    for at, (case, _) in enumerate(rows):
        for place in range(len(case.outputs)):
            name = f"y{at}_{place}"
            assert_close(made[name], wanted[name], f"{name} of {case}")
    compiled.close()


def test_functions_of_one_float(tmp_path: Path) -> None:
    names = ("Abs", "Ceil", "Erf", "Exp", "Floor", "HardSwish", "Log", "Neg", "Reciprocal", "Relu", "Round")
    more = ("Sigmoid", "Sign", "Softplus", "Softsign", "Sqrt", "Tanh")
    tuned = ("Celu", "Elu", "Gelu", "HardSigmoid", "LeakyRelu", "Selu", "ThresholdedRelu")
    rows = [row(name, REALS) for name in (*names, *more, *tuned)]
    rows += [row(name, REALS, alpha=0.7) for name in tuned if name != "Gelu"]
    rows += [row("HardSigmoid", REALS, beta=0.3), row("Selu", REALS, gamma=1.7)]
    rows += [row("Gelu", REALS, approximate="tanh"), row("IsNaN", REALS, to=[BOOL])]
    wide = REALS.astype(F64)
    exact = (
        "Abs",
        "Ceil",
        "Exp",
        "Floor",
        "Log",
        "Neg",
        "Reciprocal",
        "Relu",
        "Round",
        "Sign",
        "Sqrt",
        "Tanh",
    )
    rows += [row(name, wide, to=[F64]) for name in exact]
    compare(rows, 20, tmp_path)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_large_numbers_are_rounded_exactly(dtype: np.dtype[np.generic], tmp_path: Path) -> None:
    half = 0.5 / np.finfo(dtype.name).eps  # of the numbers that may have a fraction
    x = np.array(
        [half + 0.5, half + 1.5, half + 1, -half - 0.5, 2 * half - 0.5, 1 - 2 * half, 2 * half], dtype
    )
    rows = [row(name, x, to=[dtype]) for name in ("Ceil", "Floor", "Round")]
    compiled = library(graph_of([case for case, _ in rows], 17), tmp_path)
    made = compiled.run({f"x{at}_0": x for at in range(3)})
    for at, wanted in enumerate((np.ceil(x), np.floor(x), np.rint(x))):
        assert made[f"y{at}_0"].tolist() == wanted.tolist()
    compiled.close()


def test_functions_of_one_integer(tmp_path: Path) -> None:
    small = WHOLE.astype(I32)
    rows = [row(name, WHOLE, to=[I64]) for name in ("Abs", "Neg", "Sign")]
    compare([*rows, *(row(name, small, to=[I32]) for name in ("Abs", "Neg", "Relu", "Sign"))], 17, tmp_path)


def grid(values: Array) -> tuple[Array, Array]:
    """All pairs of the values."""
    return np.repeat(values, len(values)), np.tile(values, len(values))


def test_functions_of_several_numbers(tmp_path: Path) -> None:
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -3.0], F32)
    a, b = grid(odd)
    names = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "PRelu")
    rows = [row(name, a, b) for name in names]
    rows += [row(name, a, b, a[::-1].copy()) for name in ("Max", "Min", "Sum", "Mean")]
    i, j = grid(WHOLE[WHOLE != 0])
    rows += [row(name, i, j, to=[I64]) for name in ("Add", "Sub", "Mul", "Div", "Mod", "Max", "Min")]
    u, v = grid(np.array([1, 2, 7, 100, 200, 255], np.uint32))
    rows += [row(name, u, v, to=[u.dtype]) for name in ("Max", "Min", "Mod")]
    big = grid(np.array([1, 2, 1 << 63, (1 << 64) - 1], np.uint64))
    rows += [row(name, *big, to=[np.dtype(np.uint64)]) for name in ("Max", "Min", "Mod")]
    compare(rows, 17, tmp_path)


def test_powers(tmp_path: Path) -> None:
    """Also of negative numbers, of zeros and of infinities."""
    x, y = grid(np.array([np.inf, -np.inf, 0.0, 1.0, -1.0, 2.5, -2.0, 3.0, -3.0, 0.5, -0.5], F32))
    rows = [row("Pow", x, y), row("Pow", x.astype(F64), y.astype(F64), to=[F64])]
    rows += [row("Pow", REALS, constant(fixed, F32)) for fixed in (2.0, 3.0, 1.5, -1.0, 0.0)]
    rows.append(row("Pow", np.abs(REALS), constant(0.5, F32)))
    rows.append(row("Pow", np.abs(x), np.array([3], I64)))
    compare(rows, 17, tmp_path)


def test_comparisons_and_logic(tmp_path: Path) -> None:
    a, b = grid(np.array([np.nan, np.inf, -1.0, 0.0, -0.0, 2.0], F32))
    i, j = grid(WHOLE)
    names = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
    rows = [row(name, *pair, to=[BOOL]) for name in names for pair in ((a, b), (i, j))]
    p, q = grid(np.array([False, True]))
    rows += [row(name, p, q, to=[BOOL]) for name in ("And", "Or", "Xor", "Equal")]
    rows += [row("Not", p, to=[BOOL]), row("Where", p, a[:4].copy(), b[:4].copy())]
    compare(rows, 17, tmp_path)


def test_clips(tmp_path: Path) -> None:
    low, high = constant(-1.0, F32), constant(2.0, F32)
    rows = [row("Clip", REALS), row("Clip", REALS, low), row("Clip", REALS, None, high)]
    rows += [row("Clip", REALS, low, np.array(1.5, F32)), row("Clip", REALS, high, low)]
    rows += [row("Clip", WHOLE, constant(-2), to=[I64]), row("Clip", WHOLE, None, constant(2), to=[I64])]
    compare(rows, 17, tmp_path)
    (tmp_path / "old").mkdir()
    compare([row("Clip", REALS, min=-1.0), row("Clip", REALS, max=2.0)], 6, tmp_path / "old")


def test_casts(tmp_path: Path) -> None:
    kinds = {F32: TensorProto.FLOAT, F64: TensorProto.DOUBLE, I32: TensorProto.INT32, I64: TensorProto.INT64}
    kinds |= {U8: TensorProto.UINT8, BOOL: TensorProto.BOOL}
    inside = np.array([0.0, -0.0, 0.4, 1.0, 1.9, 2.5, 99.9], F32)
    sources = [inside, inside.astype(F64), WHOLE, WHOLE.astype(I32), np.array([0, 1, 128, 255], U8)]
    sources += [np.array([False, True]), np.array([0, 1, (1 << 64) - 1], np.uint64)]
    rows = [
        row("Cast", each, to=[kind], more={"to": number})
        for each in sources
        for kind, number in kinds.items()
    ]
    rows += [row("CastLike", inside, WHOLE, to=[I64])]
    compare(rows, 17, tmp_path)


def test_floats_outside_the_range_of_an_integer(tmp_path: Path) -> None:
    """They become the nearest integer; NaN becomes zero."""
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, -1.5, 300.0], F32)
    kinds = {I32: TensorProto.INT32, I64: TensorProto.INT64, U8: TensorProto.UINT8}
    model = graph_of(
        [Case("Cast", [Input(F32, x.shape)], [kind], {"to": n}) for kind, n in kinds.items()], 17
    )
    compiled = library(model, tmp_path)
    made = compiled.run({f"x{at}_0": x for at in range(3)})
    assert made["y0_0"].tolist() == [0, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), -1, 300]
    assert made["y1_0"].tolist() == [0, HIGH, LOW, 3 * 10**9, -3 * 10**9, -1, 300]
    assert made["y2_0"].tolist() == [0, 255, 0, 255, 0, 0, 255]
    compiled.close()


def test_integer_division_never_traps(tmp_path: Path) -> None:
    """x / 0 is zero, and the smallest integer / -1 is itself; onnxruntime would die."""
    x, y = np.array([5, -5, 0, LOW, LOW, LOW]), np.array([0, 0, 0, 0, -1, 1])
    u, v = np.array([5, 0, 6], np.uint32), np.array([0, 0, 4], np.uint32)
    pairs = [("Div", x, y), ("Mod", x, y), ("Div", u, v), ("Mod", u, v)]
    model = graph_of([row(name, a, b, to=[a.dtype])[0] for name, a, b in pairs], 17)
    compiled = library(model, tmp_path)
    made = compiled.run(
        {f"x{at}_{place}": each for at, (_, *ab) in enumerate(pairs) for place, each in enumerate(ab)}
    )
    assert made["y0_0"].tolist() == [0, 0, 0, 0, LOW, LOW]
    assert made["y1_0"].tolist() == [5, -5, 0, LOW, 0, 0]
    assert made["y2_0"].tolist() == [0, 0, 1]
    assert made["y3_0"].tolist() == [5, 0, 2]
    compiled.close()


TABLE: Final = np.array([[[3, -1.5, 4], [-1, 5, -9]], [[2, 6, 5], [-3, 5, 8]]], F32)


def test_reductions(tmp_path: Path) -> None:
    names = ("Sum", "Mean", "Max", "Min", "L1", "L2", "LogSumExp", "SumSquare", "Prod")
    axes: list[dict[str, object]] = [{}, {"axes": [1]}, {"axes": [-1, 0]}, {"axes": [2], "keepdims": 0}]
    rows = [row(f"Reduce{name}", TABLE, more=each) for name in names for each in axes]
    rows += [row("ReduceLogSum", np.abs(TABLE), more=each) for each in axes]
    rows += [row("ReduceLogSumExp", TABLE - 1000, axes=[2])]
    whole = TABLE.astype(I32)
    rows += [
        row(f"Reduce{name}", whole, to=[I32], axes=[1]) for name in ("Sum", "Mean", "Max", "Min", "Prod")
    ]
    rows += [row(f"Reduce{name}", whole, to=[I32], axes=[1]) for name in ("L1", "SumSquare")]
    odd = np.array([[-np.inf, -np.inf, -np.inf], [np.inf, 1, 2], [-np.inf, 1, 2]], F32)
    rows += [row(f"Reduce{name}", odd, axes=[1]) for name in ("Max", "Min", "Sum", "Mean")]
    far = np.array([LOW, HIGH, 0])
    rows += [
        row(f"Reduce{name}", each, to=[I64]) for name in ("Max", "Min") for each in (far[:1], far[1:2], far)
    ]
    compare(rows, 12, tmp_path)
    (tmp_path / "new").mkdir()
    none = constant(np.array([], I64))
    rows = [row("ReduceSum", TABLE, none), row("ReduceSum", TABLE, none, noop_with_empty_axes=1)]
    rows += [row("ReduceSum", TABLE), row("ReduceMax", TABLE, constant([0, 2])), row("ReduceMean", TABLE)]
    compare(rows, 18, tmp_path / "new")


def test_nan_is_an_extreme(tmp_path: Path) -> None:
    """Wherever it stands; in onnxruntime that depends on the place."""
    x = np.array([[np.nan, 1, 2], [1, np.nan, 2], [1, 2, np.nan], [1, 2, 3]], F32)
    rows = [row(name, x, axes=[1], keepdims=0) for name in ("ReduceMax", "ReduceMin")]
    compiled = library(graph_of([case for case, _ in rows], 12), tmp_path)
    made = compiled.run({"x0_0": x, "x1_0": x})
    for name, last in (("y0_0", 3), ("y1_0", 1)):
        assert np.isnan(made[name][:3]).all()
        assert made[name][3] == last
    compiled.close()


def test_places_of_extremes(tmp_path: Path) -> None:
    ties = np.array([[2, 7, 7, 1], [1, 1, 3, 3], [5, 5, 5, 5]], F32)
    rows = [
        row(name, each, to=[I64], more=attributes)
        for name in ("ArgMax", "ArgMin")
        for each in (ties, ties.astype(I64))
        for attributes in (
            {},
            {"axis": 1},
            {"axis": -1, "keepdims": 0},
            {"axis": 1, "select_last_index": 1},
            {"select_last_index": 1},
        )
    ]
    compare(rows, 17, tmp_path)


@pytest.mark.parametrize("opset", [11, 13])
def test_softmax(opset: int, tmp_path: Path) -> None:
    """Before opset 13 the default axis is 1, and the later axes belong to it."""
    ties = np.array([[[1, 3, 3], [3, 0, 2]], [[-1, -1, -1], [0, 500, 501]]], F32)
    names = ("Softmax", "LogSoftmax", "Hardmax")
    axes: list[dict[str, object]] = [{}, {"axis": 0}, {"axis": -1}, {"axis": 1}]
    rows = [row(name, ties, more=each) for name in names for each in axes]
    compare(rows, opset, tmp_path)


def test_normalizations(tmp_path: Path) -> None:
    scale, bias = np.array([1.5, -2], F32), np.array([0.5, 3], F32)
    mean, variance = np.array([1, -1], F32), np.array([0.01, 4], F32)
    flat = np.array([0.001, 0.002, 0.004], F32)
    rows = [row("BatchNormalization", TABLE, scale, bias, mean, variance)]
    rows += [row("BatchNormalization", TABLE, scale, bias, mean, variance, epsilon=0.5)]
    rows += [
        row("LayerNormalization", TABLE, flat),
        row("LayerNormalization", TABLE, flat, flat[::-1].copy()),
    ]
    rows += [row("LayerNormalization", TABLE * 0.001, flat, epsilon=0.5)]
    rows += [row("LayerNormalization", TABLE, TABLE[0], TABLE[1], axis=1, to=[F32, F32, F32])]
    compare(rows, 17, tmp_path)


def test_products(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(3, 5)).astype(F32), rng.normal(size=(5, 4)).astype(F32)
    c = rng.normal(size=4).astype(F32)
    across, down = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
    rows = [row("Gemm", a, b), row("Gemm", a, b, c), row("Gemm", a, b, alpha=0.5)]
    rows += [row("Gemm", a, b, c, beta=each) for each in (0.25, 0.0)]
    rows += [row("Gemm", a, b, c, alpha=2.0, beta=3.0), row("Gemm", across, b, c, transA=1)]
    rows += [row("Gemm", a, down, c, transB=1), row("Gemm", a, constant(down, F32), c, transB=1)]
    rows += [row("MatMul", a, b), row("MatMul", a[0].copy(), b), row("MatMul", a, b[:, 0].copy())]
    many = rng.normal(size=(2, 3, 5)).astype(F32)
    rows += [row("MatMul", many, b), row("MatMul", many, rng.normal(size=(2, 5, 37)).astype(F32))]
    rows += [row("MatMul", a.round().astype(I64), b.round().astype(I64), to=[I64])]
    compare(rows, 17, tmp_path)


def test_moved_elements(tmp_path: Path) -> None:
    rows = [row("Transpose", TABLE), row("Transpose", TABLE, perm=[1, 2, 0]), row("Flatten", TABLE)]
    rows += [row("Expand", TABLE[:, :1].copy(), constant([2, 2, 3])), row("Tile", TABLE, constant([1, 3, 2]))]
    rows += [row("Concat", TABLE, TABLE[:, :1].copy(), TABLE, axis=axis) for axis in (1, -2)]
    rows += [row("Split", TABLE, constant([1, 2]), to=[F32, F32], axis=axis) for axis in (2, -1)]
    bounds = ([0], [2], [-1], [1]), ([-1], [-4], [2], [-1]), ([1, 0], [9, 2], [0, 2], [1, 2])
    rows += [row("Slice", TABLE, *map(constant, each)) for each in bounds]
    rows += [row("Slice", TABLE, constant([1]), constant([2]))]
    indices = np.array([[1, -1], [0, -2]])
    rows += [
        row("Gather", TABLE, each, axis=axis)
        for each in (indices, indices.astype(I32))
        for axis in (0, 1, -2)
    ]
    rows += [row("Gather", TABLE, indices)]
    rows += [row("GatherElements", TABLE[0], np.array([[-1, 0, 1]]), axis=0)]
    rows += [row("GatherElements", TABLE[0], np.array([[-1], [0]], I32), axis=-1)]
    rows += [row("ArrayFeatureExtractor", TABLE[0], np.array([2, 0]), domain="ai.onnx.ml")]
    rows += [row("Dropout", TABLE), row("Dropout", TABLE, constant(0.5, F32))]
    compare(rows, 17, tmp_path)


@pytest.mark.parametrize("index", [2, -3, HIGH, LOW])
def test_an_index_beyond_its_axis_fails_the_run(index: int, tmp_path: Path) -> None:
    fed = np.array([[0, index, 1]])
    rows = [row("GatherElements", TABLE[0], fed, axis=0)]
    compiled = library(graph_of([case for case, _ in rows], 17), tmp_path)
    assert compiled.status({"x0_0": TABLE[0], "x0_1": fed})[0] == 1
    assert compiled.status({"x0_0": TABLE[0], "x0_1": fed % 2})[0] == 0
    compiled.close()


def test_operators_of_scikit_learn(tmp_path: Path) -> None:
    x = np.array([[3, -4, 0.25], [0, 0, 0], [-0.5, 0.1, 0.2]], F32)

    def learn(
        name: str, *given: Array, to: Sequence[np.dtype[np.generic]] = (F32,), **attributes: object
    ) -> Row:
        return row(name, *given, to=to, domain="ai.onnx.ml", more=attributes)

    rows = [learn("Scaler", x, offset=[1.0, 2.0, 3.0], scale=[2.0, 0.5, -1.0])]
    rows += [learn("Scaler", x.astype(I64), offset=[1.0], scale=[0.5])]
    rows += [learn("Binarizer", x), learn("Binarizer", x, threshold=0.2)]
    rows += [learn("Normalizer", x), *(learn("Normalizer", x, norm=norm) for norm in ("MAX", "L1", "L2"))]
    flat = [float(each) for each in (1, 2, 3, -1, 0.5, 0.25)]
    rows += [learn("LinearRegressor", x, coefficients=flat, targets=2)]
    rows += [learn("LinearRegressor", x, coefficients=flat, intercepts=[1.0, -2.0], targets=2)]
    rows += [learn("LinearRegressor", x, coefficients=flat[:3])]
    classes: dict[str, object] = {"coefficients": flat, "classlabels_ints": [7, 3]}
    rows += [
        learn("LinearClassifier", each, to=[I64, F32], intercepts=[0.5, 0.25], post_transform=name, **classes)
        for name in ("NONE", "LOGISTIC", "SOFTMAX")
        for each in (x, x.astype(I64))
    ]
    keys: dict[str, object] = {"keys_int64s": [2, 7], "values_int64s": [5, 6]}
    rows += [learn("LabelEncoder", WHOLE, to=[I64], **keys)]
    rows += [learn("LabelEncoder", WHOLE, to=[I64], default_int64=9, **keys)]
    rows += [learn("LabelEncoder", WHOLE, to=[F32], keys_int64s=[2, 7], values_floats=[1.5, 2.5])]
    floats: dict[str, object] = {"keys_floats": [2.5, 1.0], "values_floats": [1.5, 2.5]}
    rows += [learn("LabelEncoder", REALS, to=[F32], default_float=0.75, **floats)]
    compare(rows, 17, tmp_path)


def test_keys_that_are_nan_or_twice_in_the_table(tmp_path: Path) -> None:
    """NaN is a key like others, and of equal keys the first counts."""
    attributes: dict[str, object] = {"keys_floats": [np.nan, 1.0, 1.0], "values_floats": [1.5, 2.5, 3.5]}
    x = np.array([np.nan, 1.0, 2.0], F32)
    case, _ = row("LabelEncoder", x, domain="ai.onnx.ml", more=attributes)
    compiled = library(graph_of([case], 17), tmp_path)
    assert compiled.run({"x0_0": x})["y0_0"].tolist() == [1.5, 2.5, 0.0]
    compiled.close()
