# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The messages of MLGO's interactive protocol."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passpilot.features.point import find_point
from passpilot.features.spec import TensorSpec
from passpilot.plugin.errors import PeerError
from passpilot.runners.base import own_features
from passpilot.runners.foreign import mlgo


@pytest.mark.parametrize("name", ["inline", "evict", "priority"])
def test_a_header_is_read_as_written(name: str) -> None:
    point = find_point(name)
    header = mlgo.Header(own_features(point), TensorSpec("x", "float32", (1,)))
    assert mlgo.read_header(header.line, "x") == header
    assert header.line.count(b"\n") == 1
    assert header.advice_struct.size == 4


@given(st.text())
def test_a_context_is_read_as_written(name: str) -> None:
    assert mlgo.read_event(mlgo.context_line(name), "x") == name.encode("utf-8", "replace").decode()
    assert mlgo.context_line(name).count(b"\n") == 1
    assert b"\\u00" not in mlgo.context_line("gr\xf6\xdfe"), "LLVM's own lines are UTF-8"


def test_an_observation_is_its_number() -> None:
    assert mlgo.read_event(mlgo.observation_line(17), "x") == 17


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"{}\n", b"[]\n", b"\xff\n", b'{"context":1}\n', b'{"features":[]}\n']
)
def test_other_lines_are_refused(line: bytes) -> None:
    with pytest.raises(PeerError, match="opt: expected a header with features and advice"):
        mlgo.read_header(line, "opt")
    with pytest.raises(PeerError, match="opt: expected"):
        mlgo.read_event(line, "opt")


def test_a_header_without_advice_is_refused() -> None:
    with pytest.raises(PeerError, match="got no advice"):
        mlgo.read_header(b'{"features":[{"name":"x","type":"float","port":0,"shape":[1]}]}\n', "opt")
