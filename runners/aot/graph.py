# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`Graph`: an ONNX model with fixed shapes and computed constants.

onnxruntime runs the model once on zeros or ones, with every tensor as an output. This gives all types and
shapes, and the values of tensors that do not depend on the inputs. No other values of this run are used.
"""

from __future__ import annotations

import hashlib
import resource
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import prod
from typing import Final

import numpy as np
import onnx
import onnx.inliner
from google.protobuf.message import Message
from onnx import helper, numpy_helper

from passpilot.features.columns import columns_of, custom_features_of, load_model
from passpilot.features.point import Point
from passpilot.plugin.errors import CompilationError, ModelError, RunnerSpecError
from passpilot.plugin.isolated import run_isolated
from passpilot.runners.aot import (  # noqa: F401  (importing them registers operators)
    classic,
    elementwise,
    matrix,
    reduce,
    shape,
    trees,
)
from passpilot.runners.aot.emitter import CONSTANT, OPERATORS, Array, Attribute, Node, is_supported
from passpilot.runners.onnx_session import onnx_session, quiet_onnxruntime

_DOMAINS: Final = ("", "ai.onnx", "ai.onnx.ml")
_FOLDED: Final = ("Shape", "Size")
_ATTRIBUTES: Final = [
    onnx.AttributeProto.AttributeType.Value(name)
    for name in ("FLOAT", "INT", "STRING", "TENSOR", "FLOATS", "INTS", "STRINGS")
]
_LARGEST: Final = 1 << 28
"""The most elements of an input."""
_Spec = tuple[np.dtype[np.generic], tuple[int, ...]]
_MEMORY: Final = 2 << 30
_DEADLINE: Final = 60.0
"""Bytes and seconds for running a model once."""
_MOST_FOLDED: Final = 64 << 20
_RANDOM: Final = ("Bernoulli", "Multinomial", "RandomNormal", "RandomUniform")


@dataclass(frozen=True, slots=True)
class Tensor:
    """An input or output: dense, of a fixed shape."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    columns: tuple[str, ...] = ()
    """The features that an input is made of, if the model names them."""

    def __str__(self) -> str:
        return f"{self.name} {self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Graph:
    """The model to compile."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    """The nodes that depend on an input, in topological order."""
    specs: Mapping[str, _Spec]
    known: Mapping[str, Array]
    """The tensors that are the same in every run."""
    digest: str
    """SHA-256 of the model's file, in hexadecimal."""
    custom_features: str = ""
    """Features of users and their files, as ``name=file.py,...``."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The user's choices: which tensors of the graph are outputs, and the inputs' shapes."""

    outputs: Sequence[str] = ()
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    point: Point | None = None


def read_graph(path: str, choices: Choices) -> Graph:
    """Read the graph of a model file.

    Raises:
        ModelError: the file cannot be read, is not a model, or contains something that cannot be compiled.
        RunnerSpecError: a choice does not fit the model.
        SpecMismatchError: the chosen point lacks a column that the model names.
    """
    data, model = _read(path)
    graph = model.graph
    constants = _constants(graph, path)
    declared = [value for value in graph.input if value.name not in constants]
    outputs = _outputs(graph, choices.outputs, path)
    live = _live(graph.node, outputs)
    moving = _moving(live, {value.name for value in declared})
    versions = {opset.domain or "ai.onnx": opset.version for opset in model.opset_import}
    nodes = tuple(_node(node, versions) for node in moving)
    _check_constant(nodes, declared)
    _check_shapes(choices.shapes, declared, path)
    columns = columns_of(model)
    inputs = tuple(_input(value, columns.get(value.name, ()), choices, path) for value in declared)
    varying = {name for node in nodes for name in node.outputs} | {tensor.name for tensor in inputs}
    values = {**_probe(model, live, inputs, varying, path), **constants}
    specs = {name: (array.dtype, array.shape) for name, array in values.items()}
    known = {name: array for name, array in values.items() if name not in varying}
    nodes = _without_strings(nodes, specs, outputs)
    _check_types(nodes, specs)
    results = tuple(Tensor(name, *specs[name]) for name in outputs)
    for tensor in results:
        _check_type(tensor, "output", path)
    return Graph(
        inputs, results, nodes, specs, known, hashlib.sha256(data).hexdigest(), custom_features_of(model)
    )


def _read(path: str) -> tuple[bytes, onnx.ModelProto]:
    data, model = load_model(path)
    _check_texts(model, path)
    if not model.graph.output:
        raise ModelError(f"model {path}: expected an ONNX graph with outputs, got none")
    return data, onnx.inliner.inline_local_functions(model) if model.functions else model


def _check_texts(message: Message, path: str) -> None:
    """Check the texts of a message and of those in it: where a text is not UTF-8, protobuf gives bytes."""
    for row, value in message.ListFields():
        if row.type not in (row.TYPE_STRING, row.TYPE_MESSAGE):
            continue
        for item in [value] if isinstance(value, (str, bytes, Message)) else value:
            if isinstance(item, bytes):
                raise ModelError(f"model {path}: {row.name}: expected a text in UTF-8, got {item[:60]!r}")
            if isinstance(item, Message):
                _check_texts(item, path)


def _constants(graph: onnx.GraphProto, path: str) -> dict[str, Array]:
    for sparse in graph.sparse_initializer:
        name = sparse.values.name
        msg = f"model {path}: initializer {name!r}: expected a dense tensor, got a sparse one; make it dense"
        raise ModelError(msg)
    return {
        tensor.name: _array(tensor, f"model {path}: initializer {tensor.name!r}")
        for tensor in graph.initializer
    }


def _array(tensor: onnx.TensorProto, who: str) -> Array:
    try:
        return numpy_helper.to_array(tensor)
    except Exception as error:  # onnx's errors about tensors have no common class
        msg = f"{who}: expected a tensor's data in its type and shape, got: {_line(error)}"
        raise ModelError(msg) from error


def _line(error: Exception) -> str:
    """The first line of another library's error."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def _outputs(graph: onnx.GraphProto, chosen: Sequence[str], path: str) -> tuple[str, ...]:
    computed = {name for node in graph.node for name in node.output if name}
    known = computed | {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    declared = [value.name for value in graph.output]
    for name in chosen:
        if name not in known:
            names = ", ".join(declared)
            msg = f"model {path}: expected a tensor of the graph as --output, such as {names}; got {name!r}"
            raise RunnerSpecError(msg)
    for name in () if chosen else declared:
        if name not in known:
            msg = f"model {path}: output {name!r}: expected a tensor of the graph, got a name without a node"
            raise ModelError(msg)
    return tuple(dict.fromkeys(chosen or declared))


def _live(nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> list[onnx.NodeProto]:
    """The nodes that the outputs need, in their order, which ONNX requires to be topological."""
    wanted = set(outputs)
    live = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            wanted.update(node.input)
            live.append(node)
    return live[::-1]


def _moving(nodes: Iterable[onnx.NodeProto], inputs: set[str]) -> list[onnx.NodeProto]:
    """The nodes whose results differ between runs."""
    varying = {*inputs}
    moving = []
    for node in nodes:
        depends = varying.intersection(node.input) and node.op_type not in _FOLDED
        holds_graph = any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
        if depends or node.op_type.removesuffix("Like") in _RANDOM or holds_graph:
            varying.update(filter(None, node.output))
            moving.append(node)
    return moving


def _node(node: onnx.NodeProto, versions: Mapping[str, int]) -> Node:
    version = versions.get(node.domain or "ai.onnx", versions.get("ai.onnx", 1))
    bare = Node(node.op_type, node.name, tuple(node.input), tuple(node.output), {}, version)
    if node.domain not in _DOMAINS or node.op_type not in OPERATORS:
        full = node.op_type if node.domain in _DOMAINS else f"{node.domain}.{node.op_type}"
        hint = "take its input by --output" if node.op_type == "ZipMap" else "docs/aot.md has the table"
        raise ModelError(f"{bare}: expected an operator that can be compiled, got {full}; {hint}")
    rows = {row.name: _attribute(row, f"{bare}: {row.name}") for row in node.attribute}
    return replace(bare, attributes=rows)


def _check_constant(nodes: Sequence[Node], declared: Iterable[onnx.ValueInfoProto]) -> None:
    varying = {value.name for value in declared} | {name for node in nodes for name in node.outputs}
    for node in nodes:
        for place in CONSTANT.get(node.op_type, ()):
            if node.input(place) in varying - {""}:
                what = "constant, as shapes depend on it, got one that is computed"
                raise ModelError(
                    f"{node}: expected the input {node.inputs[place]!r} to be {what} from the model's inputs"
                )


def _attribute(attribute: onnx.AttributeProto, who: str) -> Attribute:
    if attribute.type not in _ATTRIBUTES:
        raise ModelError(f"{who}: expected an attribute of numbers, texts or a tensor, got another type")
    value: object = helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return _array(value, who)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (int, float, str)):
        return value
    listed = list(value)  # type: ignore[call-overload]
    return [item.decode("utf-8", "replace") if isinstance(item, bytes) else item for item in listed]


def _check_shapes(
    shapes: Mapping[str, tuple[int, ...]], declared: Sequence[onnx.ValueInfoProto], path: str
) -> None:
    names = [value.name for value in declared]
    for name in shapes:
        if name not in names:
            msg = f"model {path}: expected an input as --shape, one of {', '.join(names)}; got {name!r}"
            raise RunnerSpecError(msg)


def _input(value: onnx.ValueInfoProto, columns: tuple[str, ...], choices: Choices, path: str) -> Tensor:
    """An input with a fixed shape: from --shape, from the point's tensor of its name, or a batch of one."""
    kind = value.type.tensor_type
    who = f"model {path}: input {value.name!r}"
    numbers = {*helper.get_all_tensor_dtypes()} - {onnx.TensorProto.STRING}
    if not value.type.HasField("tensor_type") or kind.elem_type not in numbers:
        raise ModelError(f"{who}: expected a tensor of numbers, got another type")
    sizes = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
    dims = [None if size < 0 else size for size in sizes]
    known = kind.HasField("shape")
    fixed = choices.shapes.get(value.name) or (_closed(value.name, dims, choices.point) if known else None)
    if fixed is None or (known and len(fixed) != len(dims)):
        text = ",".join("?" if size is None else str(size) for size in dims) if known else "..."
        raise ModelError(
            f"{who}: expected no open dimension but the first, got [{text}]; "
            f"give them by --shape {value.name}:1,..."
        )
    if prod(fixed) > _LARGEST:
        raise ModelError(f"{who}: expected at most {_LARGEST} elements, got shape {list(fixed)}")
    if len(columns) > prod(fixed):
        raise ModelError(f"{who}: expected at most {prod(fixed)} columns, got the names of {len(columns)}")
    if choices.point is not None:
        choices.point.select(columns)
    tensor = Tensor(value.name, np.dtype(helper.tensor_dtype_to_np_dtype(kind.elem_type)), fixed, columns)
    _check_type(tensor, "input", path)
    return tensor


def _closed(name: str, dims: list[int | None], point: Point | None) -> tuple[int, ...] | None:
    offered = [spec for spec in point.features if spec.name == name] if point else []
    known = prod(size for size in dims if size is not None)
    if offered and None in dims and known:
        left = prod(offered[0].shape) // known
        last = len(dims) - 1 - dims[::-1].index(None)
        return tuple(left if at == last else size or 1 for at, size in enumerate(dims))
    rest = dims[1:] if dims and dims[0] is None else dims
    return None if None in rest else tuple(1 if size is None else size for size in dims)


def _check_type(tensor: Tensor, role: str, path: str) -> None:
    if not is_supported(tensor.dtype):
        msg = f"model {path}: {role} {tensor.name!r}: expected numbers of up to 64 bits, got {tensor.dtype}"
        raise ModelError(msg)


def _without_strings(
    nodes: Iterable[Node], specs: Mapping[str, tuple[np.dtype[np.generic], object]], outputs: Sequence[str]
) -> tuple[Node, ...]:
    """The nodes without unread outputs of unsupported types, such as a classifier's text labels."""
    read = {name for node in nodes for name in node.inputs} | {*outputs, ""}

    def kept(name: str) -> bool:
        return name in read or is_supported(specs[name][0])

    return tuple(
        replace(node, outputs=tuple(name if kept(name) else "" for name in node.outputs)) for node in nodes
    )


def _check_types(nodes: Sequence[Node], specs: Mapping[str, tuple[np.dtype[np.generic], object]]) -> None:
    for node in nodes:
        for name in (*node.inputs, *node.outputs):
            if name and not is_supported(specs[name][0]):
                kind = specs[name][0]
                got = f"{name!r} of {'texts' if kind.hasobject else kind}"
                raise ModelError(f"{node}: expected tensors of numbers of up to 64 bits, got {got}")


def _probe(
    model: onnx.ModelProto,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[Tensor],
    varying: Container[str],
    path: str,
) -> dict[str, Array]:
    """The tensors for zeros, which can index any table, or for ones if integers may divide.

    Varying tensors have only their type and shape. A child process runs the graph, with a bound for its
    memory and its time: a model of a few bytes may ask for any amount of both.
    """
    names = [name for node in nodes for name in node.output if name]
    fill = int(any(node.op_type in ("Div", "Mod") for node in nodes))
    feeds = {tensor.name: np.full(tensor.shape, fill, tensor.dtype) for tensor in inputs}
    values: dict[str, Array] = dict(feeds)
    if not names:
        return values
    probe = onnx.ModelProto()
    probe.CopyFrom(model)
    graph = probe.graph
    for repeated in (graph.node, graph.output, graph.input, graph.value_info):
        del repeated[:]
    graph.node.extend(nodes)
    graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    for tensor in inputs:
        kind = helper.np_dtype_to_tensor_dtype(tensor.dtype)
        graph.input.append(helper.make_tensor_value_info(tensor.name, kind, tensor.shape))
    quiet_onnxruntime()  # imported once, and not in each child
    run = partial(_run, probe.SerializeToString(), names, feeds, varying, path)
    try:
        specs, known = run_isolated(f"model {path}", run, _DEADLINE)
    except CompilationError as error:
        msg = f"model {path}: expected a graph that runs in {_MEMORY >> 20} MiB and {_DEADLINE:g} s"
        raise ModelError(f"{msg}, got: {_line(error)}") from error
    return {
        **values,
        **{name: np.broadcast_to(np.empty((), row[0]), row[1]) for name, row in specs.items()},
        **known,
    }


def _run(
    model: bytes, names: Sequence[str], feeds: Mapping[str, Array], varying: Container[str], path: str
) -> tuple[dict[str, _Spec], dict[str, Array]]:
    """Run the model; types and shapes of all tensors, and the values of those that do not vary."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = now + _MEMORY if hard == resource.RLIM_INFINITY else min(now + _MEMORY, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
    try:
        results = onnx_session(model, optimized=False).run(names, feeds)
    except Exception as error:  # onnxruntime's errors have no common class
        raise ModelError(f"model {path}: expected a graph that runs, got: {_line(error)}") from error
    values: dict[str, Array] = {}
    for name, value in zip(names, results, strict=True):  # a sequence, a map or None becomes an object
        is_tensor = isinstance(value, (np.ndarray, np.generic))
        values[name] = np.asarray(value) if is_tensor else np.empty((), object)
    known = {name: value for name, value in values.items() if name not in varying}
    if (size := sum(value.nbytes for value in known.values())) > _MOST_FOLDED:
        expected = f"constants of at most {_MOST_FOLDED >> 20} MiB to compute from others"
        raise ModelError(f"model {path}: expected {expected}, got {size >> 20} MiB")
    return {name: (value.dtype, value.shape) for name, value in values.items()}, known
