# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random one-operator cases, and graphs of several of them side by side, for the comparison with onnxruntime.

`CASES` has one builder per group of operators: of a source of randomness and the opset, it makes a `Case`
with random types, shapes, broadcasts and attributes, in the forms that the opset wants.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import onnx
from onnx import helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from random import Random

    from numpy.typing import NDArray

    Array = NDArray[np.generic]
    Shape = tuple[int, ...]

F32, F64, I32, I64, U8, BOOL = map(np.dtype, ("float32", "float64", "int32", "int64", "uint8", "bool"))
REALS: Final = (F32, F32, F64)
NUMBERS: Final = (F32, F32, F64, I32, I64)
OPSETS: Final = (11, 13, 15, 17, 18, 20)


@dataclass
class Input:
    """A tensor that a case reads: fed, or constant if it has an array."""

    dtype: np.dtype[np.generic]
    shape: Shape
    values: str = "any"
    """The values to feed: `any`, with infinities and NaN; `real`; `small`; `positive`; or below a number."""
    array: Array | None = None


@dataclass
class Case:
    """One node."""

    op_type: str
    inputs: Sequence[Input | None]
    outputs: Sequence[np.dtype[np.generic]]
    attributes: Mapping[str, object] = field(default_factory=dict)
    domain: str = ""

    def __repr__(self) -> str:
        inputs = [
            each and f"{each.dtype}{list(each.shape)}{'' if each.array is None else '!'}"
            for each in self.inputs
        ]
        return f"{self.op_type}({', '.join(map(str, inputs))}, {dict(self.attributes)})"


def constant(array: object, dtype: np.dtype[np.generic] = I64) -> Input:
    """A constant input."""
    made = np.array(array, dtype)
    return Input(dtype, made.shape, array=made)


def graph_of(cases: Sequence[Case], opset: int) -> onnx.ModelProto:
    """The cases side by side; inputs are named by case and place, such as `x0_1`, and outputs `y0_0`."""
    nodes, inputs, constants, outputs = [], [], [], []
    for at, case in enumerate(cases):
        names = [f"x{at}_{place}" if each else "" for place, each in enumerate(case.inputs)]
        made = [f"y{at}_{place}" for place in range(len(case.outputs))]
        nodes.append(helper.make_node(case.op_type, names, made, domain=case.domain, **case.attributes))  # type: ignore[arg-type]
        for name, each in zip(names, case.inputs, strict=True):
            if each is not None and each.array is not None:
                constants.append(numpy_helper.from_array(each.array, name))
            elif each is not None:
                inputs.append(_info(name, each.dtype, each.shape))
        outputs += [_info(name, dtype, None) for name, dtype in zip(made, case.outputs, strict=True)]
    graph = helper.make_graph(nodes, "cases", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _info(name: str, dtype: np.dtype[np.generic], shape: Shape | None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)


def feeds(cases: Sequence[Case], rng: np.random.Generator) -> dict[str, Array]:
    """Values for every fed input."""
    return {
        f"x{at}_{place}": values(rng, each.dtype, each.shape, each.values)
        for at, case in enumerate(cases)
        for place, each in enumerate(case.inputs)
        if each is not None and each.array is None
    }


ODD: Final = (
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-40, 1e-38),
    *(0.5, -0.5, 1.5, 2.5, 88.0, -104.0, 1e30, -3e38),
)


def values(rng: np.random.Generator, dtype: np.dtype[np.generic], shape: Shape, kind: str) -> Array:
    """Random elements of the kind."""
    if dtype == BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.isdigit():
        return rng.integers(-int(kind), int(kind), shape).astype(dtype)
    if dtype.kind in "iu":
        return _integers(rng, dtype, shape, kind)
    found = rng.normal(0, rng.choice([0.1, 1.0, 30.0]) if kind in ("any", "real") else 1.0, shape)
    if kind == "positive":
        found = np.abs(found) + 0.01
    if kind == "any":
        found = np.where(rng.random(shape) < 0.3, rng.choice(ODD, shape), found)
    return np.asarray(found).astype(dtype)


def _integers(rng: np.random.Generator, dtype: np.dtype[np.generic], shape: Shape, kind: str) -> Array:
    limits = np.iinfo(dtype.name)
    found = rng.integers(-9 if dtype.kind == "i" else 0, 10, shape).astype(dtype)
    if kind in ("any", "divisor"):
        odd = np.array([limits.min, limits.max, limits.max - 1, limits.min + 1, 0, 1], dtype)
        found = np.where(rng.random(shape) < 0.3, rng.choice(odd, shape), found)
    if kind == "divisor":  # the smallest integer by -1 stops the processor in onnxruntime
        found = np.where(found == -1, -2, found)
    return (
        np.where(found == 0, 3, found).astype(dtype) if kind in ("positive", "nonzero", "divisor") else found
    )


def shape(r: Random, least: int = 0, most: int = 4) -> Shape:
    """A small shape, sometimes with a longer last dimension, for vectors and their remainders."""
    made = [r.choice((1, 2, 3, 5)) for _ in range(r.randint(least, most))]
    if made and r.random() < 0.4:
        made[-1] = r.choice((7, 16, 17, 33))
    return tuple(made)


def broadcast(r: Random, whole: Shape) -> Shape:
    """A shape that broadcasts to another."""
    kept = whole[r.randint(0, len(whole)) :] if r.random() < 0.5 else whole
    return tuple(1 if r.random() < 0.25 else size for size in kept)


def unary(r: Random, opset: int) -> Case:
    name = r.choice((*UNARY, *(("Gelu",) if opset > 18 else ())))
    wide = name in (
        "Abs",
        "Ceil",
        "Exp",
        "Floor",
        "Log",
        "Neg",
        "Reciprocal",
        "Round",
        "Sigmoid",
        "Sign",
        "Sqrt",
        "Tanh",
    )
    dtype = r.choice(REALS if wide else (F32,))
    if name in ("Abs", "Neg", "Sign") and r.random() < 0.3:
        dtype = r.choice((I32, I64))
    attributes: dict[str, object] = {
        key: r.choice((0.5, 1.5, 0.01)) for key in UNARY_ATTRIBUTES.get(name, ()) if r.random() < 0.6
    }
    if name == "Gelu":
        attributes["approximate"] = r.choice(("none", "tanh"))
    return Case(name, [Input(dtype, shape(r))], [dtype], attributes)


UNARY_ATTRIBUTES: Final = {
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
    "LeakyRelu": ("alpha",),
    "Selu": ("alpha", "gamma"),
    "ThresholdedRelu": ("alpha",),
    "Erf": (),
}
UNARY: Final = (
    *("Abs", "Ceil", "Exp", "Floor", "Log", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid", "Sign"),
    *("Softplus", "Softsign", "Sqrt", "Tanh", *UNARY_ATTRIBUTES),
)


def binary(r: Random, opset: int) -> Case:
    name = r.choice(("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean", "PRelu", "Mod", "Pow"))
    dtype = r.choice((F32,) if name in ("Sum", "Mean", "PRelu") else NUMBERS)
    if name in ("Max", "Min") and opset < 12:
        dtype = r.choice(REALS)
    dtype = r.choice((I32, I64)) if name == "Mod" else r.choice(REALS) if name == "Pow" else dtype
    whole = shape(r)
    count = r.randint(1, 4) if name in ("Max", "Min", "Sum", "Mean") else 2
    shapes = [whole, *(broadcast(r, whole) for _ in range(count - 1))]
    if name != "PRelu":
        r.shuffle(shapes)
    inputs = [Input(dtype, each) for each in shapes]
    if name in ("Div", "Mod") and dtype.kind == "i":
        inputs[0].values, inputs[1].values = r.choice((("any", "divisor"), ("small", "nonzero")))
    if name == "Pow":
        fixed = constant(r.choice((2.0, 3.0, 0.5, 0.3, -1.0)), dtype)
        inputs[0].values, inputs[1] = r.choice(
            (("positive", Input(dtype, shapes[1], "small")), ("any", fixed))
        )
    return Case(name, inputs, [dtype])


def comparison(r: Random, opset: int) -> Case:
    name = r.choice(("Less", "Greater", "Equal", *(("LessOrEqual", "GreaterOrEqual") if opset > 11 else ())))
    dtype = r.choice((*NUMBERS, BOOL) if name == "Equal" else NUMBERS)
    whole = shape(r)
    return Case(name, [Input(dtype, whole), Input(dtype, broadcast(r, whole))], [BOOL])


def logic(r: Random, opset: int) -> Case:
    name, whole = r.choice(("And", "Or", "Xor", "Not")), shape(r)
    inputs = [Input(BOOL, whole), Input(BOOL, broadcast(r, whole))]
    return Case(name, inputs[: 1 if name == "Not" else 2], [BOOL])


def where(r: Random, opset: int) -> Case:
    dtype, whole = r.choice((F32, I64, I32, F64)), shape(r)
    inputs = [Input(BOOL, broadcast(r, whole)), Input(dtype, whole), Input(dtype, broadcast(r, whole))]
    return Case("Where", inputs, [dtype])


def clip(r: Random, opset: int) -> Case:
    dtype = r.choice((F32, F64, I64) if opset > 11 else (F32,))
    limits = [constant(value, dtype) if r.random() < 0.7 else None for value in (-1, 2)]
    if limits[0] and r.random() < 0.3:
        limits[0] = Input(dtype, (), "small")
    while limits and limits[-1] is None:
        limits.pop()
    return Case("Clip", [Input(dtype, shape(r)), *limits], [dtype])


def cast(r: Random, opset: int) -> Case:
    """Converts floats to integers only within range; beyond it, C and onnxruntime define no result."""
    kinds = (F32, F64, I32, I64, BOOL, U8)
    source, target = r.choice(kinds), r.choice(kinds)
    kind = "any"
    if source.kind == "f" and target.kind in "iu":
        kind = "positive" if target == U8 else "real"
    return Case(
        "Cast", [Input(source, shape(r), kind)], [target], {"to": helper.np_dtype_to_tensor_dtype(target)}
    )


def reduction(r: Random, opset: int) -> Case:
    name = r.choice(("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"))
    dtype = r.choice((F32, F32, F64 if name in ("Sum", "Max", "Min", "Mean") else F32, I32))
    if name in ("LogSum", "LogSumExp", "L2", "Mean", "Prod", "L1", "SumSquare") and dtype == I32:
        dtype = F32
    whole = shape(r, 1)
    axes = r.sample(range(len(whole)), r.randint(1, len(whole)))
    axes = [axis - len(whole) if r.random() < 0.5 else axis for axis in axes]
    kind = (
        "positive"
        if name in ("LogSum", "Prod")
        else "any"
        if name in ("Max", "Min") and dtype == I32
        else "real"
    )
    inputs: list[Input | None] = [Input(dtype, whole, kind)]
    attributes: dict[str, object] = {"keepdims": r.randint(0, 1)}
    if r.random() < 0.8:
        if opset >= 18 or (name == "Sum" and opset >= 13):
            inputs.append(constant(axes))
        else:
            attributes["axes"] = axes
    return Case(f"Reduce{name}", inputs, [dtype], attributes)


def arg_extreme(r: Random, opset: int) -> Case:
    whole = shape(r, 1)
    attributes = {"axis": r.randrange(-len(whole), len(whole)), "keepdims": r.randint(0, 1)}
    if opset > 11:
        attributes["select_last_index"] = r.randint(0, 1)
    dtype = r.choice((F32, I32) if opset < 13 else (F32, F64, I32, I64))
    return Case(r.choice(("ArgMax", "ArgMin")), [Input(dtype, whole, "real")], [I64], attributes)


def softmax(r: Random, opset: int) -> Case:
    name, whole = r.choice(("Softmax", "LogSoftmax", "Hardmax")), shape(r, 1)
    dtype = F32 if name == "Hardmax" else r.choice(REALS)
    least = -len(whole)
    attributes = {"axis": r.randrange(least, len(whole))}
    return Case(name, [Input(dtype, whole, "real")], [dtype], attributes)


def normalization(r: Random, opset: int) -> Case:
    whole = shape(r, 2)
    if opset < 17 or r.random() < 0.5:
        channels = [Input(F32, (whole[1],), "small") for _ in range(3)]
        variance = Input(F32, (whole[1],), "positive")
        return Case(
            "BatchNormalization", [Input(F32, whole, "small"), *channels, variance], [F32], {"epsilon": 1e-3}
        )
    axis = r.randrange(-len(whole), len(whole))
    inner = whole[axis:]
    inputs = [Input(F32, whole, "small"), Input(F32, inner, "small"), Input(F32, inner, "small")]
    return Case("LayerNormalization", inputs[: r.randint(2, 3)], [F32], {"axis": axis})


def gemm(r: Random, opset: int) -> Case:
    m, k, n = (r.choice((1, 2, 3, 8, 17, 40)) for _ in range(3))
    dtype, across, down = r.choice(REALS), r.randint(0, 1), r.randint(0, 1)
    rng = np.random.default_rng(r.randrange(1 << 30))
    right = (n, k) if down else (k, n)
    b = constant(rng.normal(size=right), dtype) if r.random() < 0.7 else Input(dtype, right, "small")
    c = Input(dtype, r.choice(((n,), (1, n), (m, 1), (m, n), (), (1,))), "small")
    attributes: dict[str, object] = {"transA": across, "transB": down}
    if r.random() < 0.5:
        attributes |= {"alpha": 0.5, "beta": r.choice((0.25, 0.0, 1.0))}
    inputs = [Input(dtype, (k, m) if across else (m, k), "small"), b, c]
    return Case("Gemm", inputs[: r.randint(2, 3)], [dtype], attributes)


def matmul(r: Random, opset: int) -> Case:
    m, k, n = (r.choice((1, 2, 3, 8, 17, 40)) for _ in range(3))
    dtype, batch = r.choice((F32, F32, F64, I32, I64)), r.choice(((), (), (2,), (2, 3)))
    left, right = (*batch, m, k), (*broadcast(r, batch), k, n)
    vectors = r.random()
    if vectors < 0.15:
        left = (k,)
    elif vectors < 0.3:
        right = (k,)
    return Case("MatMul", [Input(dtype, left, "small"), Input(dtype, right, "small")], [dtype])


def same_memory(r: Random, opset: int) -> Case:
    name, dtype, whole = (
        r.choice(("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze")),
        r.choice(NUMBERS),
        shape(r),
    )
    source = Input(dtype, whole)
    if name == "Identity":
        return Case(name, [source], [dtype])
    if name == "Reshape":
        target = r.choice(([-1], [int(np.prod(whole)), 1], [1, -1], [0, -1] if whole else [-1]))
        return Case(name, [source, constant(target)], [dtype])
    if name == "Flatten":
        return Case(name, [source], [dtype], {"axis": r.randint(-len(whole), len(whole))})
    ones = [at for at, size in enumerate(whole) if size == 1]
    rank = len(whole) + (1 if name == "Unsqueeze" else 0)
    axes = (
        [r.randrange(-rank, rank)]
        if name == "Unsqueeze"
        else [at - rank if r.random() < 0.5 else at for at in ones]
    )
    if not axes:
        return Case(name, [source], [dtype])
    if opset >= 13:
        return Case(name, [source, constant(axes)], [dtype])
    return Case(name, [source], [dtype], {"axes": axes})


def moved(r: Random, opset: int) -> Case:
    name, dtype = r.choice(("Transpose", "Expand", "Tile", "Concat", "Split")), r.choice((*NUMBERS, BOOL))
    whole = shape(r, 1)
    source, rank = Input(dtype, whole), len(whole)
    axis = r.randrange(-rank, rank)
    if name == "Transpose":
        order = r.sample(range(rank), rank)
        return Case(name, [source], [dtype], {"perm": order} if r.random() < 0.7 else {})
    if name == "Expand":
        return Case(name, [Input(dtype, broadcast(r, whole)), constant(whole)], [dtype])
    if name == "Tile":
        return Case(name, [source, constant([r.randint(1, 3) for _ in whole])], [dtype])
    if name == "Concat":
        others = [Input(dtype, _resized(whole, axis, r.randint(1, 4))) for _ in range(r.randint(0, 3))]
        return Case(name, [source, *others], [dtype], {"axis": axis})
    sizes = [r.randint(1, 3) for _ in range(r.randint(1, 3))]
    source = Input(dtype, _resized(whole, axis, sum(sizes)))
    if opset >= 13:
        return Case(name, [source, constant(sizes)], [dtype] * len(sizes), {"axis": axis})
    return Case(name, [source], [dtype] * len(sizes), {"axis": axis, "split": sizes})


def _resized(whole: Shape, axis: int, size: int) -> Shape:
    made = list(whole)
    made[axis] = size
    return tuple(made)


def sliced(r: Random, opset: int) -> Case:
    dtype, whole = r.choice(NUMBERS), shape(r, 1)
    axes = r.sample(range(len(whole)), r.randint(1, len(whole)))
    starts, ends, steps = [], [], []
    for axis in axes:
        size, back = whole[axis], r.random() < 0.3
        first, last = sorted((r.randrange(size), r.randint(1, size)))
        last = max(last, first + 1)
        steps.append(r.choice((1, 1, 2)) * (-1 if back else 1))
        starts.append(last - 1 if back else first)
        ends.append(
            (first - 1 if first else -(1 << 31))
            if back
            else r.choice((last, last + 100 if last == size else last))
        )
        if r.random() < 0.3 and not back:
            starts[-1] -= size
    axes = [axis - len(whole) if r.random() < 0.3 else axis for axis in axes]
    return Case("Slice", [Input(dtype, whole), *map(constant, (starts, ends, axes, steps))], [dtype])


def gathered(r: Random, opset: int) -> Case:
    name, dtype, whole = r.choice(("Gather", "GatherElements")), r.choice((*NUMBERS, BOOL)), shape(r, 1)
    whole = tuple(max(size, 2) for size in whole)
    axis = r.randrange(-len(whole), len(whole))
    places = shape(r, 0, 2) if name == "Gather" else _resized(whole, axis, r.randint(1, 4))
    indices = Input(r.choice((I32, I64)), places, str(whole[axis]))
    return Case(name, [Input(dtype, whole), indices], [dtype], {"axis": axis})


def classic(r: Random, opset: int) -> Case:
    columns, rows = r.choice((1, 3, 17)), r.choice((1, 2))
    x = Input(F32, (rows, columns), "small")
    rng = np.random.default_rng(r.randrange(1 << 30))

    def floats(count: int) -> list[float]:
        return [float(np.float32(each)) for each in rng.normal(size=count)]

    name = r.choice(
        ("Scaler", "Binarizer", "Normalizer", "LinearRegressor", "LinearClassifier", "LabelEncoder")
    )
    attributes: dict[str, object] = {}
    outputs = [F32]
    if name == "Scaler":
        x.dtype = r.choice((F32, I64, F64))
        attributes = {"offset": floats(columns), "scale": floats(r.choice((1, columns)))}
        attributes["offset"] = floats(len(attributes["scale"]))  # type: ignore[arg-type]
    elif name == "Binarizer":
        attributes = {"threshold": 0.25}
    elif name == "Normalizer":
        attributes = {"norm": r.choice(("MAX", "L1", "L2"))}
    elif name == "LabelEncoder":
        x.dtype, x.values, outputs = I64, "9", [r.choice((I64, F32))]
        attributes = {"keys_int64s": list(range(-4, 4))}
        attributes |= {"values_int64s": list(range(8))} if outputs == [I64] else {"values_floats": floats(8)}
    else:
        count = r.randint(2, 4)
        attributes = {"coefficients": floats(count * columns), "intercepts": floats(count)}
        if name == "LinearRegressor":
            attributes["targets"] = count
        else:
            attributes |= {"classlabels_ints": [7, 3, 5, 1][:count], "multi_class": 0}
            attributes["post_transform"] = r.choice(("NONE", "LOGISTIC", "SOFTMAX"))
            outputs = [I64, F32]
    return Case(name, [x], outputs, attributes, "ai.onnx.ml")


CASES: Final[dict[str, Callable[[Random, int], Case]]] = {
    each.__name__: each
    for each in (
        *(
            unary,
            binary,
            comparison,
            logic,
            where,
            clip,
            cast,
            reduction,
            arg_extreme,
            softmax,
            normalization,
        ),
        *(gemm, matmul, same_memory, moved, sliced, gathered, classic),
    )
}
