# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.features.catalogue import HOOKED
from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import ModelError, PeerError, SpecMismatchError
from passpilot.runners.remote import wire

POINT = find_point("inline")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


def test_handshake_says_the_whole_point() -> None:
    point = replace(POINT, features=(*POINT.features, TensorSpec("mine", "float32", (1, 33), 2)))
    line = wire.hello(point)
    assert line.count(b"\n") == 1
    assert wire.read_hello(line) == point


@pytest.mark.parametrize("name", HOOKED)
def test_every_point_travels_with_its_domain_and_default(name: str) -> None:
    assert wire.read_hello(wire.hello(find_point(name))) == find_point(name)


@pytest.mark.parametrize(
    ("advice", "told"),
    [
        (TensorSpec("index_to_evict", "float32", (1,)), r"got index_to_evict as float32\[1\]"),
        (TensorSpec("priority", "float64", (1,)), r"got priority as float64\[1\]"),
    ],
)
def test_another_advice_is_refused(advice: TensorSpec, told: str) -> None:
    line = wire.hello(replace(find_point("evict"), advice=advice))
    with pytest.raises(PeerError, match=f"expected the advice index_to_evict as int64.*{told}"):
        wire.read_hello(line)


def test_welcome_and_refusal() -> None:
    line = wire.welcome(POINT.features[:2], "python:p.py:f")
    assert wire.read_welcome(line, "x") == wire.Greeting(("sroa_savings", "sroa_losses"), "python:p.py:f")
    with pytest.raises(SpecMismatchError, match="pipe:x: no such tensor"):
        wire.read_welcome(wire.refusal(SpecMismatchError("no such tensor")), "pipe:x")
    with pytest.raises(PeerError, match="busy"):
        wire.read_welcome(b'{"error": "busy", "kind": "SystemExit"}\n', "x")


def test_other_version_is_refused() -> None:
    row = json.loads(wire.hello(POINT)) | {"passpilot": 2}
    with pytest.raises(PeerError, match="expected protocol 1, got 2; use one version"):
        wire.read_hello(json.dumps(row).encode())


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_other_handshake_is_a_peer_error(line: bytes) -> None:
    with pytest.raises(PeerError):
        wire.read_hello(line)
    with pytest.raises(PeerError):
        wire.read_welcome(line, "x")


@given(st.sampled_from(["passpilot", "point", "offered", "advice"]), JSON)
def test_handshake_with_one_wrong_part(key: str, value: object) -> None:
    row = json.loads(wire.hello(POINT))
    try:
        point = wire.read_hello(json.dumps(row | {key: value}).encode())
    except PeerError:
        return
    assert value == row[key] or (key == "offered" and value == [] and point.features == ())


@pytest.mark.parametrize("shape", [[10**19, 10**19], [9] * 300_000, [1] * 65, [1 << 27]])
def test_a_wild_shape_is_refused_at_once(shape: list[int]) -> None:
    row = json.loads(wire.hello(POINT))
    row["offered"] += [{"name": name, "type": "double", "port": 0, "shape": shape} for name in ("x", "y")]
    with pytest.raises(PeerError, match=r"handshake: .*expected .*at most"):
        wire.read_hello(json.dumps(row).encode())


def test_deep_nesting_is_a_peer_error() -> None:
    with pytest.raises(PeerError):
        wire.read_hello(b"[" * 100_000)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("int64", -3), ("int8", -3), ("uint64", 2**64 - 1), ("float32", 0.5), ("float64", -1e300)],
)
def test_answers_hold_every_type(dtype: str, value: float) -> None:
    form = wire.answer_struct(TensorSpec("advice", dtype, (1,)))
    assert form.size == wire.ANSWER_SIZE
    assert form.unpack(form.pack(0, value)) == (0, value)


@given(st.text(max_size=40))
def test_texts_are_cut_between_characters(text: str) -> None:
    long = text + "ü" * wire.MAX_TEXT
    cut = wire.text_message(long)
    assert wire.MAX_TEXT - 3 <= len(cut) <= wire.MAX_TEXT
    assert long.encode("utf-8", "replace").startswith(cut)
    assert cut.decode()


def test_errors_keep_their_class() -> None:
    with pytest.raises(ModelError):
        wire.read_welcome(wire.refusal(ModelError("x")), "y")
