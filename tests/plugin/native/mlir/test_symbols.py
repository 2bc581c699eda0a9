# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What inlining leaves: functions mentioned elsewhere, and calls that a loop cannot take, as in MLIR."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.command import passpilot
from tests.plugin.native.mlir.tools import inlined, native

NESTED: Final = """\
module @inner {
  func.func nested @kept(%a: i32) -> i32 {
    return %a : i32
  }
  func.func nested @erased(%a: i32) -> i32 {
    return %a : i32
  }
  func.func @caller(%a: i32) -> i32 {
    %0 = call @kept(%a) : (i32) -> i32
    %1 = call @erased(%0) : (i32) -> i32
    return %1 : i32
  }
}
func.func @outside() attributes {uses = @inner::@kept} {
  return
}
"""
MENTIONED: Final = """\
func.func private @by_function(%a: i32) -> i32 {
  return %a : i32
}
func.func private @by_operation(%a: i32) -> i32 {
  return %a : i32
}
func.func private @by_array(%a: i32) -> i32 {
  return %a : i32
}
func.func private @by_global(%a: i32) -> i32 {
  return %a : i32
}
func.func private @erased(%a: i32) -> i32 {
  return %a : i32
}
memref.global "private" @g : memref<1xi32> = dense<1> {uses = @by_global}
func.func @caller(%a: i32) -> i32 attributes {uses = @by_function} {
  %0 = call @by_function(%a) : (i32) -> i32
  %1 = call @by_operation(%0) : (i32) -> i32
  %2 = call @by_array(%1) : (i32) -> i32
  %3 = call @by_global(%2) : (i32) -> i32
  %4 = call @erased(%3) : (i32) -> i32
  return %4 : i32
}
func.func @other(%a: i32) -> i32 {
  %0 = arith.addi %a, %a {uses = @by_operation, more = [{deep = @by_array}]} : i32
  return %0 : i32
}
"""
LOOP: Final = """\
func.func private @plain(%a: f32) -> f32 {
  %0 = arith.addf %a, %a : f32
  return %0 : f32
}
func.func private @loads(%m: memref<8xf32>, %i: index) -> f32 {
  %0 = affine.load %m[%i] : memref<8xf32>
  return %0 : f32
}
func.func private @terminal(%m: memref<8xf32>, %n: index) -> f32 {
  %zero = arith.constant 0.0 : f32
  affine.for %i = 0 to 8 {
    %0 = affine.load %m[%i] : memref<8xf32>
    affine.store %0, %m[%i] : memref<8xf32>
  }
  return %zero : f32
}
func.func private @branches(%c: i1, %a: f32) -> f32 {
  cf.cond_br %c, ^one, ^two
^one:
  return %a : f32
^two:
  %0 = arith.addf %a, %a : f32
  return %0 : f32
}
func.func @loop(%m: memref<8xf32>, %n: index, %c: i1) {
  affine.for %i = 0 to 8 {
    %0 = affine.load %m[%i] : memref<8xf32>
    %1 = func.call @plain(%0) : (f32) -> f32
    %2 = func.call @loads(%m, %i) : (memref<8xf32>, index) -> f32
    %4 = func.call @terminal(%m, %n) : (memref<8xf32>, index) -> f32
    %5 = func.call @branches(%c, %1) : (i1, f32) -> f32
    %6 = arith.addf %2, %4 : f32
    affine.store %6, %m[%i] : memref<8xf32>
  }
  return
}
"""
"""`affine.for` takes no callee of several blocks, and none with a loop."""


@pytest.mark.parametrize(
    ("text", "kept", "calls"),
    [
        (NESTED, {"kept"}, set()),
        (MENTIONED, {"by_function", "by_operation", "by_array", "by_global"}, set()),
        (LOOP, {"branches", "terminal"}, {"branches", "terminal"}),
    ],
    ids=["nested", "mentioned", "loop"],
)
def test_what_stays_is_what_mlir_keeps(text: str, kept: set[str], calls: set[str], tmp_path: Path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(text)
    made = inlined("runner=const:1", source)
    assert made == native(source)
    pipeline = "--pass-pipeline=builtin.module(advised-inline{runner=const:1})"
    hosted = passpilot("mlir-opt", source, pipeline, cwd=tmp_path)
    assert (hosted.code, hosted.err) == (0, "")
    for found in (made, hosted.out.decode()):
        assert kept <= set(re.findall(r"func.func (?:private|nested) @(\w+)", found)) <= {*kept, "erased"}
        assert set(re.findall(r"call @(\w+)", found)) == calls
