# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""All formats carry all tensors exactly, and refuse malformed messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from passpilot.features.catalogue import HOOKED
from passpilot.features.point import find_point
from passpilot.features.proto import proto_text
from passpilot.features.spec import DTYPES, TensorSpec, layout
from passpilot.plugin.errors import PeerError, RunnerSpecError
from passpilot.runners.base import tensor_views
from passpilot.runners.serdes import FORMATS, SerDes, make_serdes
from passpilot.runners.serdes.bitstream import Bitstream
from passpilot.runners.serdes.json import Json
from passpilot.runners.serdes.protobuf import Protobuf, point_file

if TYPE_CHECKING:
    from passpilot.runners.base import Tensor

KINDS = (*FORMATS, "packed")
SHAPES = st.lists(st.integers(1, 4), max_size=3).map(tuple)


def made(kind: str, specs: Sequence[TensorSpec], table: Sequence[TensorSpec] = ()) -> SerDes:
    return Bitstream(specs, packed=True) if kind == "packed" else make_serdes(kind, specs, table)


def bound(serdes: SerDes) -> tuple[SerDes, dict[str, Tensor]]:
    frame = np.zeros(layout(serdes.specs)[1], np.uint8)
    tensors = tensor_views(serdes.specs, frame)
    serdes.bind(tensors, frame)
    return serdes, tensors


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[TensorSpec], dict[str, Tensor]]:
    """A few specs and values for them; floats have any value."""
    rows = draw(st.lists(st.tuples(st.sampled_from(DTYPES), SHAPES), min_size=1, max_size=5))
    specs = [TensorSpec(f"t{n}", dtype, shape) for n, (dtype, shape) in enumerate(rows)]
    return specs, {spec.name: draw(arrays.arrays(spec.dtype, spec.shape)) for spec in specs}


@pytest.mark.parametrize("kind", KINDS)
@given(tables())
def test_every_tensor_arrives_as_it_was(kind: str, table: tuple[list[TensorSpec], dict[str, Tensor]]) -> None:
    specs, values = table
    writer, sent = bound(made(kind, specs))
    reader, received = bound(made(kind, specs))
    for name, value in values.items():
        sent[name][...] = value
    reader.decode(bytes(writer.encode()))
    for name, value in values.items():
        np.testing.assert_array_equal(received[name], value)
        if value.dtype.kind == "f":
            same = np.signbit(received[name]) == np.signbit(value)
            assert (same | np.isnan(value)).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_ends_of_each_type_are_exact(kind: str, dtype: str) -> None:
    spec = TensorSpec("x", dtype, (2,))
    ends = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    writer, sent = bound(made(kind, [spec]))
    reader, received = bound(made(kind, [spec]))
    sent["x"][...] = np.array([ends.min, ends.max], dtype)
    reader.decode(bytes(writer.encode()))
    assert received["x"].tolist() == [ends.min, ends.max]


@pytest.mark.parametrize("kind", KINDS)
@given(st.binary(max_size=60))
def test_any_other_data_are_a_peer_error(kind: str, data: bytes) -> None:
    serdes, _ = bound(made(kind, [TensorSpec("x", "int64", (3,)), TensorSpec("y", "float32", (1, 33))]))
    with pytest.raises(PeerError, match="expected"):
        serdes.decode(data)


@pytest.mark.parametrize("kind", KINDS)
def test_any_part_of_a_message_is_a_peer_error(kind: str) -> None:
    specs = [TensorSpec("x", "int64", (3,)), TensorSpec("y", "float32", (2,))]
    serdes, tensors = bound(made(kind, specs))
    tensors["x"][...] = 300
    whole = bytes(serdes.encode())
    for size in range(len(whole)):
        with pytest.raises(PeerError, match="expected"):
            serdes.decode(whole[:size])
    with pytest.raises(PeerError, match="expected"):
        serdes.decode(whole + b"\x01")


X = TensorSpec("x", "int8", (1,))
Y = TensorSpec("y", "float32", (2,))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"x":1}', "expected the 2 tensors of the handshake, got no 'y'"),
        ('{"x":1,"z":[1,2]}', "got no 'y' and 'z'"),
        ('{"x":1,"y":[1,2],"z":1}', "got 'z'"),
        ('{"x":1,"x":1,"y":[1,2]}', "a name twice"),
        ('{"x":1,"y":[1]}', r"json at 'y' \(float32\[2\]\): expected 2 values, got 1"),
        ('{"x":1,"y":[1,2,3]}', "expected 2 values, got 3"),
        ('{"x":1,"y":1}', "expected 2 values, got 1"),
        ('{"x":[],"y":[1,2]}', "expected 1 values, got 0"),
        ('{"x":1.0,"y":[1,2]}', r"json at 'x' \(int8\[1\]\): expected integers, got \[1.0\]"),
        ('{"x":true,"y":[1,2]}', r"expected integers, got \[True\]"),
        ('{"x":null,"y":[1,2]}', "expected integers"),
        ('{"x":"NaN","y":[1,2]}', r"expected integers, got \['NaN'\]"),
        ('{"x":128,"y":[1,2]}', "expected values that fit int8"),
        ('{"x":1,"y":[1,true]}', "expected numbers or 'NaN'"),
        ('{"x":1,"y":[1,[2]]}', "expected numbers or 'NaN'"),
        ('{"x":1,"y":[1,"nan"]}', "expected numbers or 'NaN'"),
        ('{"x":1,"y":[1,NaN]}', "bare NaN"),
        ('{"x":1,"y":[1,1e400]}', "expected values that fit float32"),
        ('{"x":1,"y":[1,1e39]}', "expected values that fit float32"),
        (f'{{"x":1,"y":[1,1{"0" * 400}]}}', "expected values that fit float32"),
        (f'{{"x":1{"0" * 5000},"y":[1,2]}}', "expected"),
        ("[" * 100_000, "expected a JSON object"),
        ("[]", "expected a JSON object"),
        ('{"x":1,"y":[1,2]}{}', "expected a JSON object"),
    ],
)
def test_json_that_is_not_as_expected(text: str, told: str) -> None:
    serdes, _ = bound(Json([X, Y]))
    with pytest.raises(PeerError, match=told):
        serdes.decode(text.encode())


def test_json_is_flat_and_exact() -> None:
    serdes, tensors = bound(Json([TensorSpec("n", "uint64", (1,)), TensorSpec("v", "float32", (1, 4))]))
    tensors["n"][...] = 2**64 - 1
    tensors["v"][...] = 0.5, np.nan, -np.inf, np.inf
    assert serdes.encode() == b'{"n":18446744073709551615,"v":[0.5,"NaN","-Infinity","Infinity"]}'
    serdes.decode(b' {"v": [1, -0.0, "Infinity", 2e0], "n": [7]}\n')
    assert tensors["n"].tolist() == [7]
    assert tensors["v"].tolist() == [[1.0, 0.0, np.inf, 2.0]]


def test_protobuf_of_other_fields() -> None:
    """Messages of another table: wrong count, wrong type, and values that do not fit."""
    serdes, _ = bound(Protobuf([X, Y]))
    for other, told in (
        ([X, TensorSpec("y", "float64", (2,))], "expected 2 values, got 4"),
        ([X, Y, TensorSpec("z", "int8", (1,))], "one of number 3"),
        ([TensorSpec("x", "int64", (1,)), Y], "values that fit int8"),
        ([TensorSpec("x", "int8", (2,)), Y], r"protobuf at 'x' \(int8\[1\]\): expected 1 values, got 2"),
    ):
        writer, tensors = bound(Protobuf(other))
        for tensor in tensors.values():
            tensor[...] = 1000 if tensor.dtype.itemsize > 4 else 1
        with pytest.raises(PeerError, match=told):
            serdes.decode(bytes(writer.encode()))


def test_a_field_is_numbered_by_its_place_in_the_table() -> None:
    writer, tensors = bound(Protobuf([Y], [X, Y]))
    tensors["y"][...] = 1, 2
    assert bytes(writer.encode()) == b"\x12\x08\x00\x00\x80\x3f\x00\x00\x00\x40"
    reader, received = bound(Protobuf([X, Y]))
    with pytest.raises(PeerError, match=r"'x' \(int8\[1\]\): expected 1 values, got 0"):
        reader.decode(bytes(writer.encode()))
    assert received["y"].tolist() == [0, 0]


@pytest.mark.parametrize("name", ["a-b", "1", "a b", ""])
def test_names_that_protobuf_does_not_know(name: str) -> None:
    spec = TensorSpec(name or "ü", "int8", (1,))
    with pytest.raises(RunnerSpecError, match="expected names that make a message"):
        make_serdes("protobuf", [spec])


def test_unknown_format() -> None:
    with pytest.raises(RunnerSpecError, match="expected one of bitstream, json, protobuf, got 'xml'"):
        make_serdes("xml", [X])


@pytest.mark.parametrize("name", HOOKED)
def test_the_printed_proto_is_the_message_that_travels(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from google.protobuf import descriptor_pb2
    from grpc_tools import protoc

    folder = tmp_path_factory.mktemp("proto")
    point = find_point(name)
    (folder / "p.proto").write_text(proto_text(point))
    out = folder / "p.bin"
    assert protoc.main(["protoc", f"-I{folder}", f"--descriptor_set_out={out}", str(folder / "p.proto")]) == 0
    (compiled,) = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    for message in compiled.message_type:
        for field in message.field:
            field.ClearField("json_name")
    compiled.name = point_file(point).name
    assert compiled == point_file(point)


def test_json_of_a_point_is_what_any_reader_reads() -> None:
    point = find_point("evict")
    serdes, tensors = bound(Json(point.features))
    tensors["mask"][0, 3] = 1
    row = json.loads(bytes(serdes.encode()))
    assert list(row) == [spec.name for spec in point.features]
    assert row["mask"].index(1) == 3
