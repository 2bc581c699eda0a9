# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""passpilot.h: models that name their columns, and those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from passpilot.cli.aot import main
from passpilot.features.columns import name_columns
from tests.plugin.native.c.client import CApiError, runner
from tests.plugin.native.c.test_api import TOY, model

if TYPE_CHECKING:
    from pathlib import Path

TABLE_MODEL: Final = """
<ir_version: 8, opset_import: ["": 17]>
policy (float[1, 4] x) => (bool[1, 1] small) {
  last = Constant <value = int64[1] {3}> ()
  fifty = Constant <value = float[1] {50}> ()
  column = Gather <axis = 1> (x, last)
  small = Less (column, fifty)
}
"""


@pytest.mark.parametrize("scheme", ["onnx", "aot"])
def test_the_names_decide_the_order(tmp_path: Path, scheme: str) -> None:
    """`weights` has three elements, so `size` is the fourth column."""
    path = model(tmp_path / "m.onnx", TABLE_MODEL)
    name_columns(path, ["weights", "size"])
    assert main([str(path), "-o", str(tmp_path / "m.so")]) == 0
    spec = f"{scheme}:{path if scheme == 'onnx' else tmp_path / 'm.so'}"
    for options in ("", "?map=x:*", "?map=x:weights,size"):
        with runner(spec + options, TOY) as made:
            assert [made.ask(size=size, weights=60) for size in (49, 50)] == [1, 0]
            assert made.warnings == []
    told = "map=x: expected 'weights' as column 1"
    with pytest.raises(CApiError, match=told), runner(f"{spec}?map=x:size,weights", TOY):
        pass


@pytest.mark.parametrize("scheme", ["onnx", "aot"])
def test_without_names_the_caller_is_warned_once(tmp_path: Path, scheme: str) -> None:
    path = model(tmp_path / "m.onnx", TABLE_MODEL)
    assert main([str(path), "-o", str(tmp_path / "m.so")]) == 0
    spec = f"{scheme}:{path if scheme == 'onnx' else tmp_path / 'm.so'}?map=x:*"
    told = []
    for _ in range(2):
        with runner(spec, TOY) as made:
            assert made.ask(size=60, weights=49) == 1, "the order of the point"
            told += made.warnings
    assert len(told) == 1
    assert "input 'x': expected the names of its columns in the model, got none" in told[0]
